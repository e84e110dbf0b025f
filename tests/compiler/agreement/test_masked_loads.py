"""Loads of bytes and shorts under masks: whole vectors within a page, active lanes alone across the end of one."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 90
PAGE = mmap.PAGESIZE


@az.kernel
def bytes_(out: az.ptr[az.i32], given: az.ptr[az.u8], wanted: az.ptr[az.i32]) -> None:
    i = az.global_id(0)
    if wanted[i] > 0:
        out[i] = az.i32(given[i]) + 1


@az.kernel
def shorts(out: az.ptr[az.i32], given: az.ptr[az.i16], wanted: az.ptr[az.i32]) -> None:
    i = az.global_id(0)
    k = az.i32(0)
    while k < wanted[i]:
        out[i] += az.i32(given[i - k])
        k += 1


@az.kernel
def pixels(out: az.ptr[az.i32], given: az.ptr[az.u8], wanted: az.ptr[az.i32]) -> None:
    i = az.global_id(0)
    if wanted[i] > 0:
        out[i] = az.i32(given[3 * i]) - 2 * az.i32(given[3 * i + 1]) + 3 * az.i32(given[3 * i + 2])


@az.kernel
def gaps(out: az.ptr[az.i32], given: az.ptr[az.u8], wanted: az.ptr[az.i32]) -> None:
    i = az.global_id(0)
    if wanted[i] > 0:
        out[i] = az.i32(given[3 * i]) - 2 * az.i32(given[3 * i + 1])


KERNELS = {bytes_: (np.uint8, 1), shorts: (np.int16, 1), pixels: (np.uint8, 3), gaps: (np.uint8, 3)}


def _between_guards(length: int, type_: Any, late: bool) -> Any:
    """Numbers that end, or begin, where an inaccessible page begins or ends."""
    memory = mmap.mmap(-1, 3 * PAGE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for page in (0, 2):
        assert protect(begin + page * PAGE, PAGE, 0) == 0
    size = length * np.dtype(type_).itemsize
    made = np.frombuffer(memory, type_, length, 2 * PAGE - size if late else PAGE)
    made[:] = np.random.default_rng(3).integers(0, 100, length)
    return made


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", ""])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_inactive_lanes_may_lie_on_an_inaccessible_page(kernel: Any, cpu: str) -> None:
    type_, components = KERNELS[kernel]
    module = read(kernel.spirv)

    def wrong() -> list[tuple[int, bool]]:
        run = Loaded(compile_kernel(module, kernel.__name__, Options(cpu=cpu, level=1, lanes=32)))
        found = []
        for here in (N, N - 5, 33, 1, 0):
            for late in (True, False):
                # The elements of lanes from `here` on, or before it from the other end, lie on the next page.
                given = _between_guards(max(here * components - (kernel is gaps), 1), type_, late)
                wanted = np.random.default_rng(here).integers(0, 2, N, np.int32) * (np.arange(N, dtype=np.int32) < here)
                made, expected = (np.zeros(N, np.int32) for _ in range(2))
                run([made, given, wanted], (N,), (N,))
                reference.run(module, kernel.__name__, [expected, given.copy(), wanted], (N,), (N,))
                found += [] if (made == expected).all() else [(here, late)]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


@pytest.mark.parametrize(("cpu", "there"), [("haswell", True), ("x86-64-v2", True), ("skylake-avx512", False)])
def test_only_processors_without_masked_loads_of_bytes_test_for_the_page(cpu: str, there: bool) -> None:
    text = form(read(bytes_.spirv), "bytes_", Options(cpu=cpu, lanes=16), "ir")
    assert ("load <16 x i8>" in text) == there


@az.kernel
def clamped(out: az.ptr[az.i32], given: az.ptr[az.i32], last: az.i32) -> None:
    kept = az.local[az.i16, 44]
    lane = az.i32(az.local_id(0))
    first = az.i32(az.group_id(0) * az.local_size(0))
    for row in range(2):
        for column in range(lane, 22, az.i32(az.local_size(0))):
            kept[row * 22 + column] = az.i16(given[min(max(first + column - 1, 0), last)])
    az.barrier()
    out[first + lane] = az.i32(kept[41 - lane])


def test_given_four_registers_of_which_a_group_never_fills_the_last_then_it_is_not_loaded() -> None:
    module = read(clamped.spirv)
    run = Loaded(compile_kernel(module, "clamped", Options(cpu="haswell", level=1, lanes=32, group=(20, 1, 1))))

    def wrong() -> list[int]:
        given = _between_guards(40, np.int32, late=True)
        made, expected = (np.zeros(40, np.int32) for _ in range(2))
        run([made, given, np.int32(39)], (40,), (20,))
        reference.run(module, "clamped", [expected, given.copy(), np.int32(39)], (40,), (20,))
        return list(np.flatnonzero(made != expected))

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []
