"""Loop-simplify form: blocks in reverse postorder; one entry, one latch, an exit and mostly a preheader for each loop.

Unlike in LLVM's pass of this name, an endless loop gets an exit that is never taken.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loops, find_loops
from anyzero.compiler.analysis.uniformity import Flow
from anyzero.compiler.dominators import Dominators, dominators
from anyzero.compiler.ir import Block, Body
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.preheaders import preheaders
from anyzero.compiler.transform.single_entry import single_entry
from anyzero.compiler.transform.single_latch import single_latch
from anyzero.compiler.transform.virtual_exits import virtual_exits


def loop_simplify(body: Body) -> Flow:
    """The control flow that analyses and the linearisation rely on."""
    number(body)
    immediate, loops = _loops(body)
    for change in (single_entry, single_latch, virtual_exits, preheaders):
        if change(body, loops):
            immediate, loops = _loops(body)
    return Flow(body, loops, immediate)


def _loops(body: Body) -> tuple[Dominators[Block], Loops]:
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    return immediate, find_loops(body, immediate)
