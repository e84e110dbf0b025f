"""Trees in local memory: versions of a step for each power of two, and one for what is left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.lower import register_tiles
from anyzero.compiler.spirv import read
from benchmarks.kernels.case import FOLDER
from tests.compiler.native import Loaded, Local

GROUPS = 3


def summed(scratch: np.ndarray) -> float:
    """As the kernel adds up; sizes that are no power of two lose some."""
    width = len(scratch) // 2
    while width:
        scratch[:width] += scratch[width : 2 * width]
        width //= 2
    return float(scratch[0])


@pytest.mark.parametrize("lanes", [1, 4, 16, 32, None])
@pytest.mark.parametrize("kernel", ["reduce_int", "reduce_size_t"])
def test_every_width_adds_up(kernel: str, lanes: int | None) -> None:
    module = read((FOLDER / "reduction.spv").read_bytes())
    run = Loaded(pipeline.compile_kernel(module, kernel, Options(lanes=lanes)))
    for size in (1, 2, 3, 8, 15, 16, 17, 32, 33, 48, 64, 100, 127, 256):
        n = GROUPS * size - 1
        # Whole numbers, of which every order of adding gives the same sum.
        data = np.arange(1, n + 1, dtype=np.float32)
        found = np.zeros(GROUPS, np.float32)
        limit = np.int32(n) if kernel == "reduce_int" else np.uint64(n)
        run([found, data, Local(4 * size), limit], (GROUPS * size,), (size,))
        padded = np.append(data, np.float32(0)).reshape(GROUPS, size)
        assert found.tolist() == [summed(each.copy()) for each in padded], size


def text_of(kernel: str, file: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANYZERO_DUMP", str(folder))
    pipeline.compile_kernel(read((FOLDER / f"{file}.spv").read_bytes()), kernel, Options(lanes=16, level=1))
    return (folder / f"{kernel}.ll").read_text()


@pytest.mark.parametrize("kernel", ["reduce_int", "reduce_size_t"])
def test_given_a_step_of_a_tree_then_stores_are_as_long_as_there_are_lanes(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_of(kernel, "reduction", tmp_path, monkeypatch)
    assert [f"store <{count} x float>" in text for count in (1, 2, 4, 8)] == [True] * 4


def test_the_first_stage_writes_each_step_once() -> None:
    module = read((FOLDER / "reduction.spv").read_bytes())
    first, final = (
        pipeline.form(module, "reduce_size_t", Options(lanes=16, quick=quick), "ir") for quick in (True, False)
    )
    assert ("store <4 x float>" in first, "store <4 x float>" in final) == (False, True)


def test_given_no_number_of_lanes_that_changes_then_a_block_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "switch i64" not in text_of("neighbours", "barriers", tmp_path, monkeypatch)


@pytest.mark.parametrize("lanes", [4, 16, 32])
def test_given_steps_of_constant_widths_then_each_is_written_for_its_lanes(
    lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the groups had too many vectors for arrays in registers.
    monkeypatch.setattr(register_tiles, "VECTORS", 0)
    module = read((FOLDER / "trees.spv").read_bytes())
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    for kernel, required in (("tree_any", None), ("tree_32", (32, 1, 1))):
        compiled = pipeline.compile_kernel(module, kernel, Options(lanes=lanes))
        assert compiled.required_group_size == required
        text = (tmp_path / f"{kernel}.ll").read_text()
        widths = {1, 2, 4, 8, 16} if lanes > 16 else {width for width in (1, 2, 4, 8) if width < lanes}
        assert {width for width in (1, 2, 4, 8, 16) if f"store <{width} x i32>" in text} == widths
        run = Loaded(compiled)
        for size in (32,) if required else (32, 64, 33, 48):
            data = np.arange(GROUPS * size, dtype=np.int32)
            found = np.zeros(GROUPS, np.int32)
            run([found, data], (GROUPS * size,), (size,))
            assert found.tolist() == [int(each[:32].sum()) for each in data.reshape(GROUPS, size)], size


def test_given_an_array_for_each_work_item_then_groups_of_that_size_have_code_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    options = Options(cpu="haswell", features="+avx2", lanes=32)
    module = read((FOLDER / "trees.spv").read_bytes())
    pipeline.compile_kernel(module, "tree_any", options)
    lines = (tmp_path / "tree_any.opt.ll").read_text().splitlines()
    starts = {
        name: lines.index(next(line for line in lines if f"@{name}anyzero_kernel(" in line))
        for name in ("likely.", "any.")
    }
    masked = [at for at, line in enumerate(lines) if "llvm.masked" in line and "call" in line]
    assert starts["likely."] < starts["any."]
    assert not [at for at in masked if starts["likely."] < at < starts["any."]]
    assert [at for at in masked if at > starts["any."]]


def test_given_a_group_as_long_as_a_vector_then_nothing_is_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    options = Options(cpu="haswell", features="+avx2")
    assert pipeline.compile_kernel(read((FOLDER / "trees.spv").read_bytes()), "tree_32", options).lanes == 32
    text = (tmp_path / "tree_32.opt.ll").read_text()
    assert not [line for line in text.splitlines() if "llvm.masked" in line and "call" in line]


def test_given_a_condition_on_local_ids_then_its_lanes_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    module = read((FOLDER / "trees.spv").read_bytes())
    compiled = pipeline.compile_kernel(module, "ends_32", Options(cpu="haswell", features="+avx2"))
    text = (tmp_path / "ends_32.opt.ll").read_text()
    # Two stores, of one work-item each.
    assert "call void @llvm.masked.scatter" not in text
    assert {"store i32 0", "store i32 31"} <= {line.strip().partition(",")[0] for line in text.splitlines()}
    places = np.zeros(64, np.int32)
    places[[0, 31, 32, 63]] = [5, 6, 7, 8]
    found = np.zeros(64, np.int32)
    Loaded(compiled)([found, places, np.full(64, -1, np.int32)], (64,), (32,))
    assert {int(at): int(found[at]) for at in np.flatnonzero(found + 1)} == {5: 0, 6: 31, 39: 0, 40: 31}
