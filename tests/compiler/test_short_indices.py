"""Indices of 16 bits, as in tiles of local memory: known bits, and constant distances that follow from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.analysis.distances import address_of
from anyzero.compiler.analysis.known_bits import possible_bits
from anyzero.compiler.ir import SIZES, Op

BASE = Op("local_argument", "ptr", [], 0)
LOCAL_ID = Op("builtin", "i64", [], ("local_id", 0))


def _const(type_: str, number: int) -> Op:
    return Op("const", type_, [], number & _every(type_))


def _every(type_: str) -> int:
    return (1 << 8 * SIZES[type_]) - 1


def _value(op: Op, local_id: int) -> int:
    if op.name == "const":
        return int(op.info)
    if op.name == "builtin":
        return local_id
    first, *rest = (_value(arg, local_id) for arg in op.args)
    if op.name == "cast":
        sign = 1 << 8 * SIZES[op.args[0].type] - 1
        return (first - 2 * (first & sign) if op.info == "sext" else first) & _every(op.type)
    by = rest[0]
    found = {"add": first + by, "and": first & by, "or": first | by, "xor": first ^ by}
    found |= {"shl": first << by, "lshr": first >> by, "mul": first * by} if by < 64 else {}
    return found[op.name] & _every(op.type)


@st.composite
def indices(draw: st.DrawFn, depth: int = 4) -> Op:
    """A 32-bit value that is computed from the local id."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return Op("cast", "i32", [LOCAL_ID], "trunc")
    inner = draw(indices(depth=depth - 1))
    name = draw(st.sampled_from(["add", "and", "or", "xor", "shl", "lshr", "both"]))
    if name == "both":
        return Op("add", "i32", [inner, draw(indices(depth=depth - 1))])
    by = draw(st.integers(0, 12) if name in ("shl", "lshr") else st.sampled_from([1, 7, 0x1F, 0x20, 0x380, 0xFFF80007]))
    return Op(name, "i32", [inner, _const("i32", by)])


@given(indices(), st.integers(0, 1023))
def test_no_other_bits_are_set(index: Op, local_id: int) -> None:
    short = Op("cast", "i16", [index], "trunc")
    for op in (index, short, Op("cast", "i64", [short], "sext"), Op("cast", "i64", [index], "sext")):
        assert not _value(op, local_id) & ~possible_bits(op)


def _address(index: Op, name: str, by: int) -> Op:
    short = Op("cast", "i16", [index], "trunc")
    moved = Op(name, "i16", [short, _const("i16", by)])
    return Op("offset", "ptr", [BASE, Op("mul", "i64", [Op("cast", "i64", [moved], "zext"), _const("i64", 4)])])


CHANGES = st.tuples(st.sampled_from(["add", "or"]), st.sampled_from([0, 1, 2, 3, 0x20, 0x43, 0x63, 0x400, 0xFFFF]))


@given(indices(), CHANGES, CHANGES, st.integers(0, 1023))
def test_distances_are_those_of_the_values(
    index: Op, one: tuple[str, int], other: tuple[str, int], local_id: int
) -> None:
    """Sums of 16 bits wrap around in the kernel: addresses with the same key must be apart by their constants."""
    pointers = [_address(index, *each) for each in (one, other)]
    first, second = (address_of(each) for each in pointers)
    if first.key == second.key:
        values = [_value(each.args[1], local_id) for each in pointers]
        assert values[1] - values[0] == second.constant - first.constant


def _tile(mask: int) -> Op:
    """`(id & mask) * 4 + (id >> 3) * 128`, in 32 bits."""
    id_ = Op("cast", "i32", [LOCAL_ID], "trunc")
    column = Op("shl", "i32", [Op("and", "i32", [id_, _const("i32", mask)]), _const("i32", 2)])
    row = Op("shl", "i32", [Op("lshr", "i32", [id_, _const("i32", 3)]), _const("i32", 7)])
    return Op("add", "i32", [column, row])


def test_elements_of_a_tile_lie_a_constant_apart() -> None:
    tile = _tile(7)
    places = [address_of(_address(tile, "or", by)) for by in (0, 1, 0x20, 0x63)]
    assert len({place.key for place in places}) == 1
    assert [place.constant for place in places] == [0, 4, 0x80, 0x18C]


def test_bits_that_meet_are_no_sum() -> None:
    tile = _tile(15)
    none, some = (address_of(_address(tile, "or", by)) for by in (0, 0x20))
    assert none.key != some.key
