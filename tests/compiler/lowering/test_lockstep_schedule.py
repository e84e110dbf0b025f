"""Which values a group agrees on, and whether its vectors go from barrier to barrier together."""

from __future__ import annotations

from anyzero.compiler.analysis.group_uniformity import group_uniform
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Access, Op
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.lockstep_schedule import END, Schedule, schedule_lockstep
from anyzero.compiler.transform.expand_collectives import expand_collectives
from anyzero.compiler.transform.linearise import connect, linearise
from anyzero.compiler.transform.regions import split
from anyzero.compiler.transform.ssa_repair import repair_ssa
from tests.compiler.lowering.draft import LANES, TARGET, Draft, flow_of, shapes_of, text_of_body


def agree_on(d: Draft, op: Op) -> bool:
    body = d.done()
    return op in group_uniform(body, flow_of(body))


def scheduled(d: Draft) -> Schedule | None:
    body = d.done()
    expand_collectives(body)
    shapes, flow = shapes_of(body)
    same = group_uniform(body, flow)
    masks = linearise(body, flow, shapes)
    connect(body)
    repair_ssa(body, shapes, masks)
    return schedule_lockstep(split(body, shapes, masks), same, shapes)


def store(d: Draft, value: Op | None = None) -> None:
    d.put(d.element(d.argument("ptr"), d.id("local_id")), value or d.const("i32", 1))


def counted(d: Draft, bound: Op) -> Op:
    """A loop with a barrier in it; goes on behind it. Gives the counter."""
    header, inside, behind = d.place(3)
    d.goto(header)
    counter = d.phi("i64", header)
    d.at(header)
    d.branch(d.icmp("slt", counter, bound), inside, behind)
    d.at(inside)
    d.barrier()
    store(d)
    following = d.add(counter, d.i64(1))
    d.goto(header)
    counter.args = [d.i64(0), following]
    d.at(behind)
    return counter


# Values


def test_given_ids_then_only_those_of_groups_are_agreed_on() -> None:
    d = Draft()
    group, row, vector = d.id("group_id"), d.id("local_id", 1), d.id("sub_group_id")
    body = d.done()
    same = group_uniform(body, flow_of(body))
    assert group in same
    assert row not in same
    assert vector not in same


def test_given_a_load_from_one_place_then_its_value_is_agreed_on_unless_it_may_change() -> None:
    for volatile in (False, True):
        d = Draft()
        [value] = d.load(d.argument("ptr"), "i32", Access(volatile=volatile, space="global"))
        assert agree_on(d, value) != volatile


def test_given_a_loop_that_rows_leave_one_by_one_then_its_counter_is_not_agreed_on() -> None:
    for which, same in (("group_id", True), ("local_id", False)):
        d = Draft()
        assert agree_on(d, counted(d, d.id(which, 1))) == same


def test_given_a_total_of_the_group_then_it_is_agreed_on() -> None:
    for kind, same in (("reduce", True), ("exclusive", False)):
        d = Draft()
        d.together(kind, d.id("local_id"), operation="add")
        body = d.done()
        expand_collectives(body)
        [read] = [op for op in body.ops if op.name == "read"]
        assert (read in group_uniform(body, flow_of(body))) == same


# Flow


def test_given_barriers_one_behind_the_other_then_regions_follow_each_other() -> None:
    d = Draft()
    store(d)
    d.barrier()
    store(d)
    d.barrier()
    store(d)
    schedule = scheduled(d)
    assert schedule is not None
    assert [step.next for step in schedule.steps] == [[1], [2], [END]]
    assert not schedule.shared


def test_given_a_loop_that_all_leave_together_then_its_counter_is_kept_once() -> None:
    d = Draft()
    counted(d, d.argument())
    store(d)
    schedule = scheduled(d)
    assert schedule is not None
    assert [step.next for step in schedule.steps] == [[END, 1], [END, 1]]
    assert len(schedule.shared) == 1
    assert all(step.writes == list(schedule.shared) for step in schedule.steps)


def test_given_a_loop_that_rows_leave_one_by_one_then_there_is_no_plan() -> None:
    d = Draft()
    counted(d, d.id("local_id", 1))
    store(d)
    assert scheduled(d) is None


