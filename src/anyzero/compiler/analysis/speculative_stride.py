"""Speculative strides: strides that hold for most vectors, worth a test at run time.

A clamped index has the stride of the index that is clamped, except at the edges. So has one that is combined with a
uniform number (`i ^ distance`, `i & (size - 1)`, `i % size`), unless that number changes the low bits. A quotient
(`i / size`) is the same in all lanes, except where a row of that size ends.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import WIDTHS, Op
from anyzero.compiler.operations import COMMUTATIVE

_BOUNDS = {"s_min", "s_max", "u_min", "u_max", "s_clamp", "u_clamp"}
_BOUND_INTRINSICS = {"smin", "smax", "umin", "umax"}
_QUOTIENTS = {"udiv", "sdiv"}
_SAME_FOR_ALL = {"xor", "and", "or", "urem", "srem"}
DEPTH = 12
FEWEST = 8
"""The fewest lanes of a vector."""


def speculative_stride(op: Op, shapes: Shapes, depth: int = DEPTH) -> int | None:
    """The likely stride between neighbouring lanes of an integer or pointer; None without evidence for one."""
    known = shapes[op].stride
    if known is not None or depth == 0:
        return known

    def of(index: int) -> int | None:
        return speculative_stride(op.args[index], shapes, depth - 1)

    name = op.name
    if name == "cast" and op.info in ("trunc", "sext", "zext", "ptrtoint", "inttoptr"):
        return of(0)
    if name in ("add", "offset", "sub"):
        first, second = of(0), of(1)
        if first is None or second is None:
            return None
        return first - second if name == "sub" else first + second
    if name == "mul" and op.args[1].name == "const":
        first = of(0)
        return None if first is None else first * signed(int(op.args[1].info), WIDTHS[op.type])
    if name == "mul" and any(shapes[arg].uniform for arg in op.args):
        return 0 if of(0) == of(1) == 0 else None
    if name in _QUOTIENTS and shapes[op.args[1]].uniform and _spares_low_bits(name, op.args[1]):
        return None if of(0) is None else 0
    if name == "shl" and op.args[1].name == "const":
        first = of(0)
        return None if first is None else first << int(op.args[1].info)
    if name in _SAME_FOR_ALL:
        # Clang orders operands as they come.
        swapped = name in COMMUTATIVE and shapes[op.args[0]].uniform
        by = op.args[0 if swapped else 1]
        if shapes[by].uniform and _spares_low_bits(name, by):
            return of(1 if swapped else 0)
    bounded = (name == "math" and op.info[0] in _BOUNDS) or (name == "intrinsic" and op.info in _BOUND_INTRINSICS)
    if bounded or name == "select":
        found = {stride for index in range(1 if name == "select" else 0, len(op.args)) if (stride := of(index)) != 0}
        return found.pop() if len(found) == 1 else None
    return None


def _spares_low_bits(name: str, by: Op) -> bool:
    if by.name != "const":
        return True
    low = int(by.info) % FEWEST
    return low == FEWEST - 1 if name == "and" else low == 0 if name in ("xor", "or") else int(by.info) >= 8 * FEWEST
