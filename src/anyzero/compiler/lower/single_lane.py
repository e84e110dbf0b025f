"""Blocks in which at most one lane is active, as behind `if (get_sub_group_local_id() == 0)`: they need no scatter."""

from __future__ import annotations

from anyzero.compiler.ir import Op
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.static_lanes import StaticLanes

_DEEPEST = 8
"""The longest chain of masks and conditions that is followed."""


def single_lane(e: Emitter) -> int | None:
    """The number of that lane, if comparisons of lane numbers with constants leave no other. It may be inactive."""
    mask = e.mask_op
    if mask is None or mask.name not in ("mask_and", "mask_andn") or e.choices.sub_group:
        return None
    possible = _possible(mask, StaticLanes(None, e.lanes))
    return possible.index(True) if sum(possible) == 1 else None


def _possible(op: Op, known: StaticLanes, depth: int = _DEEPEST) -> list[bool]:
    """In which lanes may a mask or condition hold?"""
    found = None if op.name == "entry_mask" else known.of(op)
    if found is not None:
        return [bool(each) for each in found]
    if depth and op.name in ("mask_and", "and"):
        return [all(pair) for pair in zip(*(_possible(each, known, depth - 1) for each in op.args), strict=True)]
    if depth and op.name == "mask_andn":
        inside, never = _possible(op.args[0], known, depth - 1), known.of(op.args[1])
        return inside if never is None else [here and not off for here, off in zip(inside, never, strict=True)]
    return [True] * known.lanes
