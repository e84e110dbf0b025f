"""Streaming stores: stores that fill whole cache lines which the kernel does not read.

Where a launch accesses more memory than the caches hold, non-temporal stores are faster: an ordinary store reads its
line first, and evicts another.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import known_space, root
from anyzero.compiler.analysis.cost import CHEAP_MATHS
from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.analysis.uniformity import Flow, Shapes, analyse
from anyzero.compiler.ir import SIZES, Body, Op
from anyzero.compiler.operations import LONG, OPERATIONS, ORDERS, READS
from anyzero.lazy_dataclass import dataclass, field

LINE = 64
"""Bytes of a cache line. Non-temporal stores of parts of a line cost more than they save."""

_ORDERED = ORDERS - {"barrier"}
"""Operations that may publish earlier writes; non-temporal stores are not ordered before them."""


@dataclass(slots=True, eq=False)
class Streams:
    stores: set[Op] = field(default_factory=set)
    bytes: int = 0
    """Bytes that a work-item accesses, as far as known: each buffer counts once."""

    def large(self, cache_bytes: int) -> int:
        """Launches of at least so many work-items access more than the caches hold; 0 without streaming stores."""
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
    # This check alone rejects most kernels, before uniformity is computed.
    if flow.loops.all or any(is_busy(op) for op in body.ops):
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


def is_busy(op: Op) -> bool:
    """Does it become many instructions?"""
    return op.name in LONG or (op.name == "math" and op.info[0] not in CHEAP_MATHS)


def _addresses(op: Op) -> list[Op]:
    return op.args[: OPERATIONS[op.name].pointers]


def _buffer(pointer: Op) -> int | None:
    """The argument that the address is based on."""
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
