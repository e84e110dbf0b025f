"""Fast first guesses of AVX-512 and what makes them right: no division and no square root, which are slow."""

from __future__ import annotations

from anyzero.compiler.builtins.polynomial import horner
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.lower.llvm import I8, I16, Type, Value

LARGEST = 64
"""Bytes of a register."""
# (1 - e)^(-1/2) = 1 + e · (1/2 + 3/8 e + …): guesses are good to 14 bits, so |e| < 2^-13.
CORRECTION = {"float": (0.5,), "double": (0.5, 0.375, 0.3125)}


def possible(w: Writer, x: Value) -> bool:
    """Are there guesses for vectors like this one?"""
    lanes = x.type.lanes
    return w.estimates and x.type.element in CORRECTION and lanes & (lanes - 1) == 0 and lanes * x.type.bits >= 128


def inverse_root(w: Writer, x: Value) -> Value:
    """1/√x: a guess y, and what x·y² lacks of 1. One and a half ulp at most, denormal numbers included."""
    y = _guess(w, x)
    e = w.fma(-(x * y), y, 1.0)
    better = w.fma(y * e, horner(w, e, CORRECTION[x.type.element]), y)
    # The guess is right where x is 0 or infinite; there, and only there or for NaNs, zero times infinity was computed.
    return w.select(w.compare("ord", e, e), better, y)


def _guess(w: Writer, x: Value) -> Value:
    """14 bits of 1/√x, register by register."""
    lanes = min(x.type.lanes, LARGEST * 8 // x.type.bits)
    found = [_one_guess(w, w.shuffle(x, None, range(at, at + lanes))) for at in range(0, x.type.lanes, lanes)]
    while len(found) > 1:
        found = [_joined(w, a, b) for a, b in zip(found[::2], found[1::2], strict=True)]
    return found[0]


def _joined(w: Writer, a: Value, b: Value) -> Value:
    return w.shuffle(a, b, range(2 * a.type.lanes))


def _one_guess(w: Writer, x: Value) -> Value:
    kind = "ps" if x.type.element == "float" else "pd"
    mask = w.constant(-1, I16 if x.type.lanes > 8 else I8)
    name = f"llvm.x86.avx512.rsqrt14.{kind}.{x.type.lanes * x.type.bits}"
    return w.call(name, Type(x.type.element, x.type.lanes), x, w.zero(x.type), mask)
