"""Tiles that are written element by element, each behind bounds checks of its own: straight code for whole tiles."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.analysis.aliases import NOTHING_KNOWN, Aliases
from anyzero.compiler.analysis.uniformity import Shapes, analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Access, Body
from anyzero.compiler.reference import run
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.merge_accesses import merge_accesses
from anyzero.compiler.transform.version_guards import chains, version_guards
from tests.compiler.lowering.draft import LANES, Draft
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

COLUMNS, ROWS = 4, 2


@cache
def _tiles(again: bool) -> Module:
    """Work-item i adds to rows 2i and 2i + 1 of columns 0 … 3: `if (n > c) { if (m > r) to[c * pitch + r] += … }`, with
    the address carried from column to column. Where asked, the second row reads what the first wrote.
    """
    lines = [
        "%two = OpIMul %i64 %i %l2x",
        "%left = OpISub %i64 %p1 %two",
        "%index = OpSConvert %i32 %left",
        "OpBranch %column0",
    ]
    place = "%two"
    for column in range(COLUMNS):
        previous = "%entry" if column == 0 else f"%next{column - 1}"
        lines += [f"%column{column} = OpLabel"]
        if column:
            phi = f"%place{column} = OpPhi %i64 {place} %column{column - 1} %after{column - 1} {previous}"
            lines.append(phi)
            place = f"%place{column}"
        lines += [
            f"%more{column} = OpSGreaterThan %bool %p2 %n{column}",
            f"OpBranchConditional %more{column} %inside{column} %column{column + 1}",
            f"%inside{column} = OpLabel",
        ]
        for row in range(ROWS):
            name = f"{column}_{row}"
            back = 0 if again else row
            lines += [
                f"OpBranch %row{name}",
                f"%row{name} = OpLabel",
                f"%below{name} = OpSGreaterThan %bool %left %n{row}",
                f"OpBranchConditional %below{name} %do{name} %done{name}",
                f"%do{name} = OpLabel",
                f"%at{name} = OpIAdd %i64 {place} %n{row}",
                f"%from{name} = OpIAdd %i64 {place} %n{back}",
                f"%pointer{name} = OpInBoundsPtrAccessChain %global_i32 %p0 %at{name}",
                f"%read{name} = OpInBoundsPtrAccessChain %global_i32 %p0 %from{name}",
                f"%old{name} = OpLoad %i32 %read{name} Aligned 4",
                f"%new{name} = OpIAdd %i32 %old{name} %index",
                f"OpStore %pointer{name} %new{name} Aligned 4",
                f"OpBranch %done{name}",
                f"%done{name} = OpLabel",
            ]
        lines += [
            f"%after{column} = OpIAdd %i64 {place} %p3",
            f"OpBranch %next{column}",
            f"%next{column} = OpLabel",
            f"OpBranch %column{column + 1}",
        ]
    lines.append(f"%column{COLUMNS} = OpLabel")
    numbers = "\n".join(f"%n{number} = OpConstant %i64 {number}" for number in range(COLUMNS))
    return kernel("\n".join(lines), "%global_i32 %i64 %i64 %i64", f"{numbers}\n%l2x = OpConstant %i64 2")


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("target", ["haswell", "x86-64-v2", ""])
@pytest.mark.parametrize(("rows", "columns"), [(64, 4), (64, 3), (63, 4), (31, 4), (1, 1), (0, 4), (64, 0), (90, 9)])
def test_tiles_are_written_as_far_as_they_reach(rows: int, columns: int, target: str, again: bool) -> None:
    module = _tiles(again)
    pitch = 70
    wanted = np.arange(pitch * COLUMNS, dtype=np.int32)
    found = wanted.copy()
    run(module, "main", [wanted, rows, columns, pitch], (32,), (16,))
    Loaded(pipeline.compile_kernel(module, "main", Options(level=1, cpu=target)))(
        [found, rows, columns, pitch], (32,), (16,)
    )
    assert found.tolist() == wanted.tolist()


def _versioned(body: Body) -> tuple[bool, Shapes]:
    flow = loop_simplify(body)
    made = version_guards(body, list(chains(body, flow)), analyse(body, flow, LANES))
    flow = loop_simplify(body)
    check(body)
    return made, analyse(body, flow, LANES)


def test_given_a_chain_of_checks_then_one_test_chooses_straight_code_with_joint_accesses() -> None:
    body = pipeline.simplified(_tiles(False), "main").body
    made, shapes = _versioned(body)
    assert made
    (vote,) = [op for op in body.ops if op.name == "any"]
    assert vote.block is not None
    straight = vote.block.successors[1]
    assert len(straight.successors) == 1
    merge_accesses(body, shapes, LANES, Aliases(NOTHING_KNOWN))
    check(body)
    accesses = [op for op in straight.ops if op.name in ("load", "store")]
    assert [(op.name, op.info.count) for op in accesses] == COLUMNS * [("load", ROWS), ("store", ROWS)]


def test_given_a_load_of_what_was_stored_before_then_loads_stay_apart() -> None:
    body = pipeline.simplified(_tiles(True), "main").body
    _, shapes = _versioned(body)
    merge_accesses(body, shapes, LANES, Aliases(NOTHING_KNOWN))
    assert all(op.info.count == 1 for op in body.ops if op.name == "load")


def _guarded(count: int, loaded: bool = False) -> Body:
    """`if (value > k) to[i] = k`, for k from 0 on; the value is the id, or loaded in each step."""
    d = Draft()
    number = d.id()
    pointer = d.element(d.argument("ptr"), number)
    for step in range(count):
        value = d.cast("sext", d.get(pointer)[0], "i64") if loaded else number
        then, join = d.place(2)
        d.branch(d.icmp("sgt", value, d.i64(step)), then, join)
        d.at(then)
        d.put(pointer, d.const("i32", step))
        d.goto(join)
        d.at(join)
    return d.done()


@pytest.mark.parametrize(("count", "expected"), [(3, False), (4, True), (9, True)])
def test_given_few_checks_then_nothing_is_copied(count: int, expected: bool) -> None:
    assert _versioned(_guarded(count))[0] is expected


def test_given_conditions_that_the_chain_itself_computes_then_nothing_is_copied() -> None:
    assert not _versioned(_guarded(8, loaded=True))[0]


@pytest.mark.parametrize(
    ("places", "volatile", "expected"),
    [
        ((0, 1), False, [2]),
        ((1, 0), False, [2]),
        ((0, 1), True, [1, 1]),
        ((0, 2), False, [1, 1]),
        ((1, 2), False, [2]),
        ((0, 0), False, [1, 1]),
    ],
)
def test_given_neighbours_that_fill_a_vector_then_loads_become_one(
    places: tuple[int, int], volatile: bool, expected: list[int]
) -> None:
    d = Draft()
    source, to = d.argument("ptr"), d.argument("ptr", 8)
    index = d.mul(d.id(), d.i64(2))
    first, second = [
        d.load(d.element(source, d.add(index, d.i64(place))), "i32", Access(1, 4, volatile, space="global"))[0]
        for place in places
    ]
    d.put(d.element(to, d.id()), d.sub(first, second))
    body = d.done()
    merge_accesses(body, analyse(body, loop_simplify(body), LANES), LANES, Aliases(NOTHING_KNOWN))
    check(body)
    assert [op.info.count for op in body.ops if op.name == "load"] == expected
