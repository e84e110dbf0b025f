"""Short functions: multiply-adds, minimum and maximum, rounding to integers, and OpenCL's "common" functions."""

from __future__ import annotations

from anyzero.compiler.builtins.double_word import two_sum
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value


@instruction("fma", "T", "T", "T", widened=False)
def fma(w: Writer, x: Value, y: Value, z: Value) -> Value:
    element = x.type.element
    if element == "double" or (element == "float" and w.fused):
        return w.exact_fma(x, y, z)
    # The product is exact in a format of twice the size. The sum is rounded to odd, which prevents a false tie in the
    # second rounding.
    wider = "float" if element == "half" else "double"
    a, b, c = (w.cast("fpext", each, wider) for each in (x, y, z))
    total, error = two_sum(w, a * b, c)
    bits = w.to_bits(total)
    opposed = (bits ^ w.to_bits(error)).ashr(bits.type.bits - 1)
    inexact = w.cast("sext", w.compare("one", error, 0.0), bits.type.element)
    even = ~bits & 1
    return w.cast("fptrunc", w.from_bits(bits + ((opposed | 1) & inexact & -even)), element)


@instruction("mad", "T", "T", "T")
def mad(w: Writer, x: Value, y: Value, z: Value) -> Value:
    return w.mad(x, y, z)


@instruction("fabs")
def fabs(w: Writer, x: Value) -> Value:
    return w.fabs(x)


@instruction("copysign", "T", "T")
def copysign(w: Writer, x: Value, y: Value) -> Value:
    return w.copysign(x, y)


@instruction("floor")
def floor(w: Writer, x: Value) -> Value:
    return w.floor(x)


@instruction("ceil")
def ceil(w: Writer, x: Value) -> Value:
    return w.intrinsic("ceil", x)


@instruction("trunc")
def trunc(w: Writer, x: Value) -> Value:
    return w.trunc(x)


@instruction("rint")
def rint(w: Writer, x: Value) -> Value:
    return w.nearest(x)


@instruction("round")
def round_(w: Writer, x: Value) -> Value:
    # The predecessor of one half: with one half itself, the sum could round up to the next integer.
    return w.trunc(x + w.copysign(x.like(0.5 - 2.0 ** -(format_of(x).fraction + 2)), x))


@instruction("fmin", "T", "T", widened=False)
def fmin(w: Writer, x: Value, y: Value) -> Value:
    if x.type.element != "half":
        return w.intrinsic("minnum", x, y)
    # For halves, LLVM lowers the intrinsic to a call per lane.
    return w.select(w.is_nan(x), y, w.select(w.compare("olt", y, x), y, x))


@instruction("fmax", "T", "T", widened=False)
def fmax(w: Writer, x: Value, y: Value) -> Value:
    if x.type.element != "half":
        return w.intrinsic("maxnum", x, y)
    return w.select(w.is_nan(x), y, w.select(w.compare("ogt", y, x), y, x))


@instruction("fmin_common", "T", "T")
def fmin_common(w: Writer, x: Value, y: Value) -> Value:
    return w.select(w.compare("olt", y, x), y, x)


@instruction("fmax_common", "T", "T")
def fmax_common(w: Writer, x: Value, y: Value) -> Value:
    return w.select(w.compare("olt", x, y), y, x)


@instruction("fclamp", "T", "T", "T", widened=False)
def fclamp(w: Writer, x: Value, low: Value, high: Value) -> Value:
    return fmin(w, fmax(w, x, low), high)


@instruction("maxmag", "T", "T", widened=False)
def maxmag(w: Writer, x: Value, y: Value) -> Value:
    a, b = w.fabs(x), w.fabs(y)
    return w.select(w.compare("ogt", a, b), x, w.select(w.compare("ogt", b, a), y, fmax(w, x, y)))


@instruction("minmag", "T", "T", widened=False)
def minmag(w: Writer, x: Value, y: Value) -> Value:
    a, b = w.fabs(x), w.fabs(y)
    return w.select(w.compare("olt", a, b), x, w.select(w.compare("olt", b, a), y, fmin(w, x, y)))


@instruction("fdim", "T", "T")
def fdim(w: Writer, x: Value, y: Value) -> Value:
    return w.select(w.compare("ole", x, y), x.like(0.0), x - y)


@instruction("degrees")
def degrees(w: Writer, x: Value) -> Value:
    return x * 57.29577951308232


@instruction("radians")
def radians(w: Writer, x: Value) -> Value:
    return x * 0.017453292519943295


@instruction("mix", "T", "T", "T")
def mix(w: Writer, x: Value, y: Value, a: Value) -> Value:
    return w.mad(y - x, a, x)


@instruction("step", "T", "T")
def step(w: Writer, edge: Value, x: Value) -> Value:
    return w.select(w.compare("olt", x, edge), x.like(0.0), 1.0)


@instruction("smoothstep", "T", "T", "T")
def smoothstep(w: Writer, low: Value, high: Value, x: Value) -> Value:
    t = (x - low) / (high - low)
    t = w.at_least(w.at_most(t, 1.0), 0.0)
    return t * t * w.mad(t, -2.0, 3.0)


@instruction("sign")
def sign(w: Writer, x: Value) -> Value:
    signed = w.select(w.compare("one", x, 0.0), w.copysign(x.like(1.0), x), x)
    return w.select(w.is_nan(x), x.like(0.0), signed)
