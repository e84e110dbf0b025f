"""Masks on processors that have no registers for them: what is left of them in LLVM's optimised code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.lanes.units import ENTRY
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read
from benchmarks.kernels.case import FOLDER


@pytest.fixture
def optimised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Optimised:
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    return Optimised(tmp_path)


class Optimised:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, file: str, kernel: str, cpu: str = "haswell") -> str:
        """The entry, with all that is inlined into it."""
        compile_kernel(_module(file), kernel, Options(cpu=cpu))
        (path,) = self.folder.rglob("*.opt.ll")
        found = re.search(rf"define void @{ENTRY}\(.*?\n}}", path.read_text(), re.DOTALL)
        path.unlink()
        assert found
        return found[0]


@cache
def _module(file: str) -> Module:
    return read((FOLDER / f"{file}.spv").read_bytes())


@pytest.mark.parametrize("kernel", ["saxpy", "saxpy_int"])
@pytest.mark.parametrize("cpu", ["haswell", "x86-64-v2"])
def test_given_a_bound_then_vectors_below_it_are_stored_whole(optimised: Optimised, kernel: str, cpu: str) -> None:
    text = optimised("saxpy", kernel, cpu)
    assert re.search(r"store <\d+ x float>", text)
    # The last vector of a row is the only one with a mask.
    assert text.count("call void @llvm.masked.store") <= 1


def test_given_lanes_that_leave_one_by_one_then_no_mask_is_packed_between_blocks(optimised: Optimised) -> None:
    text = optimised("mandelbrot", "mandelbrot")
    assert not re.search(r"phi <\d+ x i1>", text)
    assert re.search(r"phi <16 x i32>", text)


def test_given_a_processor_with_registers_for_masks_then_they_are_bits(optimised: Optimised) -> None:
    assert re.search(r"phi <64 x i1>", optimised("mandelbrot", "mandelbrot", "x86-64-v4"))


def test_given_any_condition_then_there_is_code_for_all_lanes_that_stores_whole_vectors(optimised: Optimised) -> None:
    text = optimised("bitonic", "bitonic_step")
    assert len(re.findall(r"^  store <16 x i32>", text, re.MULTILINE)) >= 2
