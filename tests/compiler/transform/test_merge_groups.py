"""Several neighbouring groups as one: the same values and addresses, and strides that go on across the groups."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

import pytest

from anyzero.compiler.ir import Access, Body, Op
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.compiler.transform.merge_groups import APART, merge_groups
from tests.compiler.lowering.draft import Draft, shapes_of
from tests.compiler.translate.machine import Machine, Memory

SIZE, COUNT = 8, 2
Index = Callable[[Draft, Op, Op, Op], Op]
"""Of an element, by the group's and the local id, in i64, and an argument, in i32."""


def writes(index: Index) -> Body:
    """`to[index] = index`."""
    d = Draft()
    to, n = d.argument("ptr"), d.argument("i32", 8)
    found = index(d, d.id("group_id"), d.id("local_id"), n)
    wide = found if found.type == "i64" else d.cast("sext", found, "i64")
    (low,) = [found if found.type == "i32" else d.cast("trunc", found, "i32")]
    d.put(d.element(to, wide), low)
    return d.done()


def value(body: Body, group: int, local: int, n: int) -> tuple[int, int]:
    """The number that is stored, and its address."""
    memory, stored = Memory(), []
    memory.store = lambda address, _, number: stored.append((number, address))  # type: ignore[method-assign]
    ids = {("group_id", 0): group, ("local_id", 0): local}
    Machine(body, struct.pack("<QI", 0, n & 0xFFFFFFFF), memory, builtins=ids).run()
    return stored[0]


def check_same(body: Body, group: int, n: int) -> None:
    merged = merge_groups(body, SIZE, COUNT)
    check(merged)
    for place in range(SIZE * COUNT):
        own = value(body, group + place // SIZE, place % SIZE, n)
        assert value(merged, group, place, n) == own


def narrow(d: Draft, value: Op) -> Op:
    return d.cast("trunc", value, "i32")


def margin(d: Draft, group: Op, local: Op, n: Op) -> Op:
    left = d.sub(narrow(d, d.shl(group, d.i64(3))), d.const("i32", 1))
    return d.add(n, d.add(left, narrow(d, local)))


def next_column(d: Draft, group: Op, local: Op, n: Op) -> Op:
    return d.add(d.add(narrow(d, d.mul(group, d.i64(8))), n), d.add(narrow(d, local), d.const("i32", 8)))


def widened(d: Draft, group: Op, local: Op, _: Op) -> Op:
    return d.add(d.mul(group, d.i64(8)), d.cast("sext", d.add(narrow(d, local), d.const("i32", 8)), "i64"))


def backwards(d: Draft, group: Op, local: Op, n: Op) -> Op:
    return d.sub(d.sub(n, narrow(d, d.mul(group, d.i64(8)))), narrow(d, local))


SUMS: dict[str, tuple[Index, int | None]] = {
    "the place": (lambda d, group, local, _: d.add(d.mul(group, d.i64(8)), local), 1),
    "pairs": (lambda d, group, local, _: d.mul(d.add(d.mul(group, d.i64(8)), local), d.i64(2)), 2),
    "a margin": (margin, 1),
    "the next column": (next_column, 1),
    "a widened id": (widened, 1),
    "backwards": (backwards, -1),
    "a row for each group": (lambda d, group, local, _: d.add(d.mul(group, d.i64(64)), local), None),
    "the local id": (lambda d, _, local, __: d.add(local, d.i64(3)), None),
    "the group": (lambda d, group, _, n: d.add(narrow(d, group), n), None),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_the_same_and_those_with_the_place_stay_strided(name: str) -> None:
    index, stride = SUMS[name]
    for group, n in ((0, 0), (6, 40), (-2 & (1 << 64) - 1, 7), (1 << 28, -5)):
        check_same(writes(index), group, n)
    merged = merge_groups(writes(index), SIZE, COUNT)
    shapes, _ = shapes_of(merged, SIZE * COUNT)
    (store,) = (op for op in merged.ops if op.name == "store")
    assert shapes[store.args[0]].stride == (None if stride is None else 4 * stride)


def random_index(random: Random) -> Index:
    def made(d: Draft, g: Op, i: Op, n: Op) -> Op:
        values = [g, i, n, narrow(d, i), narrow(d, d.mul(g, d.i64(SIZE))), d.mul(g, d.i64(SIZE))]
        for _ in range(random.randint(2, 9)):
            one = random.choice(values)
            same = [each for each in values if each.type == one.type]
            constant = d.const(one.type, random.choice([1, 2, 3, SIZE, -1, -SIZE, 1 << 30, random.getrandbits(40)]))
            match random.choice(["add", "add", "add", "sub", "mul", "shl", "cast"]):
                case "add":
                    values.append(d.add(one, random.choice([*same, constant])))
                case "sub":
                    values.append(d.sub(one, random.choice([*same, constant])))
                case "mul":
                    values.append(d.mul(one, constant))
                case "shl":
                    values.append(d.shl(one, d.const(one.type, random.choice([1, 3, 5]))))
                case _:
                    to = "trunc" if one.type == "i64" else random.choice(["sext", "zext"])
                    values.append(d.cast(to, one, "i32" if one.type == "i64" else "i64"))
        return values[-1]

    return made


@pytest.mark.parametrize("seed", range(150))
def test_random_sums_are_the_same(seed: int) -> None:
    random = Random(seed)
    check_same(writes(random_index(random)), random.choice([0, 2, 1 << 29, 1 << 40]), random.getrandbits(32))


def test_local_memory_of_neighbours_lies_apart() -> None:
    d = Draft()
    tile = d.variable(64, "local")
    d.store(d.element(tile, d.id("local_id")), [d.const("i32", 1)], Access(space="local"))
    d.store(tile, [d.const("i32", 2)], Access(space="local"))
    merged = merge_groups(d.done(), SIZE, COUNT)
    check(merged)
    found = []
    for place in (0, 3, SIZE, SIZE + 3):
        memory, stored = Memory(), []
        memory.store = lambda address, _, __, stored=stored: stored.append(address)  # type: ignore[method-assign]
        machine = Machine(merged, b"", memory, builtins={("local_id", 0): place, ("group_id", 0): 0})
        machine.run()
        found.append([address - machine.local for address in stored])
    assert found == [[0, 0], [12, 0], [SIZE * APART, SIZE * APART], [SIZE * APART + 12, SIZE * APART]]


def test_conditions_are_those_of_the_first_or_the_last_group() -> None:
    group, item, local, n = (
        *(("builtin", (name, 0)) for name in ("group_id", "global_id", "local_id")),
        ("argument", (0, "i64")),
    )
    alone = {((group, 8),): -1, ((n, 1), (item, -1)): -1, ((local, 1),): 5, ((item, 1), (group, -8)): 2}
    merged = Assumptions(dict(alone)).of_neighbours(SIZE, 4)
    assert merged.least == {((group, 8),): -1, ((n, 1), (item, -1)): -25, ((local, 1),): 5, ((item, 1), (group, -8)): 2}
