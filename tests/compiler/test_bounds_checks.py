"""Kernels compiled with bounds checks report the lanes that are out of bounds, and those alone."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form_after, simplified
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.transform.bounds_checks import check_bounds
from anyzero.compiler.transform.check import check
from anyzero.layouts.kernel import CheckedAccess
from benchmarks.kernels.case import Local
from tests.compiler import native
from tests.compiler.agreement.cases import behind_a_line, compiled, globals_of, module_of
from tests.compiler.agreement.isolation import apart
from tests.compiler.checking import Checker, Report
from tests.compiler.reference.kernels import kernel
from tests.kernels.suite import CASES, case
from tests.thorough import every

CLEAN = [each.name for each in every(24, [each for each in CASES if not each.needs & {"images", "printf"}])]

COPY = """
    %from = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    %n = OpLoad %i32 %from Aligned 4
    %to = OpInBoundsPtrAccessChain %global_i32 %p1 %i
    OpStore %to %n Aligned 4
"""


def run(module: Module, arrays: list[np.ndarray], items: int, lanes: int) -> Checker:
    checker = Checker()
    made = compile_kernel(module, "main", Options(level=1, lanes=lanes, check_memory=True))
    native.Loaded(made, engine=checker.engine)(list(arrays), (items,), (items,))
    return checker


@pytest.mark.parametrize("lanes", [1, 8])
def test_given_a_row_that_is_too_short_then_each_work_item_behind_it_is_reported(lanes: int) -> None:
    source, room = np.arange(16, dtype=np.int32), np.full(16, 7, np.int32)
    checker = run(kernel(COPY, "%global_i32 %global_i32"), [source[:11], room[:13]], 16, lanes)
    loads = [Report(CheckedAccess.LOAD, "", (item, 0, 0), item * 4) for item in range(11, 16)]
    stores = [Report(CheckedAccess.STORE, "", (item, 0, 0), item * 4) for item in range(13, 16)]
    assert sorted(checker.reports, key=lambda each: (each.kind, each.item)) == loads + stores
    # Loads out of bounds give zeros; stores leave memory alone.
    assert room.tolist() == [*range(11), 0, 0, 7, 7, 7]


@pytest.mark.parametrize("lanes", [1, 8])
def test_given_lanes_that_are_not_there_then_nothing_is_reported(lanes: int) -> None:
    source, room = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    checker = run(kernel(COPY, "%global_i32 %global_i32"), [source, room], 5, lanes)
    assert not checker.reports
    assert room.tolist() == [*range(5)]


@pytest.mark.parametrize("lanes", [1, 8])
def test_given_one_of_two_pointers_then_each_has_its_own_bounds(lanes: int) -> None:
    body = """
        %low = OpULessThan %bool %i %c4l
        %chosen = OpSelect %global_i32 %low %p0 %p1
        %from = OpInBoundsPtrAccessChain %global_i32 %chosen %i
        %n = OpLoad %i32 %from Aligned 4
        %to = OpInBoundsPtrAccessChain %global_i32 %p2 %i
        OpStore %to %n Aligned 4
    """
    declarations = "%c4l = OpConstant %i64 4"
    first, second = np.arange(3, dtype=np.int32), np.arange(10, 17, dtype=np.int32)
    room = np.zeros(8, np.int32)
    module = kernel(body, "%global_i32 %global_i32 %global_i32", declarations)
    checker = run(module, [first, second, room], 8, lanes)
    assert [each.item[0] for each in checker.reports] == [3, 7]
    assert room.tolist() == [0, 1, 2, 0, 14, 15, 16, 0]


def test_given_an_unchecked_compilation_then_it_has_no_checks() -> None:
    module = kernel(COPY, "%global_i32 %global_i32")
    assert "does not run" in form_after(module, "main", Options(), "bounds-checks")
    assert not compile_kernel(module, "main", Options()).checked


@pytest.mark.parametrize("name", CLEAN)
def test_given_a_right_kernel_then_nothing_is_reported_and_results_are_the_same(name: str) -> None:
    outcome = apart(_clean, name)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


def _clean(name: str) -> str | None:
    each = case(name)
    code, checker = compiled(each, Options(level=1, check_memory=True)), Checker()
    arguments = [behind_a_line(one) if isinstance(one, np.ndarray) else one for one in each.arguments()]
    loaded = native.Loaded(code, globals_of(module_of(each.spv)), engine=checker.engine)
    for changes in each.launches:
        given = [
            native.Local(one.nbytes) if isinstance(one, Local) else changes.get(place, one)
            for place, one in enumerate(arguments)
        ]
        loaded(given, each.global_size, each.group_size, each.offset or (0, 0, 0))
    after = {place: one for place, one in enumerate(arguments) if isinstance(one, np.ndarray)}
    return each.mismatch(after) or (str(checker.reports[:3]) if checker.reports else None)


@pytest.mark.parametrize("name", CLEAN[:6])
def test_given_a_kernel_then_its_body_is_whole_with_checks(name: str) -> None:
    each = case(name)
    body = simplified(module_of(each.spv), each.kernel).body
    before = len(list(body.ops))
    check_bounds(body, 8)
    assert (len(list(body.ops)) > before) == (name != "empty")
    check(body)
