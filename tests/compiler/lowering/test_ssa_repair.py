"""Values whose block is no longer passed on every way to their users."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import UNIFORM, VARYING, Shape, Shapes
from anyzero.compiler.ir import Masks
from anyzero.compiler.transform.ssa_repair import demote, repair_ssa
from tests.compiler.lowering.draft import Draft, names


def test_given_a_value_that_reaches_its_user_then_nothing_changes() -> None:
    d = Draft()
    value = d.id()
    then, otherwise, join = d.if_(d.below(value, 7))
    d.at(then)
    used = d.add(value, d.i64(1))
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    body = d.done()
    before = names(body.blocks[0])
    repair_ssa(body, Shapes(), Masks())
    assert names(body.blocks[0]) == before
    assert used.args[0] is value


def test_given_a_value_from_one_side_then_it_travels_in_a_slot() -> None:
    d = Draft()
    asked = d.below(d.argument(), 7)
    then, otherwise, join = d.if_(asked)
    d.at(then)
    value = d.add(d.id(), d.i64(1))
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    d.at(join)
    d.body.blocks = d.drafted
    used = d.add(value, d.i64(2))
    shapes = Shapes({value: VARYING})
    for number, block in enumerate(d.drafted):
        block.number = number
    repair_ssa(d.body, shapes, Masks())
    read = used.args[0]
    assert (read.name, read.block) == ("read", join)
    assert names(then)[-1] == "write"
    assert then.ops[-1].info is read.info
    assert shapes[read] == VARYING


def test_given_a_value_that_cannot_be_computed_from_lane_0_then_its_users_still_know_its_stride() -> None:
    d = Draft()
    value = d.id()
    (rest,) = d.place()
    d.goto(rest)
    d.at(rest)
    used = d.add(value, d.i64(2))
    body = d.done()
    shapes = Shapes({value: Shape(1, exact=False)})
    demote({value}, body, shapes, Masks())
    assert shapes[used.args[0]] == Shape(1, exact=False)


def test_given_several_users_in_a_block_then_they_share_one_read() -> None:
    d = Draft()
    value = d.id()
    (rest,) = d.place()
    d.goto(rest)
    d.at(rest)
    first, second = d.add(value, d.i64(2)), d.mul(value, value)
    body = d.done()
    demote({value}, body, Shapes({value: UNIFORM}), Masks())
    assert first.args[0] is second.args[0] is second.args[1]
    assert names(rest).count("read") == 1


def test_given_a_mask_or_a_condition_then_they_are_found_too() -> None:
    d = Draft()
    mask = d.emit("entry_mask", "i1", [])
    asked = d.below(d.argument(), 7)
    (middle,) = d.place()
    d.goto(middle)
    d.at(middle)
    then, end = d.place(2)
    d.branch(asked, then, end)
    d.at(then)
    d.goto(end)
    body = d.done()
    masks = Masks({middle: mask})
    demote({mask, asked}, body, Shapes({mask: VARYING}), masks)
    assert masks[middle].name == "read"
    assert middle.condition is not None
    assert middle.condition.name == "read"
