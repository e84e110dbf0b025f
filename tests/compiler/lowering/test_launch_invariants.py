"""Launch invariants, before the work-item loops, and value numbering, in a dominator of all uses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anyzero.compiler.llvm import FLOAT, I1, I32, I64, PTR, Builder, Type, Value
from anyzero.compiler.lower.launch_invariants import LaunchInvariants, ValueNumbering


def _given(b: ValueNumbering, name: str = "x") -> Value:
    return Value(b, f"%{name}", I64)


def _pointer(b: ValueNumbering, name: str = "p") -> Value:
    return Value(b, f"%{name}", PTR)


def _argument(b: ValueNumbering) -> Value:
    return b.load(PTR, _pointer(b, "arguments"), align=8, invariant=True)


def test_given_what_is_made_of_arguments_then_it_is_computed_beforehand() -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    place = b.element("i8", _pointer(b, "arguments"), b.constant(16, I64))
    size = b.load(I32, place, align=4, invariant=True)
    lanes = b.spread(b.cast("sitofp", size + 1, "float"), 8)
    assert not b.lines
    assert before.lines[1] == f"  {size.text} = load i32, ptr {place.text}, align 4, !invariant.load !1"
    assert lanes.type == Type("float", 8)
    assert lanes.text in b.needs


def test_given_two_regions_then_they_share_what_is_computed_beforehand() -> None:
    before = LaunchInvariants()
    builders = [ValueNumbering(before) for _ in range(2)]
    one, other = (_argument(b) for b in builders)
    assert one.text == other.text
    assert len(before.lines) == 1
    # What is made of it goes to the region that asks.
    assert [one.builder, other.builder] == builders


def test_given_another_worker_then_what_is_made_of_it_is_computed_anew() -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    argument = _argument(b)
    local = b.load(PTR, _pointer(b, "worker"), align=8, invariant=True)
    tile = b.element("i8", local, b.load(I64, _pointer(b, "arguments"), align=8, invariant=True))
    made = Builder("e")
    found = before.again(made, [argument, tile], Value(made, "%other", PTR))
    assert found[0].text == argument.text
    assert made.lines[0] == "  %e1 = load ptr, ptr %other, align 8"
    assert made.lines[1].startswith(f"  {found[1].text} = getelementptr i8, ptr %e1, ")


def test_given_an_id_then_what_is_made_of_it_stays_in_the_region() -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    pointer = _argument(b)
    b.element("i8", pointer, _given(b))
    assert len(before.lines) == len(b.lines) == 1


@pytest.mark.parametrize(
    "compute",
    [
        lambda b, p: b.load(FLOAT, p, align=4),
        lambda b, p: b.load(FLOAT, p, align=4, invariant=True),
        lambda b, p: b.load(FLOAT, p, align=4, volatile=True),
        lambda b, p: b.op("load", I32, "atomic i32, ptr %s seq_cst, align 4", p, kind="effect"),
        lambda b, p: b.binary("udiv", b.constant(1, I64), b.cast("ptrtoint", p, "i64")),
        lambda b, p: b.apply("az_image_query", I32, p, also=", i32 0"),
    ],
    ids=["load", "invariant", "volatile", "atomic", "remainder", "call"],
)
def test_given_what_may_fail_or_change_then_it_waits_for_its_turn(
    compute: Callable[[ValueNumbering, Value], Value],
) -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    found = compute(b, _argument(b))
    assert len(b.lines) == 1
    assert f"  {found.text} = " in b.lines[0]


def test_given_nothing_to_compute_beforehand_in_then_everything_stays() -> None:
    b = ValueNumbering()
    assert _argument(b).text == "%v1"


def test_given_the_same_twice_then_it_is_written_once() -> None:
    b = ValueNumbering()
    x = _given(b)
    assert (x + 1).text == (x + 1).text != (x + 2).text
    assert len(b.lines) == 2


def test_given_a_store_between_two_loads_then_both_are_written() -> None:
    b = ValueNumbering()
    first, second = (b.load(I64, _pointer(b)) for _ in range(2))
    b.store(b.constant(0, I64), _pointer(b, "q"))
    assert first.text == second.text != b.load(I64, _pointer(b)).text


def test_given_a_call_between_two_loads_then_both_are_written() -> None:
    b = ValueNumbering()
    first = b.load(I64, _pointer(b))
    b.apply("elsewhere", I32, _pointer(b))
    assert first.text != b.load(I64, _pointer(b)).text


def test_given_atomic_loads_then_all_are_written() -> None:
    b = ValueNumbering()
    first, second = (
        b.op("load", I32, "atomic i32, ptr %s seq_cst, align 4", _pointer(b), kind="effect") for _ in range(2)
    )
    assert first.text != second.text


def test_given_two_ways_then_what_is_known_on_both_is_known_behind_them() -> None:
    b = ValueNumbering()
    x = _given(b)
    common = x + 1
    b.branch(Value(b, "%c", I1), "one", "other")
    b.label("one")
    assert (x + 1).text == common.text
    in_one = x + 2
    b.jump("join")
    b.label("other")
    in_other = x + 2
    assert in_one.text != in_other.text
    b.jump("join")
    b.label("join")
    assert (x + 1).text == common.text
    assert (x + 2).text not in (in_one.text, in_other.text)


def test_given_a_loop_then_what_was_computed_before_it_is_known_in_it() -> None:
    b = ValueNumbering()
    x = _given(b)
    before = x + 1
    b.jump("head")
    b.label("head")
    inside = x + 2
    assert (x + 1).text == before.text
    b.branch(Value(b, "%c", I1), "head", "done", unlikely=True)
    b.label("done")
    assert (x + 2).text == inside.text


def test_given_a_way_that_is_written_later_then_nothing_is_known() -> None:
    b = ValueNumbering()
    x = _given(b)
    before = x + 1
    b.jump("middle")
    b.label("middle", all_ways=False)
    assert (x + 1).text != before.text
