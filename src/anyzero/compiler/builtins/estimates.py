"""AVX-512 instructions: refined estimates of inverse roots, exponents and significands, scaling by powers of two."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builtins.polynomial import horner
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import I8, I16, I32, Value

LARGEST = 64
"""Bytes of a register."""
# (1 - e)^(-1/2) = 1 + e · (1/2 + 3/8 e + …): estimates have 14 bits, so |e| < 2^-13.
CORRECTION = {"float": (0.5,), "double": (0.5, 0.375, 0.3125)}


def possible(w: Writer, x: Value) -> bool:
    """True if the target has estimates for this vector type."""
    lanes = x.type.lanes
    return w.estimates and x.type.element in CORRECTION and lanes & (lanes - 1) == 0 and lanes * x.type.bits >= 128


def inverse_root(w: Writer, x: Value) -> Value:
    """1/√x: an estimate y, corrected by 1 - x·y². At most one and a half ulp, including denormals."""
    y = _guess(w, x)
    e = w.fma(-(x * y), y, 1.0)
    better = w.fma(y * e, horner(w, e, CORRECTION[x.type.element]), y)
    # The estimate is exact for 0 and infinity; only there and for NaNs, e is NaN (zero times infinity).
    return w.select(w.compare("ord", e, e), better, y)


def scaled(w: Writer, x: Value, octaves: Value) -> Value:
    """x · 2^n for an integral n, rounded once, including denormal results."""
    return _in_registers(w, _one_scaled, x, octaves)


def smaller(w: Writer, x: Value, bound: float) -> Value:
    """The one of smaller magnitude, with the sign of `x`; the bound for NaNs. A single instruction."""
    return _in_registers(w, _one_smaller, x, x.like(bound))


def exponent(w: Writer, x: Value) -> Value:
    """⌊log2 |x|⌋ as a real number; -∞ for zero, ∞ for infinity."""
    return _in_registers(w, _one_exponent, x)


def significand(w: Writer, x: Value) -> Value:
    """From 1 to 2; NaN for negative numbers, and 1 for zero and infinity."""
    return _in_registers(w, _one_significand, x)


def _guess(w: Writer, x: Value) -> Value:
    """14 bits of 1/√x."""
    return _in_registers(w, _one_guess, x)


def _in_registers(w: Writer, emit: Callable[..., Value], *operands: Value) -> Value:
    type_ = operands[0].type
    lanes = min(type_.lanes, LARGEST * 8 // type_.bits)
    found = [
        emit(w, *(w.shuffle(each, None, range(at, at + lanes)) for each in operands))
        for at in range(0, type_.lanes, lanes)
    ]
    return joined(w, found)


def joined(w: Writer, parts: list[Value]) -> Value:
    """One vector of a power of two of them."""
    while len(parts) > 1:
        parts = [w.shuffle(a, b, range(2 * a.type.lanes)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _one_guess(w: Writer, x: Value) -> Value:
    return w.call(f"llvm.x86.avx512.rsqrt14.{_kind(x)}", x.type, x, w.zero(x.type), _all(w, x))


def _one_smaller(w: Writer, x: Value, bound: Value) -> Value:
    # 2: the smaller magnitude, with the first operand's sign.
    name = f"llvm.x86.avx512.mask.range.{_kind(x)}"
    return w.call(name, x.type, x, bound, w.constant(2, I32), w.zero(x.type), _all(w, x), *_rounding(w, x))


def _one_exponent(w: Writer, x: Value) -> Value:
    return w.call(f"llvm.x86.avx512.mask.getexp.{_kind(x)}", x.type, x, w.zero(x.type), _all(w, x), *_rounding(w, x))


def _one_significand(w: Writer, x: Value) -> Value:
    # 12: from 1 to 2, NaN for negative numbers, and positive for negative zero.
    name = f"llvm.x86.avx512.mask.getmant.{_kind(x)}"
    return w.call(name, x.type, x, w.constant(12, I32), w.zero(x.type), _all(w, x), *_rounding(w, x))


def _one_scaled(w: Writer, x: Value, octaves: Value) -> Value:
    name = f"llvm.x86.avx512.mask.scalef.{_kind(x)}"
    return w.call(name, x.type, x, octaves, w.zero(x.type), _all(w, x), *_rounding(w, x))


def _rounding(w: Writer, x: Value) -> list[Value]:
    """Only the full-register form has a rounding operand; 4 is the current mode."""
    return [w.constant(4, I32)] if x.type.lanes * x.type.bits == LARGEST * 8 else []


def _kind(x: Value) -> str:
    return f"{'ps' if x.type.element == 'float' else 'pd'}.{x.type.lanes * x.type.bits}"


def _all(w: Writer, x: Value) -> Value:
    return w.constant(-1, I16 if x.type.lanes > 8 else I8)
