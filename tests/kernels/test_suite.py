"""The suite itself: its modules are accepted, its cases are well-formed, and its judge notices mistakes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.spirv import read, verify
from benchmarks.kernels.case import FOLDER, Case, Image, Local, Sampler, mismatch
from tests.kernels.suite import CASES, case

MODULES = sorted(FOLDER.glob("*.spv"))
ITEMS = 512
"""What the interpreter runs in reasonable time."""
KINDS = {"global": np.ndarray, "constant": np.ndarray, "local": Local, "image": Image, "sampler": Sampler}


@cache
def module(path: Path) -> Any:
    return read(path.read_bytes())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_module_is_accepted(path: Path) -> None:
    verify(module(path))


ELSEWHERE = {"columns.spv", "linear_ids.spv", "rows_first.spv", "strips.spv", "trees.spv", "updates.spv"}
"""Their kernels are run in shapes of their own by `tests/compiler`."""


def test_every_kernel_has_a_case() -> None:
    kernels = {(path.name, name) for path in MODULES if path.name not in ELSEWHERE for name in module(path).kernels}
    kernels -= {("empty.spv", "empty_one_argument")}
    assert kernels - {(each.spv.name, each.kernel) for each in CASES} == set()


def test_every_source_has_its_module_and_every_module_its_source() -> None:
    sources = {path.stem for path in FOLDER.glob("*.cl")}
    assert sources == {path.name.split(".")[0] for path in MODULES}


def test_names_are_unique() -> None:
    names = [each.name for each in CASES]
    assert len(names) == len(set(names)) > 400


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_case_is_well_formed(each: Case) -> None:
    assert 1 <= len(each.global_size) == len(each.group_size) <= 3
    assert all(whole % group == 0 for whole, group in zip(each.global_size, each.group_size, strict=True))
    assert each.items <= ITEMS
    arguments = each.arguments()
    parameters = module(each.spv).kernels[each.kernel].parameters
    assert len(arguments) == len(parameters)
    for argument, parameter in zip(arguments, parameters, strict=True):
        assert isinstance(argument, KINDS.get(parameter.kind, np.generic)), parameter
        if isinstance(argument, np.generic):
            assert argument.nbytes == parameter.size, parameter
    expected = each.expected(each.arguments())
    for index, values in expected.items():
        given = arguments[index]
        given = given.pixels if isinstance(given, Image) else given
        assert isinstance(given, np.ndarray)
        assert values.size == given.size
        if given.dtype.names is None and given.dtype.kind != "f":
            assert values.dtype == given.dtype
    # The same again, and the judge agrees with itself.
    with np.errstate(all="ignore"):
        got = {
            index: values.astype(arguments[index].dtype) if isinstance(arguments[index], np.ndarray) else values
            for index, values in expected.items()
        }
    assert each.mismatch(got) is None


def test_a_mistake_is_noticed() -> None:
    each = case("integers_whole_int")
    expected = each.expected(each.arguments())[0]
    expected[7, 3] ^= 1
    report = each.mismatch({0: expected})
    assert report is not None
    assert "at [7, 3] (a >> b)" in report
    assert "1 of 960 are wrong" in report


def test_tolerances() -> None:
    one: Any = np.ones(4, np.float32)
    near = one + np.float32(2**-22)
    assert mismatch(near, one) is not None
    assert mismatch(near, one.astype(np.float64), ulp=2.0) is None
    assert mismatch(near, one.astype(np.float64), ulp=1.0) is not None
    assert mismatch(near, one, rtol=1e-6) is None
    rows = np.stack([near, near])
    assert mismatch(rows, np.ones((2, 4)), ulp=(2.0, 1.0)) == (
        (1, 0),
        "np.float32(1.0000002) instead of np.float64(1.0) (4 of 8 are wrong)",
    )
    assert mismatch(np.array([1, 2, 3, 9]), np.array([1, 2, 3, 4]), outliers=0.3) is None
    assert mismatch(np.array([np.nan, np.inf]), np.array([np.nan, np.inf])) is None
    assert mismatch(np.array([np.nan]), np.array([1.0]), rtol=1.0) is not None
    assert mismatch(np.array([1e-45], np.float32), np.array([0.0]), ulp=1.0) is None
