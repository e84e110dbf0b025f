"""Bodies cut at barriers, and what crosses the cuts."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Body, Combine, Op
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.regions import lay_out
from anyzero.compiler.transform.expand_collectives import expand_collectives
from anyzero.compiler.transform.linearise import connect, linearise
from anyzero.compiler.transform.regions import Region, ends_in_barrier, split
from anyzero.compiler.transform.ssa_repair import repair_ssa
from tests.compiler.lowering.draft import LANES, TARGET, Draft, check_with_slots, names, shapes_of

CHOICES = Choices(LANES, TARGET, Options())


def cut(d: Draft) -> tuple[Body, list[Region], Shapes]:
    body = d.done()
    expand_collectives(body)
    shapes, flow = shapes_of(body)
    masks = linearise(body, flow, shapes)
    connect(body)
    repair_ssa(body, shapes, masks)
    regions = split(body, shapes, masks)
    check_with_slots(body)
    return body, regions, shapes


def of(region: Region) -> list[str]:
    return [name for block in region.blocks for name in names(block)]


def kept(body: Body) -> list[Op]:
    """What is written to memory that outlives barriers."""
    return [op.args[0] for op in body.ops if op.name == "write" and op.info.across]


def use(d: Draft, value: Op) -> None:
    d.put(d.element(d.argument("ptr"), d.id()), value)


def test_given_no_barrier_then_there_is_one_region() -> None:
    d = Draft()
    use(d, d.const("i32", 1))
    body, regions, _ = cut(d)
    assert len(regions) == 1
    assert regions[0].start is body.blocks[0]
    assert not kept(body)


def test_given_a_barrier_then_the_first_region_ends_with_it() -> None:
    d = Draft()
    use(d, d.const("i32", 1))
    d.barrier()
    use(d, d.const("i32", 2))
    _, regions, _ = cut(d)
    assert len(regions) == 2
    assert ends_in_barrier(regions[0].blocks[-1])
    assert [region for region in regions if "barrier" in of(region)] == [regions[0]]
    assert [of(region).count("store") for region in regions] == [1, 1]


def test_given_a_barrier_of_a_sub_group_then_nothing_is_cut() -> None:
    d = Draft()
    d.emit("barrier", "", [], "sub_group")
    use(d, d.const("i32", 1))
    assert len(cut(d)[1]) == 1


def test_given_a_loaded_value_behind_a_barrier_then_it_is_kept() -> None:
    d = Draft()
    (loaded,) = d.get(d.element(d.argument("ptr"), d.id()))
    d.barrier()
    use(d, loaded)
    body, _, _ = cut(d)
    assert kept(body) == [loaded]


def test_given_ids_and_arguments_behind_a_barrier_then_they_are_computed_again() -> None:
    d = Draft()
    pointer = d.element(d.argument("ptr"), d.id())
    d.put(pointer, d.const("i32", 1))
    d.barrier()
    d.put(pointer, d.const("i32", 2))
    body, regions, _ = cut(d)
    assert not kept(body)
    assert {"builtin", "argument", "offset"} <= set(of(regions[1]))


def test_given_a_chain_that_is_too_long_then_its_result_is_kept() -> None:
    d = Draft()
    value = d.id()
    for number in range(12):
        value = d.add(d.mul(value, d.i64(3)), d.i64(number + 1))
    d.barrier()
    use(d, d.cast("trunc", value, "i32"))
    body, _, _ = cut(d)
    assert len(kept(body)) == 1


def test_given_a_barrier_in_a_loop_then_the_counter_is_kept_and_the_region_comes_round() -> None:
    d = Draft()
    turns = d.argument()
    header, inside, exit_ = d.place(3)
    d.goto(header)
    d.at(header)
    counter = d.phi("i64", header)
    d.branch(d.icmp("slt", counter, turns), inside, exit_)
    d.at(inside)
    d.barrier()
    use(d, d.cast("trunc", counter, "i32"))
    following = d.add(counter, d.i64(1))
    d.goto(header)
    counter.args = [d.i64(0), following]
    body, regions, shapes = cut(d)
    assert len(regions) == 2
    again = regions[1]
    assert any(ends_in_barrier(block) for block in again.blocks)
    assert any(not block.successors for block in again.blocks)
    slots = {op.info for op in body.ops if op.name == "write" and op.info.across}
    assert slots
    assert all(shapes[op].uniform for op in body.ops if op.name == "read" and op.info in slots)


def test_given_a_divergent_value_behind_a_barrier_then_each_lane_has_room() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    (loaded,) = d.get(d.element(pointer, d.id()))
    (same,) = d.get(d.offset(pointer, 64))
    d.barrier()
    use(d, d.add(loaded, same))
    body, regions, _ = cut(d)
    storage = lay_out(body, regions, CHOICES)
    places = {op.args[0]: storage.slots[op.info] for op in body.ops if op.name == "write" and op.info.across}
    assert set(places) == {loaded, same}
    assert places[loaded] % 64 == 0
    assert storage.size == 128
    ends = sorted([(places[loaded], 4 * LANES), (places[same], 8)])
    assert ends[0][0] + ends[0][1] <= ends[1][0]


def test_given_private_memory_and_a_barrier_then_it_outlives_the_barrier() -> None:
    d = Draft()
    array = d.variable(40)
    d.put(d.offset(array, d.mul(d.argument(), d.i64(4))), d.const("i32", 1))
    d.barrier()
    use(d, d.get(array)[0])
    body, regions, _ = cut(d)
    storage = lay_out(body, regions, CHOICES)
    assert list(storage.private) == body.variables
    assert storage.size >= 40 * LANES


def test_given_a_collective_of_the_group_then_its_slot_outlives_the_barrier() -> None:
    d = Draft()
    d.together("reduce", d.id(), operation="add")
    body, regions, _ = cut(d)
    (combine,) = [op.info for op in body.ops if op.name == "barrier"]
    assert isinstance(combine, Combine)
    assert combine.slot.across
    assert combine.slot in lay_out(body, regions, CHOICES).slots
