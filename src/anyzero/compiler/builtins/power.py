"""pow, powr, pown and rootn: 2^(y · log2 x), with the logarithm in double-word arithmetic, because an error of its last
bit would be multiplied by the size of the exponent.
"""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builtins.double_word import Double, add_to_constant, fast_two_sum, times
from anyzero.compiler.builtins.exponential import EXP2, lifted, reduce
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import horner, split
from anyzero.compiler.builtins.routine import unless
from anyzero.compiler.builtins.scaling import is_ordinary, parts
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

# log2((1 + s)/(1 - s)) = s · (FIRST + s² · (SECOND + s² · …)) for |s| ≤ 0.172.
FIRST = {
    "float": (2.885390043258667, 3.851926067000022e-08),
    "double": (2.8853900817779268, 4.0710547481862066e-17),
}
# From s² on; error 2^-32.0 of the whole.
SHORT_TAIL = (0.9617967009544373, 0.5770828723907471, 0.4117061495780945, 0.34022256731987)
SECOND = (0.9617966939259756, 5.0577616648125907e-17)
# From s⁴ on; error 2^-66.2 of the whole.
LONG_TAIL = (
    0.577078016355618,
    0.41219858309193935,
    0.3205989022738253,
    0.26230770108894735,
    0.22198400005578406,
    0.19125509374522265,
    0.1903861723882764,
)


def log2_double_word(w: Writer, x: Value, edges: bool) -> Double:
    """log2 of a positive number; `edges` handles denormals, zero and infinity."""
    element = x.type.element
    e, m = parts(w, x, denormals=edges)
    # s = (m - 1) / (m + 1), with the rounding error of the division.
    f, d = m - 1.0, m + 1.0
    d_low = m - (d - 1.0)
    inverse = 1.0 / d
    high = f * inverse
    s = Double(high, w.fma(-high, d_low, w.fma(-high, d, f)) * inverse)
    z = high * high
    if element == "double":
        square = Double(z, w.fma(high, high, -z) + high * s.low * 2.0)
        inner = times(w, square, add_to_constant(w, SECOND, z * split(w, z, LONG_TAIL)))
        series = add_to_constant(w, FIRST[element], inner)
    else:
        series = add_to_constant(w, FIRST[element], z * horner(w, z, SHORT_TAIL))
    product = times(w, s, series)
    total = fast_two_sum(w, e, product.high)
    low = total.low + product.low
    if not edges:
        return Double(total.high, low)
    edge = w.select(w.compare("oeq", x, 0.0), x.like(float("-inf")), x)
    inside = w.compare("ogt", x, 0.0) & w.compare("olt", x, float("inf"))
    return Double(w.select(inside, total.high, edge), low)


# A logarithm beyond this is out of every format's range, and its low word is out of the polynomial's.
LARGEST_LOG = 4096.0


def _power(w: Writer, x: Value, y: Double | Value, edges: bool) -> tuple[Value, Value]:
    """|x|^y, and y · log2 |x|. Without `edges`, for ordinary numbers `x` and logarithms within LARGEST_LOG."""
    log = log2_double_word(w, w.fabs(x) if edges else x, edges)
    factor = y.high if isinstance(y, Double) else y
    high = factor * log.high
    low = w.fma(factor, log.low, w.fma(factor, log.high, -high))
    if isinstance(y, Double):
        low = w.fma(y.low, log.high, low)
    if edges:
        low = w.select(w.compare("olt", w.fabs(high), LARGEST_LOG), low, 0.0)
    base = EXP2[high.type.element]
    octaves = reduce(w, high, base)
    return lifted(w, split(w, octaves.rest + low, base.power, lead=2), octaves), high


def _quick(w: Writer, x: Value, y: Double | Value, name: str, emit: Callable[..., Value], given: Value) -> Value:
    """The fast power if no lane is a special case; else the code of `emit` for `x` and the original exponent."""
    result, log = _power(w, x, y, edges=False)
    usual = is_ordinary(w, x) & w.compare("olt", w.fabs(log), LARGEST_LOG)
    return unless(w, ~usual, result, f"{name}.edges", emit, x, given)


def _pow_edges(w: Writer, x: Value, y: Value) -> Value:
    result, _ = _power(w, x, y, edges=True)
    half = y * 0.5
    whole = w.compare("oeq", w.nearest(y), y)
    odd = whole & w.compare("one", w.nearest(half), half)
    negative = w.compare("slt", w.to_bits(x), 0)
    result = w.select(negative & odd, -result, result)
    # Negative finite numbers have integral powers only; zero and infinity have all, with either sign.
    none = w.compare("olt", x, 0.0) & w.compare("olt", w.fabs(x), float("inf")) & ~whole
    result = w.select(none, x.like(float("nan")), result)
    one = w.compare("oeq", y, 0.0) | w.compare("oeq", x, 1.0)
    one = one | (w.compare("oeq", x, -1.0) & w.is_infinite(y))
    return w.select(one, x.like(1.0), result)


def _powr_edges(w: Writer, x: Value, y: Value) -> Value:
    """0^0, ∞^0 and 1^∞ are NaN, as y · log2 x is."""
    result, _ = _power(w, x, y, edges=True)
    return w.select(w.compare("olt", x, 0.0), x.like(float("nan")), result)


@instruction("pow", "T", "T")
def pow_(w: Writer, x: Value, y: Value) -> Value:
    return _quick(w, x, y, "pow", _pow_edges, y)


@instruction("powr", "T", "T")
def powr(w: Writer, x: Value, y: Value) -> Value:
    return _quick(w, x, y, "powr", _powr_edges, y)


def _integer(w: Writer, n: Value, element: str) -> Double | Value:
    """A 32-bit integer, converted exactly."""
    if element == "double":
        return w.cast("sitofp", n, element)
    high = w.cast("sitofp", n & ~0x7F, element)
    return fast_two_sum(w, high, w.cast("sitofp", n & 0x7F, element))


def _odd_sign(w: Writer, x: Value, n: Value, result: Value) -> Value:
    """The sign of `x`, if `n` is odd."""
    negative = w.compare("slt", w.to_bits(x), 0) & w.compare("ne", n & 1, 0)
    return w.select(negative, -result, result)


def _pown_edges(w: Writer, x: Value, n: Value) -> Value:
    result, _ = _power(w, x, _integer(w, n, x.type.element), edges=True)
    return w.select(w.compare("eq", n, 0), x.like(1.0), _odd_sign(w, x, n, result))


@instruction("pown", "T", "i32")
def pown(w: Writer, x: Value, n: Value) -> Value:
    return _quick(w, x, _integer(w, n, x.type.element), "pown", _pown_edges, n)


@instruction("rootn", "T", "i32")
def rootn(w: Writer, x: Value, n: Value) -> Value:
    count = _integer(w, n, x.type.element)
    whole = count.high if isinstance(count, Double) else count
    inverse = 1.0 / whole
    left = w.fma(-inverse, whole, 1.0)
    if isinstance(count, Double):
        left = w.fma(-inverse, count.low, left)
    result, _ = _power(w, x, Double(inverse, left * inverse), edges=True)
    result = _odd_sign(w, x, n, result)
    none = w.compare("olt", x, 0.0) & w.compare("eq", n & 1, 0)
    return w.select(none | w.compare("eq", n, 0), x.like(float("nan")), result)
