"""Software prefetching, some iterations ahead, in loops whose stride is uniform and unknown, or longer than a vector.

`for (i = get_local_id(0); i < n; i += get_local_size(0))` reads with gaps, and the next vector reads the gaps: hardware
prefetchers do not recognise that. Contiguous loops are left to them.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import UNIFORM, Flow, Shapes
from anyzero.compiler.folding import signed, width
from anyzero.compiler.ir import SIZES, Body, Op
from anyzero.lazy_dataclass import dataclass

ROUNDS = 16
"""Iterations ahead: a page of memory for groups of 256 and bytes."""
MOST = 2
"""Most loads of a loop that are prefetched; with more of them, memory bandwidth is the limit anyway."""
DEPTH = 8


def insert_prefetches(body: Body, flow: Flow, shapes: Shapes, lanes: int) -> None:
    near: dict[Loop, list[Op]] = {}
    for block in body.blocks:
        around = flow.loops.innermost[block]
        if around is not None:
            near.setdefault(around, []).extend(op for op in block.ops if _near(op, shapes))
    for loop in flow.loops.all:
        loads = near[loop]
        if loads and len(loads) <= MOST:
            for counter in _counters(loop, shapes, lanes):
                for op in loads:
                    _ask(body, flow, shapes, op, loop, counter)


def _near(op: Op, shapes: Shapes) -> bool:
    """Contiguous loads from global memory."""
    if op.name != "load" or op.info.space not in ("global", "constant") or op.info.volatile:
        return False
    return bool(shapes[op.args[0]].stride == SIZES[op.type] * op.info.count)


@dataclass(slots=True, frozen=True)
class _Counter:
    """An induction variable: the phi and its uniform step."""

    phi: Op
    sum: Op
    by: Op


def _counters(loop: Loop, shapes: Shapes, lanes: int) -> list[_Counter]:
    """Counters of the loop whose stride differs from that of a contiguous loop."""
    found = []
    for phi in loop.header.phis:
        again = [arg for arg, block in zip(phi.args, loop.header.predecessors, strict=True) if block in loop]
        sum_ = _bare(again[0])
        if len(again) > 1 or sum_.name != "add":
            continue
        for one, by in (sum_.args, sum_.args[::-1]):
            near = by.name == "const" and signed(by.info, width(by.type)) <= lanes
            if _bare(one) is phi and not near and shapes[by].uniform and _still(by, loop):
                found.append(_Counter(phi, sum_, by))
    return found


def _bare(op: Op) -> Op:
    """The value before conversions of its width."""
    while op.name == "cast" and op.info in ("sext", "zext", "trunc"):
        op = op.args[0]
    return op


def _still(op: Op, loop: Loop, depth: int = DEPTH) -> bool:
    """Is it loop-invariant?"""
    if op.block is None or op.block not in loop:
        return True
    pure = op.pure and op.name not in ("phi", "part")
    return depth > 0 and pure and all(_still(each, loop, depth - 1) for each in op.args)


def _scale(op: Op, counter: Op, loop: Loop, depth: int = DEPTH) -> int | None:
    """Bytes of address per unit of the counter; None if unknown."""
    if op is counter:
        return 1
    if _still(op, loop):
        return 0
    if depth == 0:
        return None
    inner = [_scale(each, counter, loop, depth - 1) for each in op.args]
    first, second = inner[0] if inner else None, inner[1] if len(inner) > 1 else None
    if op.name == "cast" and op.info in ("sext", "zext", "trunc"):
        return first
    if op.name in ("add", "offset") and first is not None and second is not None:
        return first + second
    if op.name == "mul" and op.args[1].name == "const" and first is not None:
        return first * int(op.args[1].info)
    return None


def _ask(body: Body, flow: Flow, shapes: Shapes, load: Op, loop: Loop, counter: _Counter) -> None:
    pointer = load.args[0]
    scale = _scale(pointer, counter.phi, loop)
    behind = _later(flow, load, counter.sum)
    if not scale or behind is None or behind.block is None:
        return
    wide = counter.by if counter.by.type == "i64" else Op("cast", "i64", [counter.by], "sext")
    far = Op("mul", "i64", [wide, body.const("i64", ROUNDS * scale)])
    place = Op("offset", "ptr", [pointer, far])
    made = [] if wide is counter.by else [wide]
    made += [far, place, Op("prefetch", "", [place], SIZES[load.type] * load.info.count)]
    for op in made:
        op.block = behind.block
        shapes.of[op] = UNIFORM
    shapes.of[place] = shapes[pointer]
    index = behind.block.ops.index(behind) + 1
    behind.block.ops[index:index] = made


def _later(flow: Flow, one: Op, other: Op) -> Op | None:
    """The later definition, which the other dominates; None if neither dominates the other."""
    if one.block is None or other.block is None:
        return None
    if one.block is other.block:
        return max(one, other, key=one.block.ops.index)
    if flow.immediate.dominates(one.block, other.block):
        return other
    return one if flow.immediate.dominates(other.block, one.block) else None
