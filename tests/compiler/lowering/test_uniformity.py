"""How values differ between lanes."""

from __future__ import annotations

import pytest

from anyzero.compiler.analysis.uniformity import UNIFORM, VARYING, Finding, Flow, Shape, Shapes
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Op
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.loop_simplify import loop_simplify
from benchmarks.kernels.case import FOLDER
from tests.compiler.lowering.draft import LANES, Draft, loops_of, shape_of, shapes_of


def low_half(d: Draft) -> Op:
    return d.cast("trunc", d.id(), "i32")


@pytest.mark.parametrize(
    ("what", "dimension", "expected"),
    [
        ("global_id", 0, Shape(1)),
        ("global_id", 1, UNIFORM),
        ("local_id", 0, Shape(1)),
        ("local_id", 2, UNIFORM),
        ("group_id", 0, UNIFORM),
        ("sub_group_local_id", 0, Shape(1)),
        ("sub_group_id", 0, UNIFORM),
    ],
)
def test_given_an_id_then_lanes_are_neighbours_along_the_first_dimension(
    what: str, dimension: int, expected: Shape
) -> None:
    d = Draft()
    assert shape_of(d, d.id(what, dimension)) == expected


def test_given_one_lane_then_everything_is_uniform() -> None:
    d = Draft()
    op = d.id()
    assert shapes_of(d.done(), lanes=1)[0][op] == UNIFORM


def test_given_an_affine_index_then_its_stride_is_known() -> None:
    d = Draft()
    index = d.sub(d.argument(), d.mul(d.add(d.id(), d.i64(5)), d.i64(12)))
    assert shape_of(d, index) == Shape(-12)


def test_given_an_id_times_something_unknown_then_it_varies() -> None:
    d = Draft()
    assert shape_of(d, d.mul(d.id(), d.argument())) == VARYING


def test_given_the_same_stride_twice_then_the_difference_is_uniform() -> None:
    d = Draft()
    assert shape_of(d, d.sub(d.id(), d.id("local_id"))) == UNIFORM


def test_given_all_bits_turned_over_then_the_stride_is_too() -> None:
    d = Draft()
    assert shape_of(d, d.xor(d.mul(d.id(), d.i64(4)), d.i64(-1))) == Shape(-4)


def test_given_an_or_of_bits_that_are_zero_then_it_is_a_sum() -> None:
    d = Draft()
    assert shape_of(d, d.or_(d.shl(d.id(), d.i64(2)), d.i64(3))) == Shape(4)


def test_given_an_or_of_bits_that_may_be_set_then_it_varies() -> None:
    d = Draft()
    assert shape_of(d, d.or_(d.shl(d.id(), d.i64(2)), d.i64(4))) == VARYING


