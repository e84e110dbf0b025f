"""Which access a load or store becomes, as LLVM's text shows it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Op
from anyzero.compiler.lower.emitter import Choices
from anyzero.layouts.kernel import GRID_OFFSETS
from tests.compiler.lowering.draft import LANES, TARGET, Draft, text_of_body

Index = Callable[[Draft], Op]


def text_of(draft: Callable[[], Draft], choices: Choices | None = None) -> str:
    """The text of the first region."""
    text = text_of_body(draft().done(), choices or Choices(LANES, TARGET, Options()))
    found = re.search(r"define internal i32 @region0.*?\n}", text, re.DOTALL)
    assert found
    return found[0]


def loading(index: Index, type_: str = "i32", size: int = 4, count: int = 1, choices: Choices | None = None) -> str:
    def draft() -> Draft:
        d = Draft()
        values = d.get(d.element(d.argument("ptr"), index(d), size), type_, count, alignment=size)
        out = d.element(d.argument("ptr", 8), d.id(), 64)
        for place, value in enumerate(values):
            d.put(d.offset(out, 4 * place), value)
        return d

    return text_of(draft, choices)


def calls(text: str) -> list[str]:
    """Intrinsics that read memory, by name."""
    return re.findall(r"call [^@]*@llvm\.(masked\.(?:load|gather)\.\w+)", text)


def plain(text: str) -> int:
    """Loads of single numbers, but for arguments."""
    return len([line for line in text.splitlines() if re.search(r"= load (?!ptr)", line) and "invariant" not in line])


def id_(d: Draft) -> Op:
    return d.id()


def anywhere(d: Draft) -> Op:
    found = d.get(d.element(d.argument("ptr", 16), d.id()), "i32")[0]
    return d.cast("sext", found, "i64")


def test_given_neighbours_then_one_vector_is_loaded() -> None:
    assert calls(loading(id_)) == ["masked.load.v16i32"]


def test_given_one_address_then_one_number_is_loaded() -> None:
    text = loading(lambda d: d.i64(3))
    assert (calls(text), plain(text)) == ([], 1)


def test_given_neighbours_backwards_then_a_vector_is_loaded_and_turned() -> None:
    text = loading(lambda d: d.sub(d.argument("i64", 24), d.id()))
    assert calls(text) == ["masked.load.v16i32"]
    assert re.search(r"shufflevector.*i32 15, i32 14, i32 13", text)


@pytest.mark.parametrize(("step", "loads"), [(2, ["16"] * 2), (3, ["12"] * 4), (4, ["16"] * 4)])
def test_given_small_gaps_then_all_between_is_loaded_by_two_registers_at_a_time(step: int, loads: list[str]) -> None:
    found = calls(loading(lambda d: d.mul(d.id(), d.i64(step))))
    assert found == [f"masked.load.v{lanes}i32" for lanes in loads]


def test_given_large_gaps_then_lanes_are_gathered() -> None:
    assert calls(loading(lambda d: d.mul(d.id(), d.i64(9)))) == ["masked.gather.v16i32"]


def test_given_any_addresses_then_lanes_are_gathered() -> None:
    assert "masked.gather.v16i32" in calls(loading(anywhere))


def test_given_a_target_that_does_not_gather_then_lanes_are_loaded_one_by_one() -> None:
    text = loading(anywhere, choices=Choices(LANES, TARGET, Options(gathers=False)))
    assert not [name for name in calls(text) if "gather" in name]
    assert len(re.findall(r"= load i32, ptr", text)) >= LANES


@pytest.mark.parametrize(("count", "place"), [(1, "global_offset"), (4, "global_offset"), (8, None)])
def test_given_inactive_lanes_then_they_load_zeros_that_most_launches_have(count: int, place: str | None) -> None:
    """The sizes at the beginning of the launch's numbers would be denormal floats."""
    d = Draft()
    values = d.get(d.element(d.argument("ptr"), anywhere(d), 4 * count), "float", count)
    d.put(d.element(d.argument("ptr", 8), d.id()), values[0])
    text = text_of_body(d.done(), Choices(LANES, TARGET, Options(gathers=False)))
    # What launches decide is computed once, in another function.
    spread = re.search(r"%i\d+ = insertelement <16 x ptr> poison, ptr %(\w+), i64 0", text)
    assert spread
    moved = re.search(rf"%{spread[1]} = getelementptr i8, ptr %grid, i64 (\d+)", text)
    assert (int(moved[1]) if moved else 0) == (GRID_OFFSETS[place] if place else 0)


@pytest.mark.parametrize(("type_", "count", "row"), [("float", 4, "<4 x float>"), ("i64", 2, "<2 x i64>")])
def test_given_vectors_anywhere_then_each_lane_loads_one_whole(type_: str, count: int, row: str) -> None:
    text = loading(anywhere, type_, 16, count)
    assert not [name for name in calls(text) if "gather" in name]
    assert text.count(f"= load {row}, ptr") == LANES


def test_given_three_components_in_the_place_of_four_then_whole_registers_are_loaded() -> None:
    assert calls(loading(id_, size=16, count=3)) == ["masked.load.v16i32"] * 4


def test_given_a_structure_of_one_number_and_others_then_the_others_are_left_alone() -> None:
    text = loading(id_, size=12)
    assert calls(text) == ["masked.load.v12i32"] * 4
    assert re.search(r"i1 true, i1 false, i1 false, i1 true", text)


