"""Broadcasts and shuffles from known lanes, and loads of which only such lanes are used."""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.clusters import place_of
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Body, Op

__all__ = ["known_lane", "only_picked", "picked_from"]


def known_lane(op: Op, lanes: int) -> int | None:
    """The lane of its vector that the operation broadcasts, if known."""
    if op.name != "group" or op.info.scope != "sub_group" or op.info.kind not in ("shuffle", "broadcast"):
        return None
    if len(op.args) != 2:
        return None
    by = op.args[1]
    place = int(by.info) if by.name == "const" else place_of(by, lanes)
    return place if place is not None and 0 <= place < lanes else None


def picked_from(op: Op, lanes: int, shapes: Shapes) -> tuple[Op, int] | None:
    """The load that a lane is picked from, where the address of that lane follows from lane 0's, and the component that
    is picked.
    """
    if known_lane(op, lanes) is None:
        return None
    value = op.args[0]
    load, component = (value.args[0], int(value.info)) if value.name == "part" else (value, 0)
    if load.name != "load" or load.info.volatile or load.block is not op.block:
        return None
    shape = shapes[load.args[0]]
    return None if shape.varying or shape.uniform else (load, component)


def only_picked(body: Body, ops: Iterable[Op], lanes: int, shapes: Shapes) -> set[Op]:
    """Loads among these operations of which scalar loads of the picked lanes are enough."""
    loads = {op for op in ops if op.name == "load"}
    if not loads:
        return loads
    parts = {op: op.args[0] for op in body.ops if op.name == "part" and op.args[0] in loads}
    for op in body.ops:
        for arg in op.args:
            load = parts.get(arg, arg)
            if load in loads and op not in parts and picked_from(op, lanes, shapes) is None:
                loads.discard(load)
    return loads
