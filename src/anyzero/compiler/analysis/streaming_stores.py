"""Stores that fill whole lines of memory which the kernel does not read: where a launch touches more than the caches
hold, they are better written past them. A line that is written the usual way is read first, and pushes another out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from anyzero.compiler.analysis.addresses import known_space, root
from anyzero.compiler.analysis.cost import CHEAP_MATHS
from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.analysis.uniformity import Flow, Shapes, analyse
from anyzero.compiler.ir import SIZES, Body, Op
from anyzero.compiler.operations import LONG, OPERATIONS, ORDERS, READS

LINE = 64
"""Bytes of a line of the cache. Parts of one cost more than they save when they are written by themselves."""

_ORDERED = ORDERS - {"barrier"}
"""Operations that may tell others that something was written; lines written past the caches might arrive later."""


@dataclass(slots=True, eq=False)
class Streams:
    stores: set[Op] = field(default_factory=set)
    bytes: int = 0
    """That a work-item touches, as far as that can be seen: each buffer counts once."""

    def large(self, cache_bytes: int) -> int:
        """The work-items from which on a launch touches more than the caches hold; 0 where no store is meant."""
        return max(cache_bytes // self.bytes, 1) if self.stores else 0


def find_streams(body: Body, loops: Loops, shapes: Shapes, lanes: int) -> Streams:
    found = Streams()
    touched: dict[int, int] = {}
    read: set[int] = set()
    for op in body.ops:
        if op.name in _ORDERED or (op.name in ("load", "store", "copy") and op.info.volatile):
            return Streams()
        buffers = [buffer for buffer in map(_buffer, _addresses(op)) if buffer is not None]
        if op.name in READS:
            read.update(buffers)
        if op.name in ("load", "store") and not shapes[op.args[0]].uniform:
            size = _size(op)
            touched |= {buffer: max(size, touched.get(buffer, 0)) for buffer in buffers}
        if op.name == "store" and _fills_lines(op, shapes, lanes) and op.block and not loops.around(op.block):
            found.stores.add(op)
    found.stores = {op for op in found.stores if _buffer(op.args[0]) not in read}
    found.bytes = sum(touched.values())
    return found


def memory_bound(body: Body, flow: Flow, lanes: int) -> bool:
    """Does it do little more than read and write neighbours, each once?"""
    # Most kernels are told by this alone, without looking at how lanes differ.
    if flow.loops.all or any(_busy(op) for op in body.ops):
        return False
    shapes = analyse(body, flow, lanes)
    accesses, others = 0, 0
    for op in body.ops:
        shape = shapes[op.args[0]] if op.name in ("load", "store") else shapes[op]
        if op.name in ("load", "store") and not shape.uniform:
            if shape.stride != _size(op) or known_space(op.args[0]) != "global":
                return False
            accesses += op.info.count
        elif shape.varying and op.name != "part":
            others += 1
    return 0 < accesses >= others


def _busy(op: Op) -> bool:
    return op.name in LONG or (op.name == "math" and op.info[0] not in CHEAP_MATHS)


def _addresses(op: Op) -> list[Op]:
    return op.args[: OPERATIONS[op.name].pointers]


def _buffer(pointer: Op) -> int | None:
    """Which argument the address is made of."""
    begin = root(pointer)
    return begin.info if begin.name == "argument" else None


def _size(op: Op) -> int:
    return int(SIZES[op.type or op.args[1].type] * op.info.count)


def _fills_lines(op: Op, shapes: Shapes, lanes: int) -> bool:
    pointer = op.args[0]
    size = _size(op)
    return (
        _buffer(pointer) is not None
        and known_space(pointer) == "global"
        and shapes[pointer].stride == size
        and lanes * size % LINE == 0
    )
