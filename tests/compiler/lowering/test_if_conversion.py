"""Branches around little work become selects."""

from __future__ import annotations

import pytest

from anyzero.compiler.ir import Block
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.if_conversion import FEW, MOST, if_conversion
from tests.compiler.lowering.draft import Draft


def _around(count: int, *, load: bool = False, both: bool = False, values: int = 1) -> Draft:
    """A branch around some sums, or around sums on either side; the phis behind it are stored."""
    d = Draft()
    pointer, number = d.argument("ptr", 16), d.argument("i64", 8)
    then, otherwise, join = d.if_(d.below(d.argument(), 5))
    ways = []
    for side, block in enumerate((then, otherwise) if both else (then,)):
        d.at(block)
        value = d.get(pointer, "i64")[0] if load else number
        for _ in range(count):
            value = d.mul(value, value) if side else d.add(value, value)
        ways.append(value)
        d.goto(join)
    if not both:
        d.at(otherwise)
        d.goto(join)
        ways.append(number)
    d.at(join)
    phis = [d.joined("i64", join, ways) for _ in range(values)]
    for place, phi in enumerate(phis):
        d.put(d.element(pointer, d.i64(place)), phi)
    return d


def _blocks(d: Draft) -> list[Block]:
    body = d.done()
    if_conversion(body)
    check(body)
    return body.blocks


@pytest.mark.parametrize("both", [False, True])
def test_given_few_operations_then_there_is_a_select_and_no_branch(both: bool) -> None:
    (block,) = _blocks(_around(FEW, both=both))
    assert [op.name for op in block.ops if op.name in ("select", "store")] == ["select", "store"]


@pytest.mark.parametrize(("both", "other"), [(False, "argument"), (True, "mul")])
def test_given_the_condition_then_its_side_is_selected(both: bool, other: str) -> None:
    (block,) = _blocks(_around(1, both=both))
    (select,) = (op for op in block.ops if op.name == "select")
    condition, then, otherwise = select.args
    assert (condition.name, then.name, otherwise.name) == ("icmp", "add", other)


def test_given_more_operations_or_an_access_then_the_branch_stays() -> None:
    for d in (_around(FEW + 1), _around(1, load=True), _around(1, values=MOST + 1)):
        assert len(_blocks(d)) > 1


def test_given_a_loop_then_its_way_back_stays() -> None:
    d = Draft()
    pointer = d.argument("ptr", 8)
    head, latch, end = d.place(3)
    d.goto(head)
    d.at(head)
    counter = d.phi("i64", head)
    d.put(d.element(pointer, counter), counter)
    d.branch(d.below(counter, 9), latch, end)
    d.at(latch)
    more = d.add(counter, d.i64(1))
    d.goto(head)
    counter.args = [d.i64(0), more]
    d.at(end)
    assert len(_blocks(d)) == 4
