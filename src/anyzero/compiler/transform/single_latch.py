"""Loop simplification: every loop gets a single latch of its own.

Work-items that continue from different places join in the latch and not in the loop's header, and none of them is still
in an inner loop that the others may not have left yet.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect


def single_latch(body: Body, loops: Loops) -> bool:
    """Adds latches; True if there are new blocks, and loops and dominators have to be computed again."""
    changed = False
    for loop in loops.all:
        if len(loop.latches) == 1 and loops.innermost[loop.latches[0]] is loop:
            continue
        changed = True
        header, latches = loop.header, loop.latches
        meeting = Block(len(body.blocks), predecessors=list(latches), successors=[header])
        places = [header.predecessors.index(latch) for latch in latches]
        others = [place for place in range(len(header.predecessors)) if place not in places]
        for phi in header.phis:
            joined = meeting.add_phi(Op("phi", phi.type, [phi.args[place] for place in places], word=phi.word))
            phi.args = [*(phi.args[place] for place in others), joined]
        header.predecessors = [*(header.predecessors[place] for place in others), meeting]
        for latch in latches:
            redirect(latch, header, meeting)
        body.blocks.append(meeting)
    if changed:
        number(body)
    return changed
