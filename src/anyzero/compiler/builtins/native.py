"""Fast functions. `native_…` have no required precision: as floats they have about 20 bits for ordinary numbers, ignore
denormals and infinities, and take angles below 2^16. `half_…` must handle special cases, so they are the full routines
without argument reduction beyond 2^16.
"""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builtins import exponential, logarithm, power, roots, trigonometric
from anyzero.compiler.builtins.circle import half_turns, quarter_turns
from anyzero.compiler.builtins.exponential import LOG2_10, LOG2_E
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import horner
from anyzero.compiler.builtins.scaling import parts
from anyzero.compiler.builtins.trigonometric import SHORT_COSINE, SHORT_SINE, SINE
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value

Unary = Callable[[Writer, Value], Value]

# 2^r for |r| ≤ 0.5; relative error 2^-21.1.
EXP2 = (1.0, 0.693142831325531, 0.24022351205348969, 0.055574044585227966, 0.009666256606578827, 0.00111235526856035)
# log2(1 + f) from √½ to √2, linear term first; relative error 2^-22.4.
LOG2 = (
    1.4426950216293335,
    -0.7213523387908936,
    0.4809195399284363,
    -0.36025378108024597,
    0.287168949842453,
    -0.24879342317581177,
    0.2336161583662033,
    -0.14559482038021088,
)
LN2, LOG10_2 = 0.6931471805599453, 0.3010299956639812


def _exp2(w: Writer, x: Value) -> Value:
    """Normal results only; below them it is zero or nearly zero."""
    format_ = format_of(x)
    x = w.at_least(w.at_most(x, 128.0), -127.0)
    anchored = x + format_.magic
    significand = horner(w, x - (anchored - format_.magic), EXP2)
    return w.from_bits(w.to_bits(significand) + w.to_bits(anchored).shl(format_.fraction))


def _log2(w: Writer, x: Value) -> Value:
    e, m = parts(w, x, denormals=False)
    f = m - 1.0
    log = w.mad(f, horner(w, f, LOG2), e)
    # The one special case that programs rely on: the logarithm of zero.
    return w.select(w.compare("ogt", x, 0.0), log, x - float("inf"))


def _sine(w: Writer, x: Value, ahead: bool) -> Value:
    turns, rest = half_turns(w, x, ahead, far=False)
    square = rest * rest
    return w.flip(rest * horner(w, square, SINE["float"]), turns.shl(turns.type.bits - 1))


def _tangent(w: Writer, x: Value) -> Value:
    turns, rest = quarter_turns(w, x, far=False)
    square = rest * rest
    sine, cosine = rest * horner(w, square, SHORT_SINE["float"]), horner(w, square, SHORT_COSINE["float"])
    odd = w.compare("ne", turns & 1, 0)
    quotient = w.select(odd, cosine, sine) / w.select(odd, sine, cosine)
    return w.flip(quotient, turns.shl(turns.type.bits - 1))


def _native(name: str, quick: Unary, full: Unary) -> None:
    """Doubles have no fast variants."""

    @instruction(f"native_{name}")
    def emit(w: Writer, x: Value) -> Value:
        return quick(w, x) if x.type.element == "float" else full(w, x)


_native("exp", lambda w, x: _exp2(w, x * LOG2_E), exponential.exp)
_native("exp2", _exp2, exponential.exp2)
_native("exp10", lambda w, x: _exp2(w, x * LOG2_10), exponential.exp10)
_native("log", lambda w, x: _log2(w, x) * LN2, logarithm.log)
_native("log2", _log2, logarithm.log2)
_native("log10", lambda w, x: _log2(w, x) * LOG10_2, logarithm.log10)
_native("sin", lambda w, x: _sine(w, x, ahead=False), trigonometric.sin)
_native("cos", lambda w, x: _sine(w, x, ahead=True), trigonometric.cos)
_native("tan", _tangent, trigonometric.tan)


@instruction("native_powr", "T", "T")
def native_powr(w: Writer, x: Value, y: Value) -> Value:
    return _exp2(w, y * _log2(w, x)) if x.type.element == "float" else power.powr(w, x, y)


def divide(w: Writer, x: Value, y: Value) -> Value:
    return x / y


def recip(w: Writer, x: Value) -> Value:
    return 1.0 / x


def sin(w: Writer, x: Value) -> Value:
    return trigonometric.sin(w, x, far=False)


def cos(w: Writer, x: Value) -> Value:
    return trigonometric.cos(w, x, far=False)


def tan(w: Writer, x: Value) -> Value:
    return trigonometric.tan(w, x, far=False)


for _kind in ("native", "half"):
    instruction(f"{_kind}_divide", "T", "T")(divide)
    instruction(f"{_kind}_recip")(recip)
    instruction(f"{_kind}_rsqrt")(roots.rsqrt)
    instruction(f"{_kind}_sqrt")(roots.sqrt)
instruction("half_exp")(exponential.exp)
instruction("half_exp2")(exponential.exp2)
instruction("half_exp10")(exponential.exp10)
instruction("half_log")(logarithm.log)
instruction("half_log2")(logarithm.log2)
instruction("half_log10")(logarithm.log10)
instruction("half_powr", "T", "T")(power.powr)
instruction("half_sin")(sin)
instruction("half_cos")(cos)
instruction("half_tan")(tan)
