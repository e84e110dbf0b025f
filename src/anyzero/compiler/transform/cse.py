"""Common subexpression elimination over the dominator tree."""

from __future__ import annotations

from anyzero.compiler.dominators import dominators, tree
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import SAME
from anyzero.compiler.transform.blocks import substitute


def cse(body: Body) -> None:
    """Replaces an operation by an equal one in a dominating block."""
    entry = body.blocks[0]
    below = tree(entry, dominators(entry, lambda block: block.successors))
    known: dict[object, Op] = {}
    instead: dict[Op, Op] = {}
    # A block to enter, or the keys to drop when one is left.
    stack: list[Block | list[object]] = [entry]
    while stack:
        step = stack.pop()
        if isinstance(step, list):
            for key in step:
                del known[key]
            continue
        stack.append(_look(step, known, instead))
        stack += below[step]
    substitute(body, instead)


def _look(block: Block, known: dict[object, Op], instead: dict[Op, Op]) -> list[object]:
    """Removes available expressions from a block; returns the keys of new ones."""
    new: list[object] = []
    kept = []
    for op in block.ops:
        args = op.args
        for place, arg in enumerate(args):
            if arg in instead:
                args[place] = instead[arg]
        if op.name in SAME:
            key = op.name, op.type, op.info, tuple(args)
            found = known.get(key)
            if found is not None:
                found.flags = _both(found.flags, op.flags)
                instead[op] = found
                continue
            known[key] = op
            new.append(key)
        kept.append(op)
    block.ops = kept
    return new


def _both(first: str, second: str) -> str:
    """The intersection of both operations' flags."""
    if first == second:
        return first
    promised = set(second.split())
    return " ".join(flag for flag in first.split() if flag in promised)