@pytest.mark.parametrize(
    ("operation", "by", "expected"),
    [
        ("and_", LANES * 2 - 1, Shape(1)),
        ("and_", LANES, UNIFORM),
        ("and_", LANES // 2 - 1, VARYING),
        ("lshr", LANES.bit_length() - 1, UNIFORM),
        ("lshr", 1, VARYING),
        ("or_", LANES * 4, Shape(1)),
        ("or_", LANES // 2, VARYING),
    ],
)
def test_given_a_local_id_then_lanes_have_the_low_bits_to_themselves(operation: str, by: int, expected: Shape) -> None:
    d = Draft()
    assert shape_of(d, getattr(d, operation)(d.id("local_id"), d.i64(by))) == expected


def test_given_a_global_id_then_any_bit_may_be_set() -> None:
    d = Draft()
    assert shape_of(d, d.lshr(d.id(), d.i64(5))) == VARYING


def test_given_the_low_byte_of_a_multiple_of_256_then_it_is_uniform() -> None:
    d = Draft()
    assert shape_of(d, d.cast("trunc", d.mul(d.id(), d.i64(256)), "i8")) == UNIFORM


def test_given_a_widened_byte_then_it_varies() -> None:
    d = Draft()
    assert shape_of(d, d.cast("zext", d.cast("trunc", d.id(), "i8"), "i64")) == VARYING


@pytest.mark.parametrize("kind", ["sext", "zext"])
def test_given_a_widened_sum_of_32_bits_then_no_lane_follows_from_another(kind: str) -> None:
    d = Draft()
    assert shape_of(d, d.cast(kind, d.add(low_half(d), d.const("i32", 7)), "i64")) == Shape(1, exact=False)


def test_given_two_widened_sums_then_their_difference_is_not_uniform() -> None:
    d = Draft()
    a, b = (d.cast("sext", d.add(low_half(d), d.const("i32", by)), "i64") for by in (0x7FFFFFF0, 3))
    assert shape_of(d, d.sub(a, b)) == VARYING


def test_given_a_load_then_it_is_as_uniform_as_its_address() -> None:
    d = Draft()
    pointer = d.argument("ptr")
    same, other = d.get(pointer)[0], d.get(d.element(pointer, d.id()))[0]
    shapes, _ = shapes_of(d.done())
    assert (shapes[same], shapes[other]) == (UNIFORM, VARYING)


def test_given_an_atomic_then_each_lane_finds_something_else() -> None:
    d = Draft()
    assert shape_of(d, d.count_up(d.argument("ptr"), d.i64(1))) == VARYING


def test_given_a_private_variable_then_lanes_have_one_after_the_other() -> None:
    d = Draft()
    assert shape_of(d, d.variable(24)) == Shape(24)


def test_given_a_uniform_choice_between_strides_then_they_have_to_agree() -> None:
    d = Draft()
    choice = d.icmp("eq", d.argument(), d.i64(0))
    same = d.select(choice, d.id(), d.id("local_id"))
    other = d.select(choice, d.id(), d.mul(d.id(), d.i64(2)))
    shapes, _ = shapes_of(d.done())
    assert (shapes[same], shapes[other]) == (Shape(1), VARYING)


def test_given_a_choice_by_each_lane_then_it_varies() -> None:
    d = Draft()
    assert shape_of(d, d.select(d.below(d.id(), 7), d.i64(1), d.i64(2))) == VARYING


def joined(d: Draft, condition: Op) -> Op:
    """1 or 2, by a branch."""
    then, otherwise, join = d.if_(condition)
    for block in (then, otherwise):
        d.at(block)
        d.goto(join)
    d.at(join)
    return d.joined("i64", join, [d.i64(1), d.i64(2)])


def test_given_lanes_that_part_and_meet_then_what_they_bring_varies() -> None:
    d = Draft()
    branches = d.block
    phi = joined(d, d.below(d.id(), 7))
    shapes, _ = shapes_of(d.done())
    assert shapes[phi] == VARYING
    assert shapes.divergent == {branches}
    assert phi.block in shapes.joins


def test_given_lanes_that_stay_together_then_what_they_bring_is_uniform() -> None:
    d = Draft()
    phi = joined(d, d.below(d.argument(), 7))
    shapes, _ = shapes_of(d.done())
    assert shapes[phi] == UNIFORM
    assert not shapes.divergent
    assert not shapes.joins


def counted(d: Draft, turns: Op, leave: Op | None = None) -> tuple[Op, Op]:
    """A loop; `leave` is a condition to break. The counter inside, and the same as it is seen behind."""
    header, body, exit_ = d.place(3)
    before = d.block
    d.goto(header)
    d.at(header)
    counter = d.phi("i64", header)
    d.branch(d.icmp("slt", counter, turns), body, exit_)
    d.at(body)
    following = d.add(counter, d.i64(1))
    if leave is not None:
        (rest,) = d.place()
        d.branch(leave, exit_, rest)
        d.at(rest)
    d.goto(header)
    counter.args = [d.i64(0), following]
    assert header.predecessors == [before, d.block]
    d.at(exit_)
    return counter, d.add(counter, d.i64(0x1000))


def test_given_a_loop_of_uniform_length_then_its_counter_is_uniform() -> None:
    d = Draft()
    inside, behind = counted(d, d.argument())
    shapes, _ = shapes_of(d.done())
    assert (shapes[inside], shapes[behind]) == (UNIFORM, UNIFORM)
    assert not shapes.divergent_loops


def test_given_a_loop_that_lanes_leave_one_by_one_then_its_counter_varies_only_behind_it() -> None:
    d = Draft()
    inside, behind = counted(d, d.id())
    shapes, flow = shapes_of(d.done())
    assert (shapes[inside], shapes[behind]) == (UNIFORM, VARYING)
    assert shapes.divergent_loops == set(flow.loops.all)


def test_given_a_break_by_some_lanes_then_the_loop_is_left_one_by_one() -> None:
    d = Draft()
    _, behind = counted(d, d.argument(), leave=d.below(d.id(), 7))
    shapes, flow = shapes_of(d.done())
    assert shapes[behind] == VARYING
    assert shapes.divergent_loops == set(flow.loops.all)


def test_given_a_uniform_loop_in_one_side_of_a_branch_then_it_is_left_together() -> None:
    d = Draft()
    then, otherwise, join = d.if_(d.below(d.id(), 7))
    d.at(then)
    inside, behind = counted(d, d.argument())
    d.goto(join)
    d.at(otherwise)
    d.goto(join)
    d.at(join)
    shapes, _ = shapes_of(d.done())
    assert not shapes.divergent_loops
    assert (shapes[inside], shapes[behind]) == (UNIFORM, UNIFORM)


def test_given_a_value_of_all_lanes_together_then_it_is_uniform() -> None:
    d = Draft()
    total = d.together("reduce", d.id(), operation="add", scope="sub_group")
    scan = d.together("inclusive", d.id(), operation="add", scope="sub_group")
    shapes, _ = shapes_of(d.done())
    assert (shapes[total], shapes[scan]) == (UNIFORM, VARYING)


def test_given_a_loop_behind_a_loop_then_what_follows_is_anchored_before_both() -> None:
    d = Draft()
    entry, (first, second, end) = d.block, d.place(3)
    condition = d.below(d.id(), 7)
    d.goto(first)
    for block, following in ((first, second), (second, end)):
        d.at(block)
        d.branch(condition, block, following)
    d.at(end)
    body = d.done()
    # Without the preheader that loops get otherwise.
    flow = Flow(body, loops_of(body), dominators(entry, lambda block: block.successors))
    assert flow.anchor(end) is entry


class Counting(Finding):
    rounds = 0

    def _round(self) -> bool:
        self.rounds += 1
        return super()._round()


@pytest.mark.parametrize("file", ["control_flow.O0", "control_flow", "mandelbrot", "scan", "spmv"])
def test_given_a_result_then_another_round_changes_nothing(file: str) -> None:
    module = read((FOLDER / f"{file}.spv").read_bytes())
    for name in module.kernels:
        body = simplified(module, name).body
        flow = loop_simplify(body)
        shapes = Shapes()
        finding = Counting(body, flow, shapes, LANES, False, True)
        finding.run()
        assert flow.loops.all or finding.rounds == 1
        found = [dict(shapes.of), set(shapes.divergent), set(shapes.divergent_loops), set(shapes.joins)]
        finding._round()
        assert found == [shapes.of, shapes.divergent, shapes.divergent_loops, shapes.joins]
