"""Bytes and shorts under masks, also as pixels: without masks for them, runs of lanes or single ones are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 200
ROOM = 8 * N
CPUS = ["x86-64-v2", "haswell", "znver4"]


@az.kernel
def bytes_by_data(out: az.ptr[az.u8], given: az.ptr[az.u8], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < high and given[i] > az.u8(low):
        out[i] = given[i] + az.u8(3)


@az.kernel
def bytes_of_a_run(out: az.ptr[az.u8], given: az.ptr[az.u8], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i >= low and i < high:
        out[i] = given[i + 1] ^ az.u8(0x55)


@az.kernel
def shorts_of_a_run(out: az.ptr[az.u16], given: az.ptr[az.u16], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i >= low and i < high:
        out[i] = given[i + 1] + given[i]


@az.kernel
def pixels(out: az.ptr[az.u8], given: az.ptr[az.u8], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i >= low and i < high:
        a, b = given[4 * i], given[4 * i + 1]
        c, d = given[4 * i + 2], given[4 * i + 3]
        out[4 * i] = d
        out[4 * i + 1] = a + b
        out[4 * i + 2] = c - a
        out[4 * i + 3] = b


@az.kernel
def pixels_with_gaps(out: az.ptr[az.u8], given: az.ptr[az.u8], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i >= low and i < high:
        a, b, c = given[4 * i], given[4 * i + 1], given[4 * i + 2]
        out[4 * i] = c
        out[4 * i + 1] = a
        out[4 * i + 2] = b


@az.kernel
def pairs(out: az.ptr[az.u16], given: az.ptr[az.u16], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i >= low and i < high:
        a, b = given[2 * i], given[2 * i + 1]
        out[2 * i] = b
        out[2 * i + 1] = a + b


@az.kernel
def clamped(out: az.ptr[az.u8], given: az.ptr[az.u8], low: az.i32, high: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < high:
        out[i] = given[max(i - 1, low)] + given[min(i + 2, high - 1)]


KERNELS = (bytes_by_data, bytes_of_a_run, shorts_of_a_run, pixels, pixels_with_gaps, pairs, clamped)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_any_lanes_then_others_keep_their_memory(kernel: Any, cpu: str) -> None:
    module = read(kernel.spirv)

    def wrong() -> list[tuple[int, int]]:
        run = Loaded(pipeline.compile_kernel(module, kernel.__name__, Options(cpu=cpu, level=1)))
        found = []
        short = kernel in (shorts_of_a_run, pairs)
        for low, high in ((0, N), (1, N - 1), (7, 9), (33, 34), (40, 61), (3, 130), (63, 65), (0, 31), (50, 50)):
            random = np.random.default_rng(low + high)
            given = random.integers(0, 1 << 16 if short else 256, ROOM, np.uint16 if short else np.uint8)
            made = given[::-1].copy()
            expected = made.copy()
            sizes = [np.int32(low), np.int32(high)]
            run([made, given, *sizes], (N,), (64,))
            reference.run(module, kernel.__name__, [expected, given, *sizes], (N,), (8,))
            found += [] if (made == expected).all() else [(low, high)]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def test_given_pixels_with_gaps_then_a_gap_does_not_become_a_part_of_a_number() -> None:
    """Gaps are poison: numbers that pixels are read as would be poison as a whole."""
    text = pipeline.form(read(pixels_with_gaps.spirv), "pixels_with_gaps", Options(cpu="haswell", lanes=8), "ir")
    numbers = [line for line in text.splitlines() if "bitcast <32 x i8>" in line and "to <8 x i32>" in line]
    assert numbers
    assert all(line.split("bitcast <32 x i8> ")[1].split()[0] in _frozen(text) for line in numbers)


def _frozen(text: str) -> set[str]:
    return {line.split("=")[0].strip() for line in text.splitlines() if "= freeze " in line}


@pytest.mark.parametrize("behind", [0, 1, 5, 31, 40])
def test_given_the_end_of_accessible_memory_then_only_active_lanes_are_accessed(behind: int) -> None:
    """Arrays end at a page that is not accessible, some bytes behind the last work-item's."""
    module = read(bytes_of_a_run.spirv)

    def same() -> bool:
        import ctypes
        import mmap

        page = mmap.PAGESIZE
        memory = mmap.mmap(-1, 3 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mprotect(ctypes.c_void_p(start + page), page, 0) == 0
        whole = np.frombuffer(memory, np.uint8)
        size = 45
        given = whole[page - behind - size - 1 : page - behind]
        given[:] = np.arange(size + 1)
        out = whole[page - behind - 2 * size - 1 : page - behind - size - 1]
        run = Loaded(pipeline.compile_kernel(module, "bytes_of_a_run", Options(cpu="haswell", level=1)))
        run([out, given, np.int32(0), np.int32(size)], (size,), (64,))
        return bool((out == (given[1:] ^ 0x55)).all())

    outcome = isolated(same)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value
