"""Large kernels: compiling takes as much longer as they are larger, and what comes out computes the same."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import pytest

from anyzero.compiler import pipeline, spirv
from anyzero.compiler.compiled import Options
from anyzero.compiler.lanes import writing
from anyzero.compiler.lower import lockstep
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform import outline
from tests.compiler import native
from tests.compiler.agreement.cases import through_compiler
from tests.compiler.agreement.isolation import Outcome, isolated
from tests.compiler.large import SHAPES, large
from tests.kernels.suite import case

WORK = (
    *("ifs", "nested_ifs", "returns", "own_loops", "breaks", "variables", "switch", "else_ifs", "jumps", "long_branch"),
    *("long_loop", "straight", "wide", "phis", "calls", "barriers", "elements"),
)
WHOLE = ("across",)
"""Shapes that are not cut: long code between few barriers."""

CUT = (
    *("vectors_swizzles", "structs_by_value", "private_arrays_two_dimensions", "control_flow_early_returns"),
    *("control_flow_nested_loops", "control_flow_switches", "indices_pointers", "bilinear_float4"),
    *("control_flow_into_the_middle", "control_flow_state_machine", "control_flow_wide_switch", "mandelbrot"),
    *("control_flow_break_and_continue", "control_flow_nested_ifs.O0", "control_flow_nested_loops.O0", "nbody_f32"),
)

WITH_BARRIERS = (
    *("matmul_tiled", "reduce_int", "scan_group", "transpose", "barriers_in_a_loop_5", "barriers_in_an_if"),
    *("barriers_kept_arrays", "barriers_three_dimensions", "work_groups_in_a_loop", "sub_groups_votes_of_20"),
)


class _WrittenError(Exception):
    """What would go to LLVM."""


def _text(module: spirv.Module, monkeypatch: pytest.MonkeyPatch) -> str:
    def write(text: str, target: cpu.Target, level: int, quick: bool) -> None:
        raise _WrittenError(text)

    monkeypatch.setattr(cpu, "compile_text", write)
    with pytest.raises(_WrittenError) as found:
        pipeline.compile_kernel(module, "main", Options(cpu="x86-64-v3"))
    return str(found.value)


@contextmanager
def _lines_run() -> Iterator[list[int]]:
    """Counts lines of Python, those that a loop runs again as often as it does."""
    count = [0]

    def line(frame: FrameType, event: str, _: Any) -> Any:
        count[0] += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: line if "compiler" in frame.f_code.co_filename else None)
    try:
        yield count
    finally:
        sys.settrace(before)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the kernels were ten times larger."""
    monkeypatch.setattr(outline, "PIECE", 60)
    monkeypatch.setattr(outline, "LONG", 2)
    monkeypatch.setattr(outline, "LOOP", 2)
    monkeypatch.setattr(writing, "LONG", 100)


@pytest.mark.parametrize("shape", WORK)
def test_work_grows_as_the_kernel_does(shape: str, small_pieces: None, monkeypatch: pytest.MonkeyPatch) -> None:
    work = []
    for size in (70, 140):
        data = large(shape, size)
        with _lines_run() as count:
            module = spirv.read(data)
            spirv.verify(module)
            _text(module, monkeypatch)
        work.append(count[0])
    assert work[1] <= 2.4 * work[0], work


@pytest.mark.parametrize("shape", [each for each in SHAPES if each not in WHOLE])
def test_functions_do_not_grow_with_the_kernel(shape: str, small_pieces: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM takes the square of their length."""
    longest = []
    for size in (60, 120):
        text = _text(spirv.read(large(shape, size)), monkeypatch)
        longest.append(max(len(each.splitlines()) for each in re.split(r"^}", text, flags=re.MULTILINE)))
    assert longest[1] <= 1.3 * longest[0], longest


@pytest.mark.parametrize("lanes", [1, 8])
def test_a_large_kernel_computes_what_it_should(lanes: int) -> None:
    size = 300
    compiled = pipeline.compile_kernel(spirv.read(large("ifs", size)), "main", Options(lanes=lanes, level=1))
    assert not compiled.barriers
    out = (np.arange(40, dtype=np.int32) * 29 - 70).astype(np.int32)
    expected = out.copy()
    for number in range(size):
        factor = np.int32(3 * number + 5)
        expected = np.where(out > factor, expected * factor, expected)
    native.Loaded(compiled)([out, np.int32(7)], (40,), (20,))
    assert out.tolist() == expected.tolist()


def _cut_and_whole() -> list[str]:
    """Shapes whose pieces compute something else than the whole; those with barriers are not cut, and the indices of
    "accesses" are anywhere.
    """
    wrong = []
    for shape in (each for each in SHAPES if each not in ("barriers", "across", "accesses")):
        module, results = spirv.read(large(shape, 40)), []
        for outline.PIECE, outline.LONG, outline.LOOP in ((100_000, 1, 1), (30, 1, 1), (30, 1, 100_000)):
            compiled = pipeline.compile_kernel(module, "main", Options(level=1, quick=True))
            out = (np.arange(80, dtype=np.int32) * 3 - 70).astype(np.int32)
            native.Loaded(compiled)([out, np.int32(7)], (40,), (20,))
            results.append(out.tolist())
        wrong += [] if results[0] == results[1] == results[2] else [shape]
    return wrong


def test_pieces_compute_what_the_whole_does() -> None:
    assert isolated(_cut_and_whole) == Outcome([])


def _in_small_pieces() -> list[str]:
    outline.PIECE, outline.LONG, outline.LOOP = 5, 1, 1
    found = ((name, case(name).mismatch(through_compiler(case(name), Options(level=1)))) for name in CUT)
    return [f"{name}: {mismatch}" for name, mismatch in found if mismatch]


def test_kernels_in_small_pieces_compute_the_same() -> None:
    outcome = isolated(_in_small_pieces)
    assert outcome == Outcome([])


def _in_region_functions() -> list[str]:
    writing.MANY_REGIONS, lockstep.CHAIN = 2, 2
    wrong = []
    for each in map(case, WITH_BARRIERS):
        group = (*each.group_size, 1, 1)[:3]
        for options in (Options(level=1, debug=True), Options(level=1, group=group)):
            mismatch = each.mismatch(through_compiler(each, options))
            wrong += [f"{each.name}: {mismatch}"] if mismatch else []
    return wrong


def test_regions_as_functions_compute_the_same() -> None:
    assert isolated(_in_region_functions) == Outcome([])
