"""Sign extensions that are written as shifts of 64 bits."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from anyzero.compiler.ir import Body, Op
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.shifts_to_casts import shifts_to_casts
from tests.compiler.lowering.draft import LANES, Draft, shapes_of
from tests.compiler.translate.machine import Machine, Memory

UPPER = 1 << 32
VALUES = (0, 1, 5, 1000, 65535, (1 << 31) - 3, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 64) - 7)

Index = Callable[[Draft, Op], Op]


def shifted(d: Draft, value: Op, by: int = 32, name: str = "ashr") -> Op:
    return d.binary(name, value, d.i64(by))


def up(d: Draft, value: Op) -> Op:
    return d.binary("shl", value, d.i64(32))


INDICES: dict[str, Index] = {
    "sum": lambda d, x: shifted(d, d.add(up(d, x), d.i64(4 * UPPER))),
    "difference": lambda d, x: shifted(d, d.sub(d.i64(9 * UPPER), up(d, x))),
    "bytes": lambda d, x: shifted(d, d.add(up(d, x), d.i64(-UPPER)), 30),
    "product": lambda d, x: shifted(d, d.add(d.mul(x, d.i64(10 * UPPER)), d.i64(UPPER)), 30),
    "unsigned": lambda d, x: shifted(d, d.add(up(d, x), d.i64(3 * UPPER)), 32, "lshr"),
    "unsigned bytes": lambda d, x: shifted(d, up(d, x), 29, "lshr"),
    "two": lambda d, x: shifted(d, d.add(up(d, x), d.mul(d.id("local_id", 1), d.i64(7 * UPPER)))),
}


def body_of(index: Index, what: str = "local_id") -> tuple[Body, Op]:
    d = Draft()
    found = index(d, d.id(what))
    d.put(d.argument("ptr"), found)
    return d.done(), found


def result(body: Body, local: int) -> int:
    memory, place = Memory(), bytearray(8)
    ids = {("local_id", 0): local, ("local_id", 1): 3}
    Machine(body, struct.pack("<Q", memory.place(place)), memory, builtins=ids).run()
    return int.from_bytes(place, "little")


@pytest.mark.parametrize("name", INDICES)
def test_the_value_is_the_same(name: str) -> None:
    body, _ = body_of(INDICES[name])
    wanted = [result(body, value) for value in VALUES]
    shifts_to_casts(body)
    check(body)
    assert not [op for op in body.ops if op.name in ("shl", "ashr", "lshr")]
    assert [result(body, value) for value in VALUES] == wanted


@pytest.mark.parametrize(("name", "stride"), [("sum", 1), ("difference", -1), ("bytes", 4), ("product", 40)])
def test_its_stride_is_known(name: str, stride: int) -> None:
    body, _ = body_of(INDICES[name])
    shifts_to_casts(body)
    (store,) = [op for op in body.ops if op.name == "store"]
    assert shapes_of(body, LANES)[0][store.args[1]].stride == stride


def test_sums_of_local_ids_are_known_not_to_wrap_around() -> None:
    for what, flags in (("local_id", {"nsw"}), ("global_id", {""})):
        body, _ = body_of(INDICES["sum"], what)
        shifts_to_casts(body)
        assert {op.flags for op in body.ops if op.name == "add"} == flags


@pytest.mark.parametrize(
    "index",
    [
        lambda d, x: shifted(d, d.add(up(d, x), d.i64(UPPER + 1))),
        lambda d, x: shifted(d, d.add(up(d, x), x)),
        lambda d, x: shifted(d, up(d, x), 33),
        lambda d, x: shifted(d, up(d, x), 8),
        lambda d, x: shifted(d, d.binary("shl", x, d.i64(31)), 31),
    ],
    ids=["low bits", "no shift", "fewer bits", "far", "odd width"],
)
def test_other_shifts_stay(index: Index) -> None:
    body, _ = body_of(index)
    before = [op.name for op in body.ops]
    shifts_to_casts(body)
    assert [op.name for op in body.ops] == before
