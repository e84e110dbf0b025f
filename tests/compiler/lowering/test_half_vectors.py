"""Small groups with barriers: half a vector has code of its own where nothing runs twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from benchmarks.kernels.case import FOLDER
from tests.compiler.native import Loaded, Local

GROUPS = 3


@pytest.mark.parametrize("form", ["", ".O0"])
@pytest.mark.parametrize("lanes", [1, 4, 16, 32, None])
def test_groups_of_any_size_exchange_what_they_have(lanes: int | None, form: str) -> None:
    module = read((FOLDER / f"barriers{form}.spv").read_bytes())
    run = Loaded(pipeline.compile_kernel(module, "neighbours", Options(lanes=lanes)))
    for size in (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 49, 64):
        given = np.random.default_rng(size).integers(-100, 100, (GROUPS, size), np.int32)
        found = np.zeros((GROUPS, size), np.int32)
        run([found, given, Local(4 * size)], (GROUPS * size,), (size,))
        left, right = np.roll(given, 1, axis=1), np.roll(given, -1, axis=1)
        assert (found == given + left - right + (left * right)[:, ::-1]).all(), size


@pytest.mark.parametrize(("file", "kernel", "expected"), [
    *(("barriers", "neighbours", True), ("barriers", "in_a_loop", False), ("reduction", "reduce_int", False)),
])  # fmt: skip
def test_half_a_vector_has_code_of_its_own_where_nothing_runs_twice(
    file: str, kernel: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    pipeline.compile_kernel(read((FOLDER / f"{file}.spv").read_bytes()), kernel, Options(lanes=4, level=1))
    half = "<i1 true, i1 true, i1 false, i1 false>"
    calls = [line for line in (tmp_path / f"{kernel}.ll").read_text().splitlines() if "call i32 @region" in line]
    assert calls
    assert any(half in line for line in calls) == expected
