"""What is written once: in front of the loops over work-items, or in front of all who ask for it."""

from __future__ import annotations

import pytest

from anyzero.compiler.llvm import FLOAT, I32, I64, PTR, Type, Value
from anyzero.compiler.lower.launch_invariants import LaunchInvariants, ValueNumbering

ARGUMENT = "load ptr, ptr %arguments, align 8, !invariant.load !1"


def _given(b: ValueNumbering, name: str = "x") -> Value:
    return Value(b, f"%{name}", I64)


def test_given_what_is_made_of_arguments_then_it_is_computed_beforehand() -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    place = b.op("getelementptr i8, ptr %arguments, i64 16", PTR)
    size = b.op(f"load i32, {place.typed}, align 4, !invariant.load !1", I32)
    lanes = b.spread(b.cast("sitofp", size + 1, "float"), 8)
    assert not b.lines
    assert before.lines[1] == f"  {size.text} = load i32, ptr {place.text}, align 4, !invariant.load !1"
    assert lanes.type == Type("float", 8)
    assert lanes.text in b.needs


def test_given_two_regions_then_they_share_what_is_computed_beforehand() -> None:
    before = LaunchInvariants()
    builders = [ValueNumbering(before) for _ in range(2)]
    one, other = (b.op(ARGUMENT, PTR) for b in builders)
    assert one.text == other.text
    assert len(before.lines) == 1
    # What is made of it goes to the region that asks.
    assert [one.builder, other.builder] == builders


def test_given_an_id_then_what_is_made_of_it_stays_in_the_region() -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    pointer = b.op(ARGUMENT, PTR)
    b.op(f"getelementptr i8, {pointer.typed}, {_given(b).typed}", PTR)
    assert len(before.lines) == len(b.lines) == 1


@pytest.mark.parametrize(
    "text",
    [
        "load float, ptr {}, align 4",
        "load float, ptr {}, align 4, !invariant.load !1",
        "load atomic i32, ptr {} seq_cst, align 4",
        "udiv i64 1, {}",
        "call i32 @az_image_query(ptr {}, i32 0)",
    ],
)
def test_given_what_may_fail_or_change_then_it_waits_for_its_turn(text: str) -> None:
    before = LaunchInvariants()
    b = ValueNumbering(before)
    pointer = b.op(ARGUMENT, PTR)
    b.op(text.format(pointer.text), FLOAT)
    assert len(before.lines) == len(b.lines) == 1


def test_given_nothing_to_compute_beforehand_in_then_everything_stays() -> None:
    b = ValueNumbering()
    assert b.op(ARGUMENT, PTR).text == "%v1"


def test_given_the_same_twice_then_it_is_written_once() -> None:
    b = ValueNumbering()
    x = _given(b)
    assert (x + 1).text == (x + 1).text != (x + 2).text
    assert len(b.lines) == 2


def test_given_a_store_between_two_loads_then_both_are_written() -> None:
    b = ValueNumbering()
    first, second = (b.op("load i64, ptr %p", I64) for _ in range(2))
    b.line("store i64 0, ptr %q")
    assert first.text == second.text != b.op("load i64, ptr %p", I64).text


def test_given_a_call_between_two_loads_then_both_are_written() -> None:
    b = ValueNumbering()
    first = b.op("load i64, ptr %p", I64)
    b.op("call i32 @somebody(ptr %p)", I32)
    assert first.text != b.op("load i64, ptr %p", I64).text


def test_given_atomic_loads_then_all_are_written() -> None:
    b = ValueNumbering()
    text = "load atomic i32, ptr %p seq_cst, align 4"
    assert b.op(text, I32).text != b.op(text, I32).text


def test_given_two_ways_then_what_is_known_on_both_is_known_behind_them() -> None:
    b = ValueNumbering()
    x = _given(b)
    common = x + 1
    b.line("br i1 %c, label %one, label %other")
    b.label("one")
    assert (x + 1).text == common.text
    in_one = x + 2
    b.line("br label %join")
    b.label("other")
    in_other = x + 2
    assert in_one.text != in_other.text
    b.line("br label %join")
    b.label("join")
    assert (x + 1).text == common.text
    assert (x + 2).text not in (in_one.text, in_other.text)


def test_given_a_loop_then_what_was_computed_before_it_is_known_in_it() -> None:
    b = ValueNumbering()
    x = _given(b)
    before = x + 1
    b.line("br label %head")
    b.label("head")
    inside = x + 2
    assert (x + 1).text == before.text
    b.line("br i1 %c, label %head, label %done, !prof !0")
    b.label("done")
    assert (x + 2).text == inside.text


def test_given_a_way_that_is_written_later_then_nothing_is_known() -> None:
    b = ValueNumbering()
    x = _given(b)
    before = x + 1
    b.line("br label %middle")
    b.label("middle", all_ways=False)
    assert (x + 1).text != before.text
