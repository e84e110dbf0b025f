"""Sums of 32 bits that are added with 64."""

from __future__ import annotations

import struct

import pytest

from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.widen_sums import widen_sums
from benchmarks.kernels.case import MEASURED
from tests.compiler.lowering.draft import LANES, Draft
from tests.compiler.translate.machine import Machine, Memory


def widened(body: Body) -> int:
    return sum(op.name == "cast" and op.info == "sext" for op in body.ops)


def run(body: Body, flat: bool = True) -> dict[Op, tuple[int | None, bool]]:
    """The pass; the shapes of addresses afterwards."""
    flow = loop_simplify(body)
    shapes = analyse(body, flow, LANES, flat=flat)
    widen_sums(body, shapes, flat)
    check(body)
    fresh = analyse(body, loop_simplify(body), LANES, flat=flat)
    for op in body.ops:
        assert shapes[op] == fresh[op], op
    return {op: tuple(fresh[op]) for op in body.ops if op.name == "offset"}


def neighbours(flags: str, row: str = "argument") -> Body:
    """`to[k] = from[(y * 10 + 3) + (x + k) * 1 - n]` for three neighbours, and where y is as given."""
    d = Draft()
    to, source = d.argument("ptr"), d.argument("ptr", 8)
    n = d.argument("i32", 16)
    x = d.cast("trunc", d.id("global_id"), "i32")
    y = n if row == "argument" else d.cast("trunc", d.id("global_id", 1), "i32")
    line = d.add(d.mul(y, d.const("i32", 10), flags), d.const("i32", 3), flags)
    for place in range(3):
        index = d.sub(d.add(line, d.add(x, d.const("i32", place), flags), flags), n, flags)
        (value,) = d.get(d.element(source, d.cast("sext", index, "i64")))
        d.put(d.offset(to, 4 * place), value)
    return d.done()


def results(body: Body, x: int, y: int, n: int) -> bytes:
    memory, found = Memory(), bytearray(12)
    places = memory.place(found), memory.place(struct.pack("<64i", *range(100, 164)))
    arguments = struct.pack("<QQi", *places, n)
    Machine(body, arguments, memory, builtins={("global_id", 0): x, ("global_id", 1): y}).run()
    return bytes(found)


@pytest.mark.parametrize("row", ["argument", "id"])
def test_neighbours_share_an_index_and_give_the_same(row: str) -> None:
    body, before = neighbours("nsw", row), neighbours("nsw", row)
    assert widened(body) == 3
    shapes = run(body)
    # The id, the row and what is subtracted.
    assert widened(body) <= 3
    assert len({op.args[0] for op in body.ops if op.name == "add" and op.args[1].name == "const"}) == 1
    for x, y, n in ((0, 0, 2), (5, 1, 3), (17, 2, 0), (2, 4, 6)):
        assert results(body, x, y, n) == results(before, x, y, n)
    # Lanes of a sum with an id are exactly as far apart as those of the id.
    assert {shape for shape in shapes.values() if shape[0]} == {(4, True)}


def test_sums_that_may_wrap_around_stay() -> None:
    body = neighbours("")
    run(body)
    assert widened(body) == 3
    assert all(op.type == "i32" for op in body.ops if op.name == "sub")


def test_ids_that_may_wrap_around_are_not_exact() -> None:
    assert {shape for shape in run(neighbours("nsw"), flat=False).values() if shape[0]} == {(4, False)}


def test_varying_indices_stay_narrow() -> None:
    d = Draft()
    to, source = d.argument("ptr"), d.argument("ptr", 8)
    (index,) = d.get(d.element(source, d.id()))
    d.put(d.element(to, d.cast("sext", d.add(index, d.const("i32", 1), "nsw"), "i64")), index)
    body = d.done()
    run(body)
    (cast,) = [op for op in body.ops if op.name == "cast"]
    assert cast.args[0].name == "add"


def test_seven_points_have_five_sums() -> None:
    """Those along the row differ in their displacement alone."""
    body = simplified(read((MEASURED / "shapes.spv").read_bytes()), "diffuse").body
    addresses = {op.args[0] for op in body.ops if op.name == "load"}
    run(body)
    sums = {op.args[1].args[0] for op in body.ops if op.name == "offset"}
    plain = {op.args[0] if op.name == "add" and op.args[1].name == "const" else op for op in sums}
    assert (len(addresses), len(sums), len(plain)) == (7, 7, 5)