def test_given_a_barrier_for_some_rows_then_there_is_no_plan() -> None:
    d = Draft()
    then, otherwise, join = d.if_(d.below(d.id("local_id", 1), 2))
    d.at(then)
    d.barrier()
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    d.at(join)
    store(d)
    assert scheduled(d) is None


def test_given_rows_that_part_and_meet_in_front_of_a_barrier_then_they_are_together_again() -> None:
    d = Draft()
    then, otherwise, join = d.if_(d.below(d.id("local_id", 1), 2))
    d.at(then)
    store(d)
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    d.at(join)
    d.barrier()
    store(d)
    schedule = scheduled(d)
    assert schedule is not None
    assert [step.next for step in schedule.steps] == [[1], [END]]


# Vectors that have nothing to do


def guarded(d: Draft, condition: Op) -> None:
    """A barrier, and then something that is only done under a condition."""
    d.barrier()
    then, otherwise, join = d.if_(condition)
    d.at(then)
    store(d)
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    d.at(join)


def stops(d: Draft) -> list[bool]:
    schedule = scheduled(d)
    assert schedule is not None
    return [bool(step.stops) for step in schedule.steps]


def test_given_work_for_the_first_of_a_row_then_it_ends_with_the_first_vector_that_has_none() -> None:
    for predicate, swapped in (("slt", False), ("ule", False), ("ugt", True)):
        d = Draft()
        order = (d.argument(), d.id("local_id")) if swapped else (d.id("local_id"), d.argument())
        guarded(d, d.icmp(predicate, *order))
        assert stops(d) == [False, True]


def test_given_work_for_item_0_then_the_row_ends_behind_it() -> None:
    d = Draft()
    guarded(d, d.icmp("eq", d.id("local_id"), d.i64(0)))
    assert stops(d) == [False, True]


def test_given_a_constant_bound_then_it_is_known_how_many_of_a_row_have_work() -> None:
    cases = (
        ("slt", "local_id", 32, 32),
        ("ule", "local_id", 32, 33),
        ("eq", "local_id", 0, 1),
        ("slt", "local_id", 0, 0),
    )
    for predicate, id_, bound, reach in (*cases, ("ult", "global_id", 32, None), ("slt", "local_id", -1, None)):
        d = Draft()
        guarded(d, d.icmp(predicate, d.id(id_), d.i64(bound & (1 << 64) - 1)))
        schedule = scheduled(d)
        assert schedule is not None
        assert [step.reach for step in schedule.steps] == [None, reach]


def test_given_work_for_others_than_the_first_then_all_vectors_are_asked() -> None:
    for condition in (
        lambda d: d.icmp("ugt", d.id("local_id"), d.argument()),
        lambda d: d.icmp("eq", d.id("local_id"), d.i64(3)),
        lambda d: d.icmp("ult", d.id("local_id"), d.id("sub_group_id")),
        lambda d: d.icmp("ult", d.cast("trunc", d.id("global_id"), "i32"), d.argument("i32")),
    ):
        d = Draft()
        guarded(d, condition(d))
        assert stops(d) == [False, False]


def test_given_something_else_to_do_then_all_vectors_are_asked() -> None:
    d = Draft()
    guarded(d, d.icmp("ult", d.id("local_id"), d.argument()))
    store(d)
    assert stops(d) == [False, False]


def test_given_something_to_keep_then_all_vectors_are_asked() -> None:
    d = Draft()
    d.barrier()
    then, otherwise, join = d.if_(d.icmp("ult", d.id("local_id"), d.argument()))
    d.at(then)
    [value] = d.get(d.element(d.argument("ptr"), d.id("local_id")))
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    d.at(join)
    kept = d.joined("i32", join, [value, d.const("i32", 5)])
    d.barrier()
    store(d, kept)
    assert stops(d) == [False, False, False]


# What LLVM is told


def written(d: Draft) -> str:
    return text_of_body(d.done(), Choices(LANES, TARGET, Options()))


def test_given_rows_that_read_the_same_then_what_a_vector_keeps_is_said_to_be_its_own() -> None:
    for row, told in ((1, True), (0, False)):
        d = Draft()
        place = d.element(d.argument("ptr"), d.id("local_id"))
        [kept] = d.get(d.element(place, d.id("local_id", row), 64))
        d.barrier()
        [value] = d.get(place)
        store(d, d.add(kept, value))
        _, first, rest = written(d).split("define ", 2)
        assert ("noalias %spill" in first) == told
        assert "noalias %spill" not in rest
