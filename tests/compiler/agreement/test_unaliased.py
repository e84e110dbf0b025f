"""Arguments that lead to separate memory have a version of their own; others get what the program says, in order."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.layouts.container import ArgumentUse
from benchmarks.kernels.case import FOLDER
from tests.compiler import native
from tests.compiler.agreement.cases import module_of

KERNELS = FOLDER / "updates.spv"
ITEMS, OWN = 35, 16
Array = np.ndarray

POINTERS = {
    **dict.fromkeys(["accumulate", "some", "some_of_a_stored_one", "until", "nested", "two", "neighbours"], 2),
    **dict.fromkeys(["components", "pixels", "rows_first", "staged"], 2),
    **dict.fromkeys(["product", "squares", "both", "optional", "either"], 3),
    "sparse": 4,
}
"""The number of pointers of each kernel."""
SEPARATE = POINTERS.keys() - {"some", "neighbours", "staged"}
"""Kernels that gain: not where the store might overwrite another work-item's, where the element may be another one, or
where the loop's other accesses are to local memory anyway.
"""

WAYS = [Options(), Options(lanes=1), Options(cpu="haswell")]
each_way = pytest.mark.parametrize("options", WAYS, ids=["own", "1", "avx2"])


@cache
def kernel(name: str, options: Options) -> CompiledKernel:
    return compile_kernel(module_of(KERNELS), name, options)


def memory(seed: int) -> Array:
    return np.random.default_rng(seed).integers(-99, 99, (ITEMS + 1) * OWN).astype(np.int32)


def run_both(name: str, options: Options, pointers: list[Array | None], n: int, unaliased: bool | None = None) -> None:
    """Runs the machine code and then the interpreter on the same contents."""
    module = module_of(KERNELS)
    size, group = {
        "product": ((n, max(1, (ITEMS * OWN) // max(n, 1) // 2), 1), (n, 1, 1)),
        "rows_first": ((ITEMS, n, 1), (ITEMS, n, 1)),
        "staged": ((ITEMS // 16 * 16, 1, 1), (16, 1, 1)),
    }.get(name, ((ITEMS, 1, 1), (ITEMS, 1, 1)))
    scalars: dict[str, list[Any]] = {"squares": [], "pixels": [], "both": [], "rows_first": [np.int32(0), np.int32(n)]}
    rest = scalars.get(name, [np.int32(n)])
    owners = [each if each.base is None else each.base for each in pointers if each is not None]
    before = [each.copy() for each in owners]
    tile: list[Any] = [native.Local(64)] if name == "staged" else []
    given = [np.uint64(0) if each is None else each for each in pointers]
    native.Loaded(kernel(name, options))([*given, *tile, *rest], size, group, unaliased=unaliased)
    after = [each.copy() for each in owners]
    for each, contents in zip(owners, before, strict=True):
        each[:] = contents
    tile = [reference.Local(64)] if name == "staged" else []
    reference.run(module, name, [*pointers, *tile, *rest], size, group)
    for each, contents in zip(owners, after, strict=True):
        np.testing.assert_array_equal(contents, each)


def counts(name: str) -> list[int]:
    return [13, 4] if name in ("product", "rows_first") else [0, 5, 15]


@each_way
@pytest.mark.parametrize("name", POINTERS)
def test_separate_memory_gives_what_the_interpreter_does(name: str, options: Options) -> None:
    for n in counts(name):
        for unaliased in (True, False):
            run_both(name, options, [memory(seed) for seed in range(POINTERS[name])], n, unaliased)


@each_way
@pytest.mark.parametrize("name", [each for each in POINTERS if each not in ("product", "squares")])
def test_the_same_memory_gives_what_the_interpreter_does(name: str, options: Options) -> None:
    """What a work-item writes lies in its own elements, so the results do not depend on the order of work-items."""
    shifts = {"rows_first": [0], "staged": [0], "components": [0, 4]}.get(name, [0, 1, 3, -2])
    for shift in shifts:
        for n in [4] if name == "rows_first" else [5, 9]:
            whole = memory(3)
            pointers: list[Array | None] = [whole[4:], *(whole[4 + shift :] for _ in range(POINTERS[name] - 1))]
            run_both(name, options, pointers, n)


@each_way
def test_an_optional_argument_may_be_null(options: Options) -> None:
    run_both("optional", options, [memory(0), memory(1), None], 9, unaliased=True)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512"])
@pytest.mark.parametrize("name", POINTERS)
def test_kernels_that_gain_ask_for_separate_memory(name: str, cpu: str) -> None:
    arguments = [each for each in kernel(name, Options(cpu=cpu)).arguments if each.kind == "global"]
    marks = [each.access & (ArgumentUse.SEPARATE_READS | ArgumentUse.SEPARATE_WRITES) for each in arguments]
    if name in SEPARATE:
        assert marks[0] == ArgumentUse.SEPARATE_WRITES
        assert marks[-1] == ArgumentUse.SEPARATE_READS
    else:
        assert not any(marks)


@pytest.mark.parametrize(
    "options",
    [Options(quick=True), Options(level=0), Options(check_memory=True), Options(check_races=True)],
    ids=["first stage", "not optimised", "memory checked", "races checked"],
)
def test_code_that_is_made_quickly_or_sees_each_access_has_one_version(options: Options) -> None:
    assert not any(each.access & ArgumentUse.SEPARATE_WRITES for each in kernel("accumulate", options).arguments)