def test_given_an_index_that_may_wrap_then_the_first_lane_that_is_there_says_where_it_is() -> None:
    def wrapping(d: Draft) -> Op:
        return d.cast("sext", d.add(d.cast("trunc", d.id(), "i32"), d.cast("trunc", d.argument(), "i32")), "i64")

    assert calls(loading(wrapping)) == ["masked.load.v16i32"]
    large = Choices(LANES, TARGET, Options(greater_than_4gb=True))
    assert "masked.gather.v16i32" in calls(loading(wrapping, choices=large))


def storing(index: Index, value: Callable[[Draft], Op]) -> str:
    def draft() -> Draft:
        d = Draft()
        d.put(d.element(d.argument("ptr"), index(d)), value(d))
        return d

    return text_of(draft)


def low_half(d: Draft) -> Op:
    return d.cast("trunc", d.id(), "i32")


def test_given_neighbours_then_one_vector_is_stored() -> None:
    assert "@llvm.masked.store.v16i32" in storing(id_, low_half)


def test_given_one_place_and_one_value_then_it_is_stored_once() -> None:
    text = storing(lambda d: d.i64(3), lambda d: d.const("i32", 7))
    assert len(re.findall(r"^  store i32 7,", text, re.MULTILINE)) == 1


def test_given_one_place_and_many_values_then_the_last_lane_that_is_there_wins() -> None:
    text = storing(lambda d: d.i64(3), low_half)
    assert "@llvm.ctlz.i64" in text
    assert len(re.findall(r"^  store i32 ", text, re.MULTILINE)) == 1


def test_given_any_places_then_lanes_are_scattered() -> None:
    assert "@llvm.masked.scatter.v16i32" in storing(anywhere, low_half)


def test_given_one_lane_then_there_are_no_vectors() -> None:
    text = loading(anywhere, choices=Choices(1, TARGET, Options()))
    assert "<" not in text
    assert plain(text) == 2


@pytest.mark.parametrize("how", ["xor", "and", "or", "urem"])
@pytest.mark.parametrize("narrow", [False, True])
def test_given_bits_that_all_lanes_turn_over_then_neighbours_are_asked_for(how: str, narrow: bool) -> None:
    def index(d: Draft) -> Op:
        number, other = (d.cast("trunc", each, "i32") if narrow else each for each in (d.id(), d.argument("i64", 24)))
        found = d.emit(how, number.type, [number, other])
        return d.cast("zext", found, "i64") if narrow else found

    assert calls(loading(index)) == ["masked.load.v16i32", "masked.gather.v16i32"]
    text = storing(index, low_half)
    assert "@llvm.masked.store.v16i32" in text
    assert "@llvm.masked.scatter.v16i32" in text
    # What is compared is the index, not the address that is made of it.
    assert re.search(rf"icmp ne <16 x {'i32' if narrow else 'i64'}>", text)


@pytest.mark.parametrize("how", ["xor", "and", "or"])
def test_given_operands_in_the_other_order_then_neighbours_are_asked_for_as_well(how: str) -> None:
    found = calls(loading(lambda d: d.emit(how, "i64", [d.argument("i64", 24), d.id()])))
    assert found == ["masked.load.v16i32", "masked.gather.v16i32"]


def test_given_the_index_of_a_butterfly_then_neighbours_are_asked_for() -> None:
    """`2 * i - (i & (distance - 1))`, with the negation as a product."""

    def index(d: Draft) -> Op:
        low = d.emit("and", "i64", [d.id(), d.argument("i64", 24)])
        return d.add(d.emit("shl", "i64", [d.id(), d.i64(1)]), d.emit("mul", "i64", [low, d.i64(-1)]))

    assert calls(loading(index)) == ["masked.load.v16i32", "masked.gather.v16i32"]


def test_given_a_large_buffer_then_addresses_are_compared() -> None:
    def index(d: Draft) -> Op:
        return d.cast("zext", d.emit("xor", "i32", [d.cast("trunc", d.id(), "i32"), d.argument("i32", 24)]), "i64")

    large = Choices(LANES, TARGET, Options(greater_than_4gb=True))
    assert re.search(r"icmp ne <16 x i64>", loading(index, choices=large))


@pytest.mark.parametrize(("how", "by", "neighbours"), [
    *(("xor", 16, True), ("xor", 4, False), ("and", 1023, True), ("and", 7 << 4, False)),
    *(("urem", 1000, True), ("urem", 5, False)),
])  # fmt: skip
def test_given_constant_bits_then_neighbours_are_asked_for_only_where_there_may_be_some(
    how: str, by: int, neighbours: bool
) -> None:
    found = calls(loading(lambda d: d.emit(how, "i64", [d.id(), d.i64(by)])))
    assert found == ["masked.load.v16i32"] * neighbours + ["masked.gather.v16i32"]


def test_given_a_stencil_of_clamped_indices_then_rows_share_the_test_of_a_column() -> None:
    def draft() -> Draft:
        d = Draft()
        source, out, width = d.argument("ptr"), d.argument("ptr", 8), d.argument("i32", 16)
        x, y = (d.cast("trunc", d.id("global_id", dimension), "i32") for dimension in (0, 1))
        low = d.const("i32", 0)
        columns = [d.math("s_clamp", "i32", d.add(x, d.const("i32", dx)), low, width) for dx in range(2)]
        for dy in range(3):
            row = d.mul(d.add(y, d.const("i32", dy)), width)
            for dx, column in enumerate(columns):
                (value,) = d.get(d.element(source, d.cast("sext", d.add(row, column), "i64")))
                d.put(d.offset(d.element(out, d.id(), 32), 4 * (2 * dy + dx)), value)
        return d

    text = text_of(draft)
    assert len(re.findall("icmp sle i64", text)) == len(re.findall("icmp sge i64", text)) == 2
    assert "masked.gather" not in text
