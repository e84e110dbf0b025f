"""Loads that leave their loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.ir import Access, Block, Body, Op
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.licm import licm
from anyzero.compiler.transform.loop_simplify import loop_simplify

KERNELS = Path(__file__).parents[2] / "kernels"


def _spmv() -> tuple[Body, Block, Op]:
    """A loop whose end is read anew in each round; its header, and that load."""
    body = pipeline.simplified(read((KERNELS / "spmv.O0.spv").read_bytes()), "spmv").body
    (loop,) = loop_simplify(body).loops.all
    (load,) = (op for op in loop.header.ops if op.name == "load")
    return body, loop.header, load


def test_given_a_bound_that_is_read_in_each_round_then_it_is_read_before_the_loop() -> None:
    body, header, load = _spmv()
    licm(loop_simplify(body).loops)
    check(body)
    assert load.block is not header
    assert load not in header.ops
    assert {op.name for op in header.ops} == {"icmp"}


@pytest.mark.parametrize("kind", ["store", "barrier", "fence", "volatile"])
def test_given_a_loop_that_may_see_something_else_then_it_reads_again(kind: str) -> None:
    body, header, load = _spmv()
    if kind == "volatile":
        load.info = Access(alignment=4, volatile=True, space="global")
    else:
        args, info = ([load.args[0], load], Access(alignment=4, space="global")) if kind == "store" else ([], "group")
        header.ops.append(Op(kind, "", args, info, block=header))
    licm(loop_simplify(body).loops)
    assert load in header.ops


def test_given_a_way_that_may_pass_by_the_loop_then_it_is_read_in_a_preheader() -> None:
    body, header, load = _spmv()
    (before,) = (block for block in header.predecessors if block.number < header.number)
    elsewhere = next(block for block in body.blocks if not block.successors)
    before.successors = [header, elsewhere]
    before.condition = Op("const", "i1", info=1)
    elsewhere.predecessors.append(before)
    licm(loop_simplify(body).loops)
    (between,) = (block for block in header.predecessors if block.number < header.number)
    assert load in between.ops
    assert between.predecessors == [before]
