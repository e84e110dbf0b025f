"""Scalar code for one lane behind the other, and code for rounds of a loop that all lanes take part in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from anyzero.compiler import pipeline, reference
from anyzero.compiler.analysis.cost import chains
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Atomic, Op
from anyzero.compiler.lanes.choice import choose_lanes
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.spirv import read
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.loop_simplify import loop_simplify
from tests.compiler.lowering.draft import TARGET, Draft
from tests.compiler.lowering.test_access import calls, text_of
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

KERNELS = Path(__file__).parents[2] / "kernels"
SPLAT = "splat (i1 true)"


def counting(lanes: int, index: str, size: int, atomic: Atomic, used: bool = False) -> str:
    """Each work-item loads an index and adds to one of a table's numbers."""

    def draft() -> Draft:
        d = Draft()
        found = d.get(d.element(d.argument("ptr"), d.id(), size), index, alignment=size)[0]
        wide = found if index == "i64" else d.cast("zext", found, "i64")
        table = d.variable(1024, "local") if atomic.space == "local" else d.argument("ptr", 16)
        before = d.atomic("i32", atomic, d.element(table, wide), d.const("i32", 1))
        if used:
            d.put(d.element(d.argument("ptr", 8), d.id()), before)
        return d

    return text_of(draft, Choices(lanes, TARGET, Options()))


LOCAL = Atomic("add", "group", "local")


@pytest.mark.parametrize(
    ("lanes", "index", "size", "pieces"),
    [
        *((8, "i8", 1, 1), (16, "i8", 1, 2), (32, "i8", 1, 2), (64, "i16", 2, 4), (16, "i32", 4, 8)),
        *((16, "i64", 8, 0), (4, "i8", 1, 0)),
    ],
)
def test_given_narrow_indices_then_several_are_taken_out_at_once(
    lanes: int, index: str, size: int, pieces: int
) -> None:
    text = counting(lanes, index, size, LOCAL)
    assert len(re.findall('call i64 asm ""', text)) == pieces
    # Written out for at most sixteen, and in a loop where some lanes are not here.
    assert len(re.findall(r"store i32 %", text)) == min(lanes, 16) + 1


def test_given_more_lanes_than_are_written_out_then_there_are_rounds() -> None:
    assert "icmp ult i64" in counting(32, "i8", 1, LOCAL)
    assert "icmp ult i64" not in counting(16, "i8", 1, LOCAL)


def test_given_a_lock_then_a_loop_goes_through_the_lanes() -> None:
    assert "asm" not in counting(16, "i8", 1, Atomic("add", "device", "global"))


@pytest.mark.parametrize(("lanes", "rounds"), [(16, False), (32, True)])
def test_given_results_then_they_become_a_vector_again(lanes: int, rounds: bool) -> None:
    text = counting(lanes, "i8", 1, LOCAL, used=True)
    assert len(re.findall(r"insertelement <16 x i32>", text)) == 16
    assert bool(re.search(r"store <16 x i32>", text)) == rounds
    assert re.search(rf"phi <{lanes} x i32>", text)


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(("kind", "way"), [("add", "add"), ("sub", "add"), ("smax", "smax"), ("xor", "xor")])
def test_given_one_address_then_lanes_are_brought_together_first(kind: str, way: str, used: bool) -> None:
    text = at_one_address(kind, "i32", used)
    assert f"vector.reduce.{way}" in text
    assert text.count("atomicrmw") == 1
    assert "cttz" not in text


def test_given_one_address_and_one_value_then_lanes_are_counted() -> None:
    text = at_one_address("add", "i32", used=True, value=lambda d: d.const("i32", 1))
    assert "vector.reduce" not in text
    assert "llvm.ctpop.i64" in text
    assert "llvm.ctpop.v16i32" in text


@pytest.mark.parametrize(("used", "loop"), [(False, False), (True, True)])
def test_given_floats_then_they_are_brought_together_only_if_nobody_sees_it(used: bool, loop: bool) -> None:
    assert ("cttz" in at_one_address("fadd", "float", used)) == loop


def at_one_address(kind: str, type_: str, used: bool, value: Callable[[Draft], Op] | None = None) -> str:
    def draft() -> Draft:
        d = Draft()
        given = value(d) if value else d.get(d.element(d.argument("ptr"), d.id()), type_)[0]
        before = d.atomic(type_, Atomic(kind, "device", "global"), d.argument("ptr", 8), given)
        if used:
            d.put(d.element(d.argument("ptr", 16), d.id()), before)
        return d

    return text_of(draft)


def stepping(body: Callable[[Draft, Op], None], narrow: bool = True) -> str:
    """A loop from the work-item's id on, in steps of all items, and what is done in each round."""

    def draft() -> Draft:
        d = Draft()
        type_ = "i32" if narrow else "i64"
        start = d.cast("trunc", d.id(), "i32") if narrow else d.id()
        step = d.argument(type_, 16)
        loop, out = d.place(2)
        d.goto(loop)
        d.at(loop)
        i = d.phi(type_, loop)
        body(d, d.cast("zext", i, "i64") if narrow else i)
        after = d.add(i, step)
        i.args = [start, after]
        d.branch(d.icmp("ult", after, d.argument(type_, 24)), loop, out)
        return d

    return text_of(draft)


