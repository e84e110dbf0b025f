"""Writes the function that tells the engine how to cut a launch into rows: their length, and the number of elements."""

from __future__ import annotations

from anyzero.compiler.analysis.products import MOST, Product, Term
from anyzero.compiler.llvm import I64, PTR, Builder, Type, Value
from anyzero.compiler.transform.delinearize import RowLength

__all__ = ["row_lengths"]


def row_lengths(symbol: str, rows: RowLength) -> str:
    """It stores both where its second parameter points to: 0 for one that is not positive, or too large, or whose
    factors are. The number of elements is left alone where the kernel does not tell it.
    """
    b = Builder("r")
    found = Value(b, "%found", PTR)
    for place, product in enumerate((rows.length, rows.items)):
        if product is not None:
            b.store(_product(b, product), b.element("i64", found, b.constant(place, I64)), align=8)
    head = f"define void @{symbol}(ptr noalias readonly %arguments, ptr noalias %found) #0 {{"
    return "\n".join([head, "entry:", *b.lines, "  ret void", "}"])


def _product(b: Builder, product: Product) -> Value:
    found = b.constant(product.factor, I64)
    for term in sorted(product.terms, key=repr):
        # Both are less than 2^31.
        found = _valid(b, found * _valid(b, b.cast("sext", _number(b, term), "i64")))
    return found


def _valid(b: Builder, number: Value) -> Value:
    """The number, or 0 in place of one that is negative or too large."""
    return b.select(b.compare("ule", number, MOST), number, 0)


def _number(b: Builder, term: Term) -> Value:
    """As the kernel computes it, whatever wraps around."""
    name, kind, info, *args = term
    assert isinstance(name, str)
    assert isinstance(kind, str)
    type_ = Type(kind)
    if name in ("argument", "const"):
        assert isinstance(info, int)
        if name == "const":
            return b.bits(info, type_)
        place = b.element("i8", Value(b, "%arguments", PTR), b.constant(info, I64))
        return b.load(type_, place, align=1)
    numbers = [_number(b, each) for each in args if isinstance(each, tuple)]
    if name == "cast":
        return b.cast(str(info), numbers[0], kind)
    return b.binary(name, *numbers)
