"""Regions that are cut where ways from several barriers join."""

from __future__ import annotations

from pathlib import Path

from anyzero.compiler import pipeline
from anyzero.compiler.analysis.group_uniformity import group_uniform
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Op
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.lockstep_schedule import END, Schedule, schedule_lockstep
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.linearise import connect, linearise
from anyzero.compiler.transform.regions import Region, split
from anyzero.compiler.transform.split_at_joins import split_at_joins
from anyzero.compiler.transform.ssa_repair import repair_ssa
from tests.compiler.lowering.draft import LANES, TARGET, Draft, check_with_slots, flow_of, shapes_of, text_of_body

KERNELS = Path(__file__).parents[2] / "kernels"


def cut(d: Draft) -> tuple[list[Region], Schedule]:
    body = d.done()
    same = group_uniform(body, flow_of(body))
    shapes, flow = shapes_of(body)
    masks = linearise(body, flow, shapes)
    connect(body)
    repair_ssa(body, shapes, masks)
    regions = split(body, shapes, masks)
    schedule = schedule_lockstep(regions, same, shapes)
    assert schedule is not None
    regions = split_at_joins(body, regions, shapes, masks, schedule.known)
    check_with_slots(body)
    schedule = schedule_lockstep(regions, same, shapes)
    assert schedule is not None
    return regions, schedule


def store(d: Draft, value: Op | None = None) -> None:
    d.put(d.element(d.argument("ptr"), d.id("local_id")), value or d.const("i32", 1))


def stores(regions: list[Region]) -> list[int]:
    return [sum(op.name == "store" for block in region.blocks for op in block.ops) for region in regions]


def counted(d: Draft, before: Op | None = None, carried: bool = False) -> None:
    """Asks at its end whether there is another turn, as compilers write loops that run at least once."""
    body, behind = d.place(2)
    d.goto(body)
    counter = d.phi("i64", body)
    kept = d.phi("i32", body) if carried else None
    d.at(body)
    store(d, kept)
    [found] = d.get(d.element(d.argument("ptr"), d.id("local_id")))
    d.barrier()
    if before is not None:
        store(d, before)
    following = d.add(counter, d.i64(1))
    d.branch(d.icmp("slt", following, d.argument()), body, behind)
    counter.args = [d.i64(0), following]
    if kept is not None:
        kept.args = [d.const("i32", 0), found]
    d.at(behind)
    store(d)


def test_given_a_loop_with_a_barrier_then_its_body_is_written_once() -> None:
    d = Draft()
    d.barrier()
    counted(d)
    regions, schedule = cut(d)
    # In front of the loop, its end of a turn, its body, and what is behind it.
    assert stores(regions) == [0, 0, 0, 1, 1]
    assert [step.idle for step in schedule.steps] == [True, True, True, False, False]
    assert [step.next for step in schedule.steps] == [[1], [3], [3, 4], [2], [END]]


def test_given_work_in_front_of_the_joint_then_it_is_not_cut() -> None:
    d = Draft()
    d.barrier()
    counted(d, before=d.const("i32", 5))
    regions, schedule = cut(d)
    # The body with what is in front of the loop; with the end of a turn; and what is behind the loop.
    assert stores(regions) == [0, 1, 3]
    assert [step.idle for step in schedule.steps] == [True, False, False]


def test_given_something_that_vectors_take_along_then_it_is_not_cut() -> None:
    d = Draft()
    d.barrier()
    counted(d, carried=True)
    assert stores(cut(d)[0]) == [0, 1, 2]


def test_given_the_same_kernel_then_regions_have_the_same_numbers_each_time() -> None:
    module = read((KERNELS / "reduction.spv").read_bytes())
    kept = []

    def text(number: int) -> str:
        # Elsewhere in memory each time.
        kept.append([object() for _ in range(7 * number)])
        body = pipeline.simplified(module, "reduce_int").body
        return text_of_body(body, Choices(LANES, TARGET, Options()))

    assert len({text(number) for number in range(20)}) == 1
