"""log, log2, log10 and log1p: the exponent plus a polynomial of the significand."""

from __future__ import annotations

from anyzero.compiler.builtins import register_tables
from anyzero.compiler.builtins.exponential import LN2, LOG10_2
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import split
from anyzero.compiler.builtins.routine import unless
from anyzero.compiler.builtins.scaling import SQRT_HALF_BITS, is_ordinary, parts
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value
from anyzero.lazy_dataclass import dataclass

# log(1 + f), log2(1 + f) and log10(1 + f) from √½ to √2, linear term first; relative error 2^-24.7 at most.
SHORT_LOG = (
    1.0,
    -0.49999991059303284,
    0.33333954215049744,
    -0.25001826882362366,
    0.19961954653263092,
    -0.16568425297737122,
    0.14917020499706268,
    -0.14324115216732025,
    0.08759971708059311,
)
SHORT_LOG2 = (
    1.4426950216293335,
    -0.7213473916053772,
    0.4809092581272125,
    -0.3606993556022644,
    0.2879396677017212,
    -0.23905174434185028,
    0.21568533778190613,
    -0.20652906596660614,
    0.1248367577791214,
)
SHORT_LOG10 = (
    0.4342944920063019,
    -0.21714721620082855,
    0.14476649463176727,
    -0.10858070850372314,
    0.08671706169843674,
    -0.07197228074073792,
    0.06461067497730255,
    -0.0621144101023674,
    0.03839297220110893,
)
# (2 artanh(s) - 2 s) / s in powers of s², from s² on, for |s| ≤ 0.172; error 2^-58.4.
LONG_LOG = (
    0.6666666666666734,
    0.39999999999416525,
    0.28571428742071175,
    0.22222198599308204,
    0.18183563207149733,
    0.1531407446867468,
    0.14795748486117466,
)
LOG2_E, LOG10_E = 1.4426950408889634, 0.4342944819032518


def _near_one(w: Writer, f: Value) -> Value:
    """log(1 + f) of a double. Written around f - f²/2, whose rounding errors stay below the result's own."""
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    rest = z * split(w, z, LONG_LOG)
    return f - (half_square - s * (half_square + rest))


def combine(w: Writer, e: Value, f: Value, octave: tuple[float, float], short: tuple[float, ...], unit: float) -> Value:
    """The logarithm of 2^e · (1 + f) to the base whose octave is given; `unit` is the base's log_b(e)."""
    if f.type.element == "double":
        log = _near_one(w, f)
        if unit == LOG2_E:
            return w.mad(log, unit, e)
        return w.mad(e, octave[0], w.mad(e, octave[1], log * unit if unit != 1.0 else log))
    if unit == 1.0:
        curved = split(w, f, short[1:])
        return w.mad(e, octave[0], w.mad(f * f, curved, w.mad(e, octave[1], f)))
    slope = split(w, f, short, lead=1)
    if octave[1] == 0.0:
        return w.mad(f, slope, e)
    return w.mad(e, octave[0], w.mad(f, slope, e * octave[1]))


def edges(w: Writer, x: Value, result: Value) -> Value:
    """The special cases of a logarithm: zero, infinity, negative numbers and NaN."""
    outside = w.select(w.compare("oeq", x, 0.0), x.like(float("-inf")), float("nan"))
    inside = w.select(w.compare("oeq", x, float("inf")), x, result)
    return w.select(w.compare("ogt", x, 0.0), inside, outside)


@dataclass(frozen=True, eq=False)
class Base:
    """Constants for log_b, with its fast and its general path."""

    name: str
    octave: dict[str, tuple[float, float]]
    """log_b(2), in two pieces."""
    short: tuple[float, ...]
    unit: float
    """log_b(e)"""

    def log(self, w: Writer, x: Value) -> Value:
        """Fast path for ordinary numbers; special cases would take a third of the instructions."""
        quick = self._inside(w, *parts(w, x, denormals=False))
        return unless(w, ~is_ordinary(w, x), quick, f"{self.name}.edges", self.everywhere, x)

    def everywhere(self, w: Writer, x: Value) -> Value:
        return edges(w, x, self._inside(w, *parts(w, x)))

    def _inside(self, w: Writer, e: Value, m: Value) -> Value:
        return combine(w, e, m - 1.0, self.octave[m.type.element], self.short, self.unit)


NATURAL = Base("log", LN2, SHORT_LOG, 1.0)
BINARY = Base("log2", {"float": (1.0, 0.0), "double": (1.0, 0.0)}, SHORT_LOG2, LOG2_E)
DECIMAL = Base("log10", LOG10_2, SHORT_LOG10, LOG10_E)


def _by_table_or_series(
    w: Writer, x: Value, base: Base, table: register_tables.Numbers, series: register_tables.Numbers
) -> Value:
    if x.type.element in table and register_tables.possible(w, x):
        return register_tables.logarithm(w, x, base.octave[x.type.element][0], table, series)
    return base.log(w, x)


@instruction("log")
def log(w: Writer, x: Value) -> Value:
    return _by_table_or_series(w, x, NATURAL, register_tables.LOG_TABLE, register_tables.LOG_SERIES)


@instruction("log2")
def log2(w: Writer, x: Value) -> Value:
    return _by_table_or_series(w, x, BINARY, register_tables.LOG2_TABLE, register_tables.LOG2_SERIES)


@instruction("log10")
def log10(w: Writer, x: Value) -> Value:
    return _by_table_or_series(w, x, DECIMAL, register_tables.LOG10_TABLE, register_tables.LOG10_SERIES)


def log_above_one(w: Writer, x: Value) -> Value:
    """log(1 + x) for x above -1 and finite. The exponent is that of the rounded sum, but the significand is taken from
    `x` itself, by one multiplication and addition: (1 + x) · 2^-e - 1.
    """
    format_ = format_of(x)
    low = SQRT_HALF_BITS[format_.element]
    bits = w.to_bits(x + 1.0) + (format_.one_bits - low)
    anchor = 2.0**format_.fraction
    biased = bits.lshr(format_.fraction)
    e = w.from_bits(biased | w.to_bits(x.like(anchor))) - (anchor + format_.bias)
    # Four times 2^-e, which stays normal at the largest exponents.
    inverse = w.from_bits((biased.like(2 * format_.bias + 2) - biased).shl(format_.fraction))
    f = w.fma(x * 0.25, inverse, w.fma(inverse, 0.25, -1.0))
    return combine(w, e, f, LN2[format_.element], SHORT_LOG, 1.0)


@instruction("log1p")
def log1p(w: Writer, x: Value) -> Value:
    format_ = format_of(x)
    result = edges(w, x + 1.0, log_above_one(w, x))
    return w.select(w.compare("olt", w.fabs(x), 2.0 ** -(format_.fraction + 2)), x, result)
