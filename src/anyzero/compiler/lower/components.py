"""Component-wise values: what is computed alike from all components of neighbouring elements, in memory order.

For `o[i] = a[i] * b[i]` of `float4`, the components of all lanes would be taken apart and put together again. Where
each component that is stored is the same function of the same component of loads, and of numbers that all components
share, the vector of all components is computed as it lies in memory.
"""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, WIDTHS, Op
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.arithmetic import with_flags
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.operations import FLOAT

__all__ = ["in_memory_order"]

_PLAIN = frozenset({"add", "sub", "mul", "and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "fneg"})
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_CASTS = frozenset({"trunc", "zext", "sext", "fptrunc", "fpext", "sitofp", "uitofp"})
_FUSED = frozenset({"fma", "mad"})
SHUFFLED = 16
"""Bytes that an instruction permutes in each part of a register."""
MOST = 64
"""Most operations on all components of a store."""

_Together = tuple[Op, ...]
"""The operations of all components, in their order."""


def in_memory_order(e: Emitter, components: list[Op]) -> Value | None:
    """All components of all lanes, lane 0's first; None where they are not computed alike."""
    found = tuple(components)
    order: dict[_Together, None] = {}
    if len(found) < 2 or not _alike(e, found, order) or not any(_loaded(e, each) is not None for each in order):
        return None
    made: dict[_Together, Value] = {}
    for together in order:
        made[together] = _written(e, together, made)
    return made[found]


def _alike(e: Emitter, together: _Together, order: dict[_Together, None]) -> bool:
    """Adds what they are computed from to `order`, operands first."""
    if together in order:
        return True
    if len(order) >= MOST or together[0].type in ("i1", "ptr"):
        return False
    if not _is_leaf(e, together):
        if not _same(e, together):
            return False
        for operands in zip(*(each.args for each in together), strict=True):
            if not _alike(e, operands, order):
                return False
    order[together] = None
    return True


def _is_leaf(e: Emitter, together: _Together) -> bool:
    shared = all(each is together[0] for each in together)
    return shared or _loaded(e, together) is not None or all(e.shape(each).uniform for each in together)


def _loaded(e: Emitter, together: _Together) -> Value | None:
    """The load whose components they are, in any order, as it lies in memory."""
    first, count = together[0], len(together)
    if first.name != "part" or first.args[0].name != "load" or first.args[0].info.count != count:
        return None
    if any(each.name != "part" or each.args != first.args for each in together):
        return None
    permuted = any(each.info != at for at, each in enumerate(together))
    if permuted and (count & (count - 1) or count * SIZES[first.type] > SHUFFLED):
        return None
    return e.vectors.get(first.args[0])


def _same(e: Emitter, together: _Together) -> bool:
    """Is it one operation, with operands of its own for each component?"""
    first = together[0]
    if any((each.name, each.type, each.info, each.flags) != (first.name, first.type, first.info, first.flags)
           or [arg.type for arg in each.args] != [arg.type for arg in first.args] for each in together):  # fmt: skip
        return False
    if first.name == "math":
        return first.info[0] == "fabs" or (first.info[0] in _FUSED and e.choices.target.fused)
    if first.name in _SHIFTS:
        counts = [each.args[1] for each in together]
        return all(each.name == "const" and each.info < WIDTHS[first.type] for each in counts)
    return (first.name in _PLAIN and first.info is None) or (first.name == "cast" and first.info in _CASTS)


def _written(e: Emitter, together: _Together, made: dict[_Together, Value]) -> Value:
    b, first, lanes, count = e.b, together[0], e.lanes, len(together)
    if all(each is first for each in together):
        if e.shape(first).uniform:
            return b.spread(e.scalar(first), lanes * count)
        return b.shuffle(e.vector(first), None, [place // count for place in range(lanes * count)])
    if (found := _loaded(e, together)) is not None:
        places = [each.info for each in together]
        if places == list(range(count)):
            return found
        return b.shuffle(found, None, [lane * count + place for lane in range(lanes) for place in places])
    if all(e.shape(each).uniform for each in together):
        numbers = [e.scalar(each) for each in together]
        some = b.poison(Type(first.type, count))
        for place, number in enumerate(numbers):
            some = b.with_lane(some, place, number)
        return b.shuffle(some, None, [place % count for place in range(lanes * count)])
    operands = [made[each] for each in zip(*(each.args for each in together), strict=True)]
    if first.name == "cast":
        return b.cast(first.info, operands[0], first.type)
    if first.name == "math":
        return b.intrinsic("fabs" if first.info[0] == "fabs" else "fma", *operands)
    if first.name == "fneg":
        return with_flags(e, first, lambda: -operands[0])
    if first.name in FLOAT:
        return with_flags(e, first, lambda: b.binary(first.name, *operands))
    # No nsw or nuw, as in `arithmetic.py`.
    return b.binary(first.name, *operands)
