"""Limits of indices: no value reaches its limit, and the usual forms of bounded indices are recognised."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from anyzero.compiler.analysis.index_limits import Limits
from anyzero.compiler.ir import WIDTHS, Op
from anyzero.compiler.operations import OPPOSITE, SWAPPED
from tests.compiler.lowering.draft import Draft, flow_of
from tests.compiler.transform.test_narrow_integers import Expressions, inputs_of, run


@pytest.mark.parametrize("part", range(4))
def test_given_any_expressions_then_no_value_reaches_its_limit(part: int) -> None:
    small = 0
    for seed in range(part * 100, part * 100 + 100):
        made = Expressions(seed)
        body = made.body()
        limits = Limits(flow_of(body).immediate)
        known = {op: limits.of(op, op.block) for op in body.ops if op.block is not None and op.type in WIDTHS}
        small += sum(limit < 1 << WIDTHS[op.type] for op, limit in known.items())
        for _ in range(8):
            given = inputs_of(made.types, made.random)
            _, machine = run(body, given, random.Random(seed).choice((0, 3, 255, 40000, 0xFFFFFFF9)))
            for op, limit in known.items():
                assert machine.values.get(op, 0) < limit, (seed, op, limit)
    assert small > 500


def limit_of(make: Callable[[Draft, Op], Op]) -> int:
    """Of what is made of an unknown number of 32 bits, where it is stored."""
    d = Draft()
    pointer = d.argument("ptr")
    (number,) = d.get(pointer)
    value = make(d, number)
    block = d.block
    d.put(pointer, value)
    return Limits(flow_of(d.done()).immediate, (64, 1, 1)).of(value, block)


def c(d: Draft, value: int) -> Op:
    return d.const("i32", value)


FORMS: dict[str, tuple[Callable[[Draft, Op], Op], int]] = {
    "mask": (lambda d, x: d.binary("and", x, c(d, 63)), 64),
    "remainder": (lambda d, x: d.binary("urem", x, c(d, 100)), 100),
    "shift": (lambda d, x: d.lshr(x, c(d, 24)), 256),
    "clamp": (lambda d, x: d.math("s_clamp", "i32", x, c(d, 0), c(d, 9)), 10),
    "clamp to a negative number": (lambda d, x: d.math("s_clamp", "i32", x, c(d, -4), c(d, 9)), 1 << 32),
    "minimum": (lambda d, x: d.math("u_min", "i32", x, c(d, 9)), 10),
    "signed minimum": (lambda d, x: d.math("s_min", "i32", x, c(d, 9)), 1 << 32),
    "sum that may wrap around": (lambda d, x: d.add(x, c(d, 3)), 1 << 32),
    "product": (lambda d, x: d.mul(d.binary("and", x, c(d, 7)), c(d, 4)), 29),
    "local id": (lambda d, x: d.cast("trunc", d.id("local_id"), "i32"), 64),
}


@pytest.mark.parametrize("name", FORMS)
def test_given_a_form_of_an_index_then_its_limit_is(name: str) -> None:
    make, limit = FORMS[name]
    assert limit_of(make) == limit


def counter(d: Draft, start: Op, step: int, predicate: str, bound: int) -> Op:
    """The counter of a loop, in its body."""
    before, (header, after) = d.block, d.place(2)
    d.goto(header)
    d.at(header)
    count = d.phi("i32", header)
    further = d.add(count, c(d, step))
    d.branch(d.icmp(predicate, further, c(d, bound)), header, after)
    assert header.predecessors == [before, header]
    count.args = [start, further]
    d.at(after)
    return count


@pytest.mark.parametrize(
    ("step", "predicate", "bound", "limit"),
    [
        (64, "slt", 256, 256),
        (64, "ult", 256, 256),
        (-64, "slt", 256, 1 << 32),
        (64, "ne", 256, 1 << 32),
        (64, "sgt", 256, 1 << 31),
    ],
)
def test_given_a_counter_then_its_limit_is_the_bound_of_its_loop(
    step: int, predicate: str, bound: int, limit: int
) -> None:
    assert limit_of(lambda d, x: counter(d, d.binary("and", x, c(d, 15)), step, predicate, bound)) == limit


def test_given_a_counter_that_begins_beyond_its_bound_then_that_is_no_limit() -> None:
    assert limit_of(lambda d, x: counter(d, x, 64, "slt", 256)) == 1 << 32


@pytest.mark.parametrize(
    ("comparisons", "limit"),
    [
        ([("ult", 32)], 32),
        ([("ule", 32)], 33),
        ([("eq", 32)], 33),
        ([("slt", 32)], 1 << 32),
        ([("slt", 32), ("sge", 0)], 32),
        ([("sgt", -1), ("sle", 32)], 33),
        ([("sge", -1), ("slt", 32)], 1 << 32),
        ([("sge", 0)], 1 << 31),
        ([("ugt", 32)], 1 << 32),
        ([("ult", 32), ("ult", 16)], 16),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_given_comparisons_then_the_limit_holds_behind_them_only(
    comparisons: list[tuple[str, int]], limit: int, swapped: bool
) -> None:
    d = Draft()
    pointer = d.argument("ptr")
    (number,) = d.get(pointer)
    end = d.place()[0]
    for predicate, bound in comparisons:
        (inside,) = d.place()
        if swapped:
            d.branch(d.icmp(OPPOSITE[predicate] if predicate != "eq" else "ne", number, c(d, bound)), end, inside)
        else:
            d.branch(d.icmp(SWAPPED[predicate], c(d, bound), number), inside, end)
        d.at(inside)
    d.put(pointer, number)
    inside = d.block
    d.goto(end)
    d.at(end)
    d.put(pointer, number)
    limits = Limits(flow_of(d.done()).immediate)
    assert (limits.of(number, inside), limits.of(number, end)) == (limit, 1 << 32)
