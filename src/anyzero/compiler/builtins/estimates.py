"""AVX-512 instructions: refined estimates of inverse square roots, and scaling by powers of two."""

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
    while len(found) > 1:
        found = [_joined(w, a, b) for a, b in zip(found[::2], found[1::2], strict=True)]
    return found[0]


def _joined(w: Writer, a: Value, b: Value) -> Value:
    return w.shuffle(a, b, range(2 * a.type.lanes))


def _one_guess(w: Writer, x: Value) -> Value:
    return w.call(f"llvm.x86.avx512.rsqrt14.{_kind(x)}", x.type, x, w.zero(x.type), _all(w, x))


def _one_scaled(w: Writer, x: Value, octaves: Value) -> Value:
    # Only the full-register form has a rounding operand; 4 is the current mode.
    rounding = [w.constant(4, I32)] if x.type.lanes * x.type.bits == LARGEST * 8 else []
    name = f"llvm.x86.avx512.mask.scalef.{_kind(x)}"
    return w.call(name, x.type, x, octaves, w.zero(x.type), _all(w, x), *rounding)


def _kind(x: Value) -> str:
    return f"{'ps' if x.type.element == 'float' else 'pd'}.{x.type.lanes * x.type.bits}"


def _all(w: Writer, x: Value) -> Value:
    return w.constant(-1, I16 if x.type.lanes > 8 else I8)
