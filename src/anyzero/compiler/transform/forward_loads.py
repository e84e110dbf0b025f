"""Redundant load elimination: a load of what the block has loaded or stored before becomes that value.

LLVM does the same where no store comes between. This knows stores through arguments that lead to other memory.
"""

from __future__ import annotations

from anyzero.compiler.analysis.aliases import Aliases
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import REMOVABLE
from anyzero.compiler.transform.blocks import substitute

__all__ = ["forward_loads"]


def forward_loads(body: Body, aliases: Aliases) -> None:
    instead: dict[Op, Op] = {}
    for block in body.blocks:
        _look(block, aliases, instead)
    substitute(body, instead)


def _look(block: Block, aliases: Aliases, instead: dict[Op, Op]) -> None:
    known: dict[tuple[Op, str], tuple[Op, Op]] = {}
    """By address and type: the access that told the value, and the value."""
    kept = []
    for op in block.ops:
        if op.name == "store":
            known = {at: each for at, each in known.items() if aliases.never(op, each[0])}
        elif op.name not in REMOVABLE:
            known = {}
        if op.name in ("load", "store") and op.info.count == 1 and not op.info.volatile:
            value = op if op.name == "load" else op.args[1]
            at = op.args[0], value.type
            if op.name == "load" and at in known:
                instead[op] = known[at][1]
                continue
            known[at] = op, instead.get(value, value)
        kept.append(op)
    block.ops = kept
