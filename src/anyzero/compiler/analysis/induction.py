"""Induction: the increment of a value per iteration of a loop."""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.folding import signed, width
from anyzero.compiler.ir import Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["Step", "counter", "step_of"]

DEPTH = 8


@dataclass(slots=True, frozen=True)
class Step:
    """A constant times a loop-invariant value, or times 1; modulo the range of the value's type."""

    factor: int
    of: Op | None = None


def step_of(op: Op, loop: Loop, narrow: bool = False, depth: int = DEPTH) -> Step | None:
    """None where it is not known to be the same in each iteration. With `narrow`, only integers of 32 bits are
    followed. The loop has one latch.
    """
    if op.block is None or op.block not in loop:
        return Step(0)
    if not depth or (narrow and op.type != "i32"):
        return None
    if op.name == "phi":
        sum_ = counter(op, loop) or _pointer(op, loop)
        return None if sum_ is None else Step(_number(sum_.args[1]))
    inner = [step_of(each, loop, narrow, depth - 1) for each in op.args]
    if op.pure and op.name != "part" and all(each == Step(0) for each in inner):
        return Step(0)
    if op.name == "cast":
        return inner[0]
    if op.name in ("add", "offset", "sub"):
        return _sum(inner[0], inner[1], -1 if op.name == "sub" else 1)
    if op.name in ("mul", "shl"):
        return _product(op, inner[0], inner[1])
    return None


def counter(phi: Op, loop: Loop) -> Op | None:
    """The loop-carried value of a phi, where that is the phi plus a constant."""
    return _carried(phi, loop, "add")


def _pointer(phi: Op, loop: Loop) -> Op | None:
    """The same of a pointer that moves by a constant, as newer versions of LLVM write loops over arrays."""
    return _carried(phi, loop, "offset")


def _carried(phi: Op, loop: Loop, name: str) -> Op | None:
    if phi.block is not loop.header:
        return None
    sum_ = phi.args[loop.header.predecessors.index(loop.latches[0])]
    found = sum_.name == name and sum_.args[0] is phi and sum_.args[1].name == "const" and sum_.args[1].info
    return sum_ if found else None


def _sum(one: Step | None, other: Step | None, sign: int) -> Step | None:
    if one is None or other is None:
        return None
    if not other.factor:
        return one
    if one.factor and one.of is not other.of:
        return None
    return Step(one.factor + sign * other.factor, other.of)


def _product(op: Op, one: Step | None, other: Step | None) -> Step | None:
    if one is None or other is None or (other.factor and (one.factor or op.name == "shl")):
        return None
    moving, times = (other, op.args[0]) if other.factor else (one, op.args[1])
    if times.name == "const":
        by = _number(times)
        return Step(moving.factor * (by if op.name == "mul" else 1 << (by % width(op.type))), moving.of)
    return Step(moving.factor, times) if op.name == "mul" and moving.of is None else None


def _number(const: Op) -> int:
    return signed(const.info, width(const.type))
