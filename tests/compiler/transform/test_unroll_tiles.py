"""Loops that begin with a local id, in groups of a known size."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Body
from anyzero.compiler.lower import register_tiles
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.unroll_tiles import TURNS, unroll_tiles
from benchmarks.kernels.case import MEASURED
from tests.compiler.lowering.draft import Draft, loops_of
from tests.compiler.translate.machine import Machine, Memory

WIDTH = 8
GROUP = (WIDTH, 2, 1)


def filled(step: int, bound: int, used: bool = False, dimension: int = 0) -> Body:
    """Adds up a work-item's counters, which begin with its local id: `do total += i; while ((i += step) < bound)`."""
    d = Draft()
    start = d.cast("trunc", d.id("local_id", dimension), "i32")
    to = d.argument("ptr")
    work, exit_ = d.place(2)
    d.goto(work)
    d.at(work)
    counter, total = d.phi("i32", work), d.phi("i32", work)
    more = d.add(total, counter)
    following = d.add(counter, d.const("i32", step))
    d.branch(d.icmp("slt", following, d.const("i32", bound)), work, exit_)
    counter.args, total.args = [start, following], [d.const("i32", 0), more]
    d.at(exit_)
    d.put(to, more if used else d.joined("i32", exit_, [more]))
    return d.done()


def total(body: Body, local: int, dimension: int = 0) -> int:
    memory, place = Memory(), bytearray(4)
    ids = {("local_id", dimension): local}
    Machine(body, struct.pack("<Q", memory.place(place)), memory, builtins=ids).run()
    return int.from_bytes(place, "little")


@pytest.mark.parametrize(
    ("step", "bound", "comparisons"),
    [(8, 10, 1), (8, 16, 0), (8, 17, 1), (8, 4, 0), (4, 10, 2), (3, 12, 2), (8, 26, 1)],
)
def test_each_work_item_counts_as_before(step: int, bound: int, comparisons: int) -> None:
    body = filled(step, bound)
    wanted = [total(body, local) for local in range(WIDTH)]
    assert wanted == [local + sum(range(local + step, bound, step)) for local in range(WIDTH)]
    assert unroll_tiles(body, GROUP)
    dce(body)
    check(body)
    assert not loops_of(body).all
    assert [total(body, local) for local in range(WIDTH)] == wanted
    compared = [op for op in body.ops if op.name == "icmp"]
    assert len(compared) == comparisons
    # The id itself is compared: the condition is a prefix of the row.
    assert all(op.args[0].name == "cast" and op.args[1].name == "const" for op in compared)


@pytest.mark.parametrize(("step", "bound", "comparisons"), [(2, 3, 1), (2, 4, 0), (1, 3, 1)])
def test_rows_count_as_before(step: int, bound: int, comparisons: int) -> None:
    body = filled(step, bound, dimension=1)
    wanted = [total(body, row, 1) for row in range(GROUP[1])]
    assert unroll_tiles(body, GROUP)
    dce(body)
    check(body)
    assert not loops_of(body).all
    assert [total(body, row, 1) for row in range(GROUP[1])] == wanted
    assert sum(op.name == "icmp" for op in body.ops) == comparisons


@pytest.mark.parametrize(
    "body",
    [filled(1, WIDTH + TURNS), filled(8, 10, used=True), filled(-8, 10)],
    ids=["long", "used behind", "downwards"],
)
def test_other_loops_stay(body: Body) -> None:
    assert not unroll_tiles(body, GROUP)
    assert len(loops_of(body).all) == 1


def test_a_tile_is_filled_by_whole_vectors_and_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A masked store would not be forwarded to the loads behind the barrier."""
    monkeypatch.setattr(register_tiles, "VECTORS", 0)  # the tile is in memory, as in groups of many vectors
    monkeypatch.setenv("ANYZERO_DUMP", str(tmp_path))
    module = read((MEASURED / "shapes.spv").read_bytes())
    pipeline.compile_kernel(module, "smooth", Options(level=1, group=(8, 8, 1), lanes=8))
    assert "store <2 x float>" in (tmp_path / "smooth.ll").read_text()
