"""Divisions in the forms in which compilers write them: also as shifts and masks, and as differences."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.analysis.products import Product, is_exact, product_of
from anyzero.compiler.ir import Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["QUOTIENTS", "Division", "Step", "division_of"]

QUOTIENTS = frozenset({"udiv", "sdiv"})
_HIGHEST = 31
"""No number that is divided has this bit, or a higher one."""
_SHORT = {"i8": 8, "i16": 16}


@dataclass(frozen=True, slots=True)
class Step:
    """One division, or one remainder."""

    name: str
    by: Product
    exact: bool
    """Is the divisor this product whatever its terms are?"""


@dataclass(frozen=True, slots=True)
class Division:
    """Divisions of a number that is neither negative nor 2^31 or more, one after the other."""

    of: Op
    steps: tuple[Step, ...]
    left: int = 0
    """The result is shifted to the left by so many bits."""


def division_of(op: Op, alike: Callable[[Op, Op], bool]) -> Division | None:
    """`alike` tells whether two operations are the same number. Compilers divide small numbers in 8 and 16 bits."""
    if op.type not in ("i8", "i16", "i32", "i64") or not op.args:
        return None
    of = op.args[0]
    match op.name:
        case "udiv" | "sdiv" | "urem" | "srem":
            by = product_of(op.args[1])
            return Division(of, (Step(op.name, by, is_exact(op.args[1])),)) if by is not None else None
        case "lshr" | "ashr":
            bits = _bits(op.args[1])
            return Division(of, (_shift("udiv", bits),)) if bits else None
        case "sub":
            return _difference(op, alike)
        case "and":
            return _masked(op)
        case "cast" if op.info == "zext" and of.name == "cast" and of.type in _SHORT:
            return Division(of.args[0], (_shift("urem", _SHORT[of.type]),))
    return None


def _shift(name: str, bits: int) -> Step:
    return Step(name, Product(1 << bits), exact=True)


def _bits(by: Op) -> int:
    """The length of a shift; 0 where it is unknown or long."""
    return by.info if by.name == "const" and by.info < _HIGHEST else 0


def _difference(op: Op, alike: Callable[[Op, Op], bool]) -> Division | None:
    """`v - v / d * d` is `v % d`, whatever wraps around."""
    of, product = op.args
    pairs: list[tuple[Op, Product | None, bool]] = []
    if product.name == "mul":
        one, other = product.args
        pairs = [(first, product_of(second), is_exact(second)) for first, second in ((one, other), (other, one))]
    elif product.name == "shl" and (bits := _bits(product.args[1])):
        pairs = [(product.args[0], Product(1 << bits), True)]
    for quotient, by, exact in pairs:
        if by is None or quotient.name not in (*QUOTIENTS, "lshr", "ashr"):
            continue
        found = division_of(quotient, alike)
        if found is not None and alike(found.of, of) and found.steps[0].by == by:
            (step,) = found.steps
            return Division(of, (Step(f"{step.name[0]}rem", by, step.exact and exact),))
    return None


def _masked(op: Op) -> Division | None:
    """Neighbouring bits of a number, or of a number that is shifted to the left."""
    of, mask = op.args
    if mask.name != "const" or not mask.info:
        return None
    left = 0
    if of.name == "shl" and (bits := _bits(of.args[1])):
        of, left = of.args[0], bits
    low = (mask.info & -mask.info).bit_length() - 1
    ones = mask.info >> low
    first, count = low - left, ones.bit_length()
    if ones & (ones + 1) or not 0 <= first < _HIGHEST:
        return None
    steps = [_shift("udiv", first)] if first else []
    if first + count < _HIGHEST:
        steps.append(_shift("urem", count))
    elif left:
        return None
    return Division(of, tuple(steps), low) if steps else None
