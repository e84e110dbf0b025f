"""Integer functions, of every width. Signed and unsigned ones differ by the first letter of their names."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builtins.formats import INTEGERS
from anyzero.compiler.builtins.instructions import Emit, instruction
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

NARROW = ("i8", "i16", "i32")


def integers(name: str, *parameters: str, elements: tuple[str, ...] = INTEGERS) -> Callable[[Emit], Emit]:
    return instruction(name, *parameters, elements=elements)


def _wide(w: Writer, signed: bool, x: Value) -> Value:
    return w.cast("sext" if signed else "zext", x, f"i{2 * x.type.bits}")


def product_high(w: Writer, signed: bool, x: Value, y: Value) -> Value:
    """The upper half of the product."""
    bits = x.type.bits
    if bits < 64:
        return w.cast("trunc", (_wide(w, signed, x) * _wide(w, signed, y)).lshr(bits), x.type.element)
    # Schoolbook multiplication by halves: there is no 128-bit vector multiplication.
    low = (1 << 32) - 1
    xl, yl = x & low, y & low
    xh, yh = (x.ashr(32), y.ashr(32)) if signed else (x.lshr(32), y.lshr(32))
    middle = xh * yl + (xl * yl).lshr(32)
    other = xl * yh + (middle & low)
    if signed:
        return xh * yh + middle.ashr(32) + other.ashr(32)
    return xh * yh + middle.lshr(32) + other.lshr(32)


@integers("s_abs")
def s_abs(w: Writer, x: Value) -> Value:
    negative = x.ashr(x.type.bits - 1)
    return (x ^ negative) - negative


@integers("u_abs")
def u_abs(w: Writer, x: Value) -> Value:
    return x


@integers("s_abs_diff", "T", "T")
def s_abs_diff(w: Writer, x: Value, y: Value) -> Value:
    return w.intrinsic("smax", x, y) - w.intrinsic("smin", x, y)


@integers("u_abs_diff", "T", "T")
def u_abs_diff(w: Writer, x: Value, y: Value) -> Value:
    return w.intrinsic("umax", x, y) - w.intrinsic("umin", x, y)


def _by_intrinsic(name: str, intrinsic: str) -> None:
    @integers(name, "T", "T")
    def emit(w: Writer, x: Value, y: Value) -> Value:
        return w.intrinsic(intrinsic, x, y)


for _sign in "su":
    for _name in ("add_sat", "sub_sat", "max", "min"):
        _by_intrinsic(f"{_sign}_{_name}", f"{_sign}{_name.replace('_', '.')}")


@integers("s_hadd", "T", "T")
def s_hadd(w: Writer, x: Value, y: Value) -> Value:
    return (x & y) + (x ^ y).ashr(1)


@integers("u_hadd", "T", "T")
def u_hadd(w: Writer, x: Value, y: Value) -> Value:
    return (x & y) + (x ^ y).lshr(1)


@integers("s_rhadd", "T", "T")
def s_rhadd(w: Writer, x: Value, y: Value) -> Value:
    return (x | y) - (x ^ y).ashr(1)


@integers("u_rhadd", "T", "T")
def u_rhadd(w: Writer, x: Value, y: Value) -> Value:
    return (x | y) - (x ^ y).lshr(1)


@integers("s_clamp", "T", "T", "T")
def s_clamp(w: Writer, x: Value, low: Value, high: Value) -> Value:
    return w.intrinsic("smin", w.intrinsic("smax", x, low), high)


@integers("u_clamp", "T", "T", "T")
def u_clamp(w: Writer, x: Value, low: Value, high: Value) -> Value:
    return w.intrinsic("umin", w.intrinsic("umax", x, low), high)


def count_zeros(w: Writer, name: str, x: Value) -> Value:
    """The number of bits for zero."""
    return w.apply(_declared(w, name, x), x.type, x, also=", i1 false")


def _declared(w: Writer, name: str, x: Value) -> str:
    full = f"llvm.{name}.{x.type.mangled}"
    w.intrinsics.setdefault(full, f"declare {x.type} @{full}({x.type}, i1)")
    return full


@integers("clz")
def clz(w: Writer, x: Value) -> Value:
    return count_zeros(w, "ctlz", x)


@integers("ctz")
def ctz(w: Writer, x: Value) -> Value:
    return count_zeros(w, "cttz", x)


@integers("popcount")
def popcount(w: Writer, x: Value) -> Value:
    return w.intrinsic("ctpop", x)


@integers("rotate", "T", "T")
def rotate(w: Writer, x: Value, by: Value) -> Value:
    return w.intrinsic("fshl", x, x, by)


@integers("s_mul_hi", "T", "T")
def s_mul_hi(w: Writer, x: Value, y: Value) -> Value:
    return product_high(w, True, x, y)


@integers("u_mul_hi", "T", "T")
def u_mul_hi(w: Writer, x: Value, y: Value) -> Value:
    return product_high(w, False, x, y)


@integers("s_mad_hi", "T", "T", "T")
def s_mad_hi(w: Writer, x: Value, y: Value, z: Value) -> Value:
    return product_high(w, True, x, y) + z


@integers("u_mad_hi", "T", "T", "T")
def u_mad_hi(w: Writer, x: Value, y: Value, z: Value) -> Value:
    return product_high(w, False, x, y) + z


@integers("s_mad_sat", "T", "T", "T")
def s_mad_sat(w: Writer, x: Value, y: Value, z: Value) -> Value:
    bits = x.type.bits
    highest = (1 << (bits - 1)) - 1
    if bits < 64:
        exact = _wide(w, True, x) * _wide(w, True, y) + _wide(w, True, z)
        exact = w.intrinsic("smin", w.intrinsic("smax", exact, -highest - 1), highest)
        return w.cast("trunc", exact, x.type.element)
    # The product in two halves plus z; it overflows unless the upper half is the sign extension of the lower.
    low = x * y
    high = product_high(w, True, x, y)
    total = low + z
    high = high + z.ashr(63) + w.cast("zext", w.compare("ult", total, low), "i64")
    fits = w.compare("eq", high, total.ashr(63))
    return w.select(fits, total, high.ashr(63) ^ highest)


@integers("u_mad_sat", "T", "T", "T")
def u_mad_sat(w: Writer, x: Value, y: Value, z: Value) -> Value:
    bits = x.type.bits
    if bits < 64:
        exact = _wide(w, False, x) * _wide(w, False, y) + _wide(w, False, z)
        return w.cast("trunc", w.intrinsic("umin", exact, (1 << bits) - 1), x.type.element)
    low = w.select(w.compare("eq", product_high(w, False, x, y), 0), x * y, -1)
    return w.intrinsic("uadd.sat", low, z)


def _low24(w: Writer, signed: bool, x: Value) -> Value:
    """Extends the low 24 bits; LLVM removes this if it knows the upper ones."""
    extra = max(x.type.bits - 24, 0)
    if not extra:
        return x
    return x.shl(extra).ashr(extra) if signed else x & 0xFFFFFF


@integers("s_mul24", "T", "T")
def s_mul24(w: Writer, x: Value, y: Value) -> Value:
    return _low24(w, True, x) * _low24(w, True, y)


@integers("u_mul24", "T", "T")
def u_mul24(w: Writer, x: Value, y: Value) -> Value:
    return _low24(w, False, x) * _low24(w, False, y)


@integers("s_mad24", "T", "T", "T")
def s_mad24(w: Writer, x: Value, y: Value, z: Value) -> Value:
    return _low24(w, True, x) * _low24(w, True, y) + z


@integers("u_mad24", "T", "T", "T")
def u_mad24(w: Writer, x: Value, y: Value, z: Value) -> Value:
    return _low24(w, False, x) * _low24(w, False, y) + z


def _upsample(w: Writer, high: Value, low: Value) -> Value:
    wide = w.cast("zext", high, f"i{2 * high.type.bits}").shl(high.type.bits)
    return wide | w.cast("zext", low, wide.type.element)


# The lower half is unsigned in both, so they share one function.
integers("s_upsample", "T", "T", elements=NARROW)(_upsample)
integers("u_upsample", "T", "T", elements=NARROW)(_upsample)
