"""Products of numbers that the arguments decide: `w * h`, `3136`, `(w + 2 * pad) * 4`.

A product holds where each of its terms and the product itself lie between 0 and 2^31. Whoever relies on one makes sure
of that: then no part of it wraps around in 32 or 64 bits, and no conversion between these changes it.
"""

from __future__ import annotations

from anyzero.compiler.folding import width
from anyzero.compiler.ir import Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["MOST", "ONE", "Product", "Term", "converts", "is_exact", "product_of", "signed"]

Term = tuple[object, ...]
"""A number by its computation: its operation, type, info, and the terms of its operands."""

DEPTH = 6
"""Operations in one another that are followed: squares of squares would be visited 2^n times."""
MOST = (1 << 31) - 1
"""The largest product."""
_SUMS = frozenset({"add", "sub", "mul", "and", "or", "xor"})
_SHIFTS = frozenset({"shl", "lshr", "ashr"})


@dataclass(frozen=True, slots=True)
class Product:
    """A positive constant times different terms."""

    factor: int = 1
    terms: frozenset[Term] = frozenset()

    def times(self, other: Product) -> Product | None:
        """None for powers, and for constants that are too large."""
        factor = self.factor * other.factor
        return None if self.terms & other.terms or factor > MOST else Product(factor, self.terms | other.terms)

    def over(self, other: Product) -> Product | None:
        """None where the other one is no factor."""
        if self.factor % other.factor or not other.terms <= self.terms:
            return None
        return Product(self.factor // other.factor, self.terms - other.terms)

    @property
    def constant(self) -> bool:
        return not self.terms


ONE = Product()


def product_of(op: Op, depth: int = DEPTH) -> Product | None:
    """None for numbers that depend on more than arguments, or are no such product."""
    if op.name == "const":
        value = signed(op)
        return Product(value) if 0 < value <= MOST else None
    if op.type not in ("i32", "i64"):
        return None
    found = None
    if depth:
        if converts(op):
            return product_of(op.args[0], depth - 1)
        if op.name == "mul":
            one, other = (product_of(arg, depth - 1) for arg in op.args)
            found = one.times(other) if one and other else None
        elif op.name == "shl" and op.args[1].name == "const" and op.args[1].info < width(op.type) - 1:
            one = product_of(op.args[0], depth - 1)
            found = one.times(Product(min(1 << op.args[1].info, MOST + 1))) if one else None
    if found is not None:
        return found
    term = _term(op, depth)
    return Product(1, frozenset({term})) if term is not None and op.name != "const" else None


def is_exact(op: Op) -> bool:
    """Is the number the product of its terms as signed ones, whatever they are? Nothing is known of most of them."""
    match op.name:
        case "mul":
            return "nsw" in op.flags and all(is_exact(arg) for arg in op.args)
        case "shl":
            return "nsw" in op.flags and op.args[1].name == "const" and is_exact(op.args[0])
        case "cast":
            return op.info == "sext" and is_exact(op.args[0])
        case "const":
            return signed(op) > 0
        case _:
            # A term is its own value.
            return op.name == "argument" or op.name in _SUMS or op.name in _SHIFTS


def converts(op: Op) -> bool:
    """A conversion between 32 and 64 bits?"""
    return op.name == "cast" and op.info in ("trunc", "sext", "zext") and {op.type, op.args[0].type} == {"i32", "i64"}


def signed(op: Op) -> int:
    """The value of a constant."""
    half = 1 << (width(op.type) - 1)
    value: int = (op.info + half) % (2 * half) - half
    return value


def _term(op: Op, depth: int) -> Term | None:
    """The computation of a number from arguments, which cannot fail; None for any other."""
    if op.type not in ("i32", "i64"):
        return None
    if op.name in ("argument", "const"):
        return op.name, op.type, op.info
    plain = op.name in _SUMS or converts(op)
    shifts = op.name in _SHIFTS and op.args[1].name == "const" and op.args[1].info < width(op.type)
    if not depth or not (plain or shifts):
        return None
    parts = [_term(arg, depth - 1) for arg in op.args]
    return None if None in parts else (op.name, op.type, op.info, *parts)