def test_given_a_store_in_a_loop_that_lanes_leave_one_by_one_then_most_rounds_have_no_mask() -> None:
    text = stepping(lambda d, i: d.put(d.element(d.argument("ptr"), i), d.const("i32", 7)))
    masks = re.findall(r"llvm\.masked\.store.*<16 x i1> ([^)]*\)|%\w+)\)", text)
    assert len(masks) == 2
    assert SPLAT in masks


def test_given_nothing_to_gain_then_a_loop_is_written_once() -> None:
    def body(d: Draft, i: Op) -> None:
        value = d.get(d.element(d.argument("ptr"), i), "i32")[0]
        d.atomic("i32", Atomic("add", "device", "global"), d.argument("ptr", 8), value)

    assert calls(stepping(body, narrow=False)) == ["masked.load.v16i32"]
    assert calls(stepping(body)) == ["masked.load.v16i32"] * 2


@pytest.mark.parametrize(("name", "vectors"), [("histogram", True), ("spmv", False)])
def test_given_tables_in_local_memory_then_vectors_pay(name: str, vectors: bool) -> None:
    module = read((KERNELS / f"{name}.spv").read_bytes())
    made = pipeline.simplified(module, next(iter(module.kernels)))
    flow = loop_simplify(made.body)
    target = cpu.target("znver4", "+avx512vl,+avx512bw,+avx512dq,+avx2")
    lanes, why = choose_lanes(made.body, flow, Options(), target, made.kernel, made.uses)
    assert (lanes > 1) == vectors
    assert why.startswith("a vector would not pay: 16 work-items cost ") != vectors


@pytest.mark.parametrize(("required", "lanes", "why"), [
    (None, 32, "2 registers of floats, in halves because memory is the limit; blocks are chosen at run time; "),
    (64, 64, "the kernel requires sub-groups of this size"),
])  # fmt: skip
def test_given_narrow_registers_then_sub_groups_keep_the_size_that_a_kernel_requires(
    required: int | None, lanes: int, why: str
) -> None:
    made = pipeline.simplified(read((KERNELS / "saxpy.spv").read_bytes()), "triad")
    made.kernel.required_sub_group_size = required
    flow = loop_simplify(made.body)
    target = cpu.target("znver4", "+avx512vl,+avx512bw,+avx512dq,+avx2")
    found = choose_lanes(made.body, flow, Options(), target, made.kernel, made.uses, narrow=True)
    assert found[0] == lanes
    assert found[1].startswith(why)


CHASE = """
    %limit = OpUConvert %i64 %p1
    OpBranch %search
    %search = OpLabel
    %at = OpPhi %i64 %i %entry %later %step
    %inside = OpULessThan %bool %at %limit
    OpBranchConditional %inside %step %found
    %step = OpLabel
    %from = OpInBoundsPtrAccessChain %global_i32 %p0 %at
    %value = OpLoad %i32 %from
    %by = OpUConvert %i64 %value
    %later = OpIAdd %i64 %at %by
    OpBranch %search
    %found = OpLabel
    %result = OpUConvert %i32 %at
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %result"""
SEARCH = CHASE.replace("%p0 %i\n", "%p2 %i\n")
"""The same with results in memory of their own."""


@pytest.mark.parametrize(
    ("registers", "soon", "expected"), [(16, False, 2), (16, True, 2), (32, True, 2), (32, False, 4)]
)
def test_given_lanes_that_search_memory_then_there_are_more_registers_of_them(
    registers: int, soon: bool, expected: int
) -> None:
    body = pipeline.simplified(kernel(CHASE, "%global_i32 %i32"), "main").body
    flow = loop_simplify(body)
    assert chains(body, flow, analyse(body, flow, 8), True, registers, soon) == expected


def test_given_searches_and_atomic_operations_then_lanes_are_those_of_the_first_stage() -> None:
    counted = CHASE + "\n%old = OpAtomicIAdd %i32 %p0 %c1 %c0 %c7"
    module = kernel(counted, "%global_i32 %i32")
    first, final = (pipeline.compile_kernel(module, "main", Options(quick=quick)).lanes for quick in (True, False))
    assert first == final


@pytest.mark.parametrize("target", ["", "haswell"])
@pytest.mark.parametrize("quick", [True, False])
def test_searches_find_the_same_with_any_number_of_lanes(quick: bool, target: str) -> None:
    module = kernel(SEARCH, "%global_i32 %i32 %global_i32")
    steps = np.random.default_rng(3).integers(1, 9, 200, dtype=np.int32)
    wanted, found = np.zeros(200, np.int32), np.zeros(200, np.int32)
    reference.run(module, "main", [steps, 190, wanted], (200,), (40,))
    code = pipeline.compile_kernel(module, "main", Options(quick=quick, cpu=target))
    Loaded(code)([steps, 190, found], (200,), (40,))
    assert wanted.any()
    assert found.tolist() == wanted.tolist()
