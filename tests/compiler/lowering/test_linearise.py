"""Branches that lanes take differently become code that is run under masks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Block, Body, Masks, Op
from anyzero.compiler.transform.linearise import CHEAP, connect, linearise
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.ssa_repair import repair_ssa
from tests.compiler.lowering.draft import Draft, check_with_slots, names, shapes_of


def linearised(d: Draft) -> tuple[Body, Shapes, Masks]:
    body = d.done()
    shapes, flow = shapes_of(body)
    masks = linearise(body, flow, shapes)
    connect(body)
    repair_ssa(body, shapes, masks)
    check_with_slots(body)
    return body, shapes, masks


def branches(body: Body) -> list[Op]:
    return [block.condition for block in body.blocks if block.condition is not None]


def meet(d: Draft, join: Block, *sides: Block) -> None:
    for side in sides:
        d.at(side)
        d.goto(join)
    d.at(join)


def test_given_a_cheap_choice_then_both_sides_are_computed_and_nothing_is_jumped_over() -> None:
    d = Draft()
    then, otherwise, join = d.if_(d.below(d.id(), 7))
    d.at(then)
    one = d.add(d.id(), d.i64(1))
    meet(d, join, then, otherwise)
    phi = d.joined("i64", join, [one, d.i64(2)])
    d.put(d.element(d.argument("ptr"), d.id()), d.cast("trunc", phi, "i32"))
    body, _, masks = linearised(d)
    assert not branches(body)
    assert phi.name == "read"
    blends = [op for op in body.ops if op.name == "select"]
    assert len(blends) == 2
    assert masks[join] is masks[body.blocks[0]]


def test_given_a_side_that_writes_memory_then_it_is_jumped_over_where_no_lane_takes_it() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    then, otherwise, join = d.if_(d.below(d.id(), 7))
    d.at(then)
    d.put(d.element(pointer, d.id()), d.const("i32", 1))
    meet(d, join, then, otherwise)
    body, shapes, masks = linearised(d)
    (condition,) = branches(body)
    assert condition.name == "any"
    assert shapes[condition].uniform
    (guard,) = then.predecessors
    assert guard.successors[0] is then
    assert masks[then].name == "mask_and"
    assert masks[otherwise].name == "mask_andn"


def test_given_a_long_side_then_it_is_jumped_over() -> None:
    d = Draft()
    then, otherwise, join = d.if_(d.below(d.id(), 7))
    d.at(then)
    value = d.id()
    for _ in range(CHEAP + 1):
        value = d.mul(value, value)
    meet(d, join, then, otherwise)
    phi = d.joined("i64", join, [value, d.i64(2)])
    d.put(d.argument("ptr"), d.cast("trunc", phi, "i32"))
    body, _, _ = linearised(d)
    assert [each.name for each in branches(body)] == ["any"]


def test_given_a_uniform_branch_then_it_stays() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    asked = d.below(d.argument(), 7)
    then, otherwise, join = d.if_(asked)
    d.at(then)
    d.put(pointer, d.const("i32", 1))
    meet(d, join, then, otherwise)
    body, _, masks = linearised(d)
    assert branches(body) == [asked]
    assert {op.name for op in masks.of.values()} == {"entry_mask"}


def test_given_a_uniform_branch_inside_of_a_masked_side_then_it_stays_too() -> None:
    d = Draft()
    pointer, asked = d.argument("ptr"), d.below(d.argument(), 7)
    then, otherwise, join = d.if_(d.below(d.id(), 7))
    d.at(then)
    inner, other, rest = d.if_(asked)
    d.at(inner)
    d.put(pointer, d.const("i32", 1))
    meet(d, rest, inner, other)
    meet(d, join, rest, otherwise)
    body, _, masks = linearised(d)
    assert sorted(each.name for each in branches(body)) == ["any", "icmp"]
    assert masks[inner] is masks[then]


def test_given_lanes_that_return_early_then_the_rest_runs_without_them() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    work, end = d.place(2)
    d.branch(d.below(d.id(), 7), work, end)
    d.at(work)
    d.put(d.element(pointer, d.id()), d.const("i32", 1))
    d.goto(end)
    body, _, masks = linearised(d)
    assert masks[work].name == "mask_and"
    assert [each.name for each in branches(body)] == ["any"]


def divergent_loop(d: Draft) -> tuple[Block, Op, Op]:
    """for (i = 0; i < id; i++) memory[i] = i; the header, the counter, and a use of it behind the loop."""
    pointer, id_ = d.argument("ptr"), d.id()
    header, body, exit_ = d.place(3)
    d.goto(header)
    d.at(header)
    counter = d.phi("i64", header)
    d.branch(d.icmp("slt", counter, id_), body, exit_)
    d.at(body)
    d.put(d.element(pointer, counter), d.cast("trunc", counter, "i32"))
    following = d.add(counter, d.i64(1))
    d.goto(header)
    counter.args = [d.i64(0), following]
    d.at(exit_)
    behind = d.add(counter, id_)
    d.put(d.element(pointer, id_), d.cast("trunc", behind, "i32"))
    return header, counter, behind


def test_given_a_loop_that_lanes_leave_one_by_one_then_it_runs_until_the_last_has_left() -> None:
    d = Draft()
    header, _, _ = divergent_loop(d)
    body, shapes, masks = linearised(d)
    assert all(shapes[each].uniform for each in branches(body))
    starts_over = [block for block in header.predecessors if block.number >= header.number]
    assert [block.condition.name for block in starts_over if block.condition is not None] == ["any"]
    assert masks[header].name == "read"


def test_given_a_value_that_leaves_a_loop_then_each_lane_keeps_its_own() -> None:
    d = Draft()
    _, counter, behind = divergent_loop(d)
    body, _, masks = linearised(d)
    kept = behind.args[0]
    assert kept is not counter
    assert (kept.name, kept.info.name) == ("read", "out")
    written = [op for op in body.ops if op.name == "write" and op.info is kept.info]
    assert written
    assert all(op.args[0].name == "select" for op in written)
    # Lanes that stay write again later: the mask of the leaving lanes is not needed.
    assert all(op.args[0].args[0] is masks[op.block] for op in written)


def test_given_no_divergence_then_phis_are_slots_all_the_same() -> None:
    d = Draft()
    asked = d.below(d.argument(), 7)
    then, otherwise, join = d.if_(asked)
    meet(d, join, then, otherwise)
    phi = d.joined("i64", join, [d.i64(1), d.i64(2)])
    d.put(d.argument("ptr"), d.cast("trunc", phi, "i32"))
    linearised(d)
    assert phi.name == "read"
    assert names(then) == names(otherwise) == ["write"]
    assert not join.phis


graphs = st.integers(2, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(
            st.tuples(st.integers(1, 8), st.integers(1, 8), st.integers(0, 2), st.integers(0, 3)),
            min_size=count,
            max_size=count,
        ),
    )
)


@given(graphs)
def test_given_any_reducible_flow_then_only_uniform_branches_are_left(
    drawn: tuple[int, list[tuple[int, int, int, int]]],
) -> None:
    """Forward edges anywhere, an edge back to a block of the way here; a condition that is uniform or is not."""
    count, nodes = drawn
    d = Draft()
    blocks = [d.block, *d.place(count)]
    pointer, id_, given_ = d.argument("ptr"), d.id(), d.argument()
    for at, (near, far, kind, back) in enumerate(nodes):
        d.at(blocks[at])
        targets = [min(at + near, count), min(at + far, count)]
        if back == 0 and 0 < at < count:
            targets[1] = at
        d.put(d.element(pointer, id_), d.const("i32", at))
        if kind == 0 or targets[0] == targets[1]:
            d.goto(blocks[targets[0]])
        else:
            d.branch(d.below(id_ if kind == 1 else given_, at), blocks[targets[0]], blocks[targets[1]])
    body = d.body
    body.blocks = d.drafted
    flow = loop_simplify(body)
    assert not flow.loops.irreducible
    del flow
    d.drafted = body.blocks
    found, shapes, _ = linearised(d)
    assert all(shapes[each].uniform for each in branches(found))
    stores = [op.args[1].info for op in found.ops if op.name == "store"]
    assert len(stores) == len(set(stores))
