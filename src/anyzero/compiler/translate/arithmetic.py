"""Arithmetic, bits, comparisons and logic."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.builder import Builder
from anyzero.compiler.folding import width
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, each, leaves

_INTEGERS = {
    Opcode.IAdd: "add",
    Opcode.ISub: "sub",
    Opcode.IMul: "mul",
    Opcode.UDiv: "udiv",
    Opcode.SDiv: "sdiv",
    Opcode.UMod: "urem",
    Opcode.SRem: "srem",
    Opcode.BitwiseOr: "or",
    Opcode.BitwiseXor: "xor",
    Opcode.BitwiseAnd: "and",
    Opcode.LogicalOr: "or",
    Opcode.LogicalAnd: "and",
    Opcode.LogicalNotEqual: "xor",
}
_WRAP = {Opcode.IAdd, Opcode.ISub, Opcode.IMul}
_SHIFTS = {
    Opcode.ShiftLeftLogical: "shl",
    Opcode.ShiftRightLogical: "lshr",
    Opcode.ShiftRightArithmetic: "ashr",
}
_FLOATS = {
    Opcode.FAdd: "fadd",
    Opcode.FSub: "fsub",
    Opcode.FMul: "fmul",
    Opcode.FDiv: "fdiv",
    Opcode.FRem: "frem",
}
_CONTRACT = {Opcode.FAdd, Opcode.FSub, Opcode.FMul}
_INTEGER_ORDER = {
    Opcode.IEqual: "eq",
    Opcode.INotEqual: "ne",
    Opcode.PtrEqual: "eq",
    Opcode.PtrNotEqual: "ne",
    Opcode.UGreaterThan: "ugt",
    Opcode.SGreaterThan: "sgt",
    Opcode.UGreaterThanEqual: "uge",
    Opcode.SGreaterThanEqual: "sge",
    Opcode.ULessThan: "ult",
    Opcode.SLessThan: "slt",
    Opcode.ULessThanEqual: "ule",
    Opcode.SLessThanEqual: "sle",
}
_FLOAT_ORDER = {
    Opcode.FOrdEqual: "oeq",
    Opcode.FUnordEqual: "ueq",
    Opcode.FOrdNotEqual: "one",
    Opcode.FUnordNotEqual: "une",
    Opcode.FOrdLessThan: "olt",
    Opcode.FUnordLessThan: "ult",
    Opcode.FOrdGreaterThan: "ogt",
    Opcode.FUnordGreaterThan: "ugt",
    Opcode.FOrdLessThanEqual: "ole",
    Opcode.FUnordLessThanEqual: "ule",
    Opcode.FOrdGreaterThanEqual: "oge",
    Opcode.FUnordGreaterThanEqual: "uge",
    Opcode.LessOrGreater: "one",
    Opcode.Ordered: "ord",
    Opcode.Unordered: "uno",
}
_INFINITY = {"half": 0x7C00, "float": 0x7F800000, "double": 0x7FF0000000000000}
_SMALLEST_NORMAL = {"half": 0x0400, "float": 0x00800000, "double": 0x0010000000000000}


@translates(*_INTEGERS)
def integers(f: Scope, i: Instruction) -> Tree:
    name, (first, second) = _INTEGERS[i.opcode], i.operands
    flags = f.wrap_flags(i.result_id) if i.opcode in _WRAP else ""
    return each(lambda a, b: f.b.binary(name, a, b, flags), f.value(first), f.value(second))


@translates(*_SHIFTS)
def shift(f: Scope, i: Instruction) -> Tree:
    name, (base, by) = _SHIFTS[i.opcode], i.operands
    flags = f.wrap_flags(i.result_id) if i.opcode == Opcode.ShiftLeftLogical else ""
    return each(lambda a, b: f.b.binary(name, a, f.b.resized(b, a.type), flags), f.value(base), f.value(by))


@translates(*_FLOATS)
def floats(f: Scope, i: Instruction) -> Tree:
    name, flags = _FLOATS[i.opcode], f.float_flags(i.result_id, i.opcode in _CONTRACT)
    return each(lambda a, b: f.b.float_binary(name, a, b, flags), *map(f.value, i.operands))


@translates(Opcode.FmaKHR)
def fused(f: Scope, i: Instruction) -> Tree:
    return each(
        lambda *args: f.b.flush(f.b.math("fma", args[0].type, *map(f.b.flush, args))), *map(f.value, i.operands)
    )


@translates(Opcode.FNegate)
def negate_float(f: Scope, i: Instruction) -> Tree:
    flags = f.float_flags(i.result_id)
    return each(lambda a: f.b.fneg(a, flags), f.value(i.operands[0]))


@translates(Opcode.SNegate)
def negate(f: Scope, i: Instruction) -> Tree:
    flags = f.wrap_flags(i.result_id)
    return each(lambda a: f.b.sub(f.b.const(a.type, 0), a, flags), f.value(i.operands[0]))


@translates(Opcode.Not, Opcode.LogicalNot)
def invert(f: Scope, i: Instruction) -> Tree:
    return each(f.b.not_, f.value(i.operands[0]))


@translates(Opcode.LogicalEqual)
def both_or_none(f: Scope, i: Instruction) -> Tree:
    return each(lambda a, b: f.b.not_(f.b.xor(a, b)), *map(f.value, i.operands))


@translates(Opcode.SMod)
def modulo(f: Scope, i: Instruction) -> Tree:
    """The remainder, with the divisor's sign."""
    b = f.b

    def one(dividend: Op, divisor: Op) -> Op:
        rest, zero = b.binary("srem", dividend, divisor), b.const(dividend.type, 0)
        other_sign = b.icmp("slt", b.xor(rest, divisor), zero)
        return b.select(b.and_(b.icmp("ne", rest, zero), other_sign), b.add(rest, divisor), rest)

    return each(one, *map(f.value, i.operands))


@translates(Opcode.FMod)
def float_modulo(f: Scope, i: Instruction) -> Tree:
    b, flags = f.b, f.float_flags(i.result_id)

    def one(dividend: Op, divisor: Op) -> Op:
        dividend, divisor = b.flush(dividend), b.flush(divisor)
        with b.keeping_denormals():
            rest, zero = b.float_binary("frem", dividend, divisor, flags), b.const(dividend.type, 0)
            other_sign = b.xor(b.fcmp("olt", rest, zero), b.fcmp("olt", divisor, zero))
            adjust = b.and_(b.fcmp("one", rest, zero), other_sign)
            found = b.select(adjust, b.float_binary("fadd", rest, divisor, flags), rest)
        # A zero result has the divisor's sign too.
        return b.flush(b.intrinsic("copysign", found, divisor))

    return each(one, *map(f.value, i.operands))


@translates(Opcode.VectorTimesScalar)
def scale(f: Scope, i: Instruction) -> Tree:
    factor, flags = f.scalar(i.operands[1]), f.float_flags(i.result_id, contract=True)
    return each(lambda a: f.b.float_binary("fmul", a, factor, flags), f.value(i.operands[0]))


@translates(Opcode.Dot)
def dot(f: Scope, i: Instruction) -> Tree:
    b, flags = f.b, f.float_flags(i.result_id, contract=True)
    first, second = (f.components(id_) for id_ in i.operands)
    products = [b.float_binary("fmul", x, y, flags) for x, y in zip(first, second, strict=True)]
    total = products[0]
    for product in products[1:]:
        total = b.float_binary("fadd", total, product, flags)
    return total


_SIGNED_FIRST = {Opcode.SDot, Opcode.SUDot, Opcode.SDotAccSat, Opcode.SUDotAccSat}
_SIGNED_SECOND = {Opcode.SDot, Opcode.SDotAccSat}
_PLAIN_DOTS = {Opcode.SDot, Opcode.UDot, Opcode.SUDot}


@translates(*_PLAIN_DOTS, Opcode.SDotAccSat, Opcode.UDotAccSat, Opcode.SUDotAccSat)
def integer_dot(f: Scope, i: Instruction) -> Tree:
    b, type_ = f.b, f"i{f.types[i.result_id].bits}"
    first, second = (_bytes_of(b, f.components(id_)) for id_ in i.operands[:2])
    total: Op | None = None
    for x, y in zip(first, second, strict=True):
        product = b.mul(b.resized(x, type_, i.opcode in _SIGNED_FIRST), b.resized(y, type_, i.opcode in _SIGNED_SECOND))
        total = product if total is None else b.add(total, product)
    assert total is not None
    if i.opcode in _PLAIN_DOTS:
        return total
    name = "u_add_sat" if i.opcode == Opcode.UDotAccSat else "s_add_sat"
    return b.math(name, type_, total, f.scalar(i.operands[2]))


def _bytes_of(b: Builder, components: tuple[Op, ...]) -> list[Op]:
    """Components as bytes; an operand may be four bytes packed into an integer."""
    if len(components) > 1:
        return list(components)
    word = components[0]
    return [b.cast("trunc", b.lshr(word, b.const(word.type, at)), "i8") for at in (0, 8, 16, 24)]


@translates(Opcode.IAddCarry)
def add_carry(f: Scope, i: Instruction) -> Tree:
    first, second = map(f.value, i.operands)
    total = each(f.b.add, first, second)
    return total, each(lambda a, b: f.b.cast("zext", f.b.icmp("ult", a, b), b.type), total, first)


@translates(Opcode.ISubBorrow)
def subtract_borrow(f: Scope, i: Instruction) -> Tree:
    first, second = map(f.value, i.operands)
    borrow = each(lambda a, b: f.b.cast("zext", f.b.icmp("ult", a, b), b.type), first, second)
    return each(f.b.sub, first, second), borrow


@translates(Opcode.UMulExtended, Opcode.SMulExtended)
def multiply_extended(f: Scope, i: Instruction) -> Tree:
    first, second = map(f.value, i.operands)
    name = "u_mul_hi" if i.opcode == Opcode.UMulExtended else "s_mul_hi"
    return each(f.b.mul, first, second), each(lambda a, b: f.b.math(name, a.type, a, b), first, second)


@translates(Opcode.BitFieldInsert)
def insert_bits(f: Scope, i: Instruction) -> Tree:
    b, (base, insert, at, size) = f.b, i.operands

    def one(into: Op, bits: Op) -> Op:
        type_ = into.type
        offset, count = b.resized(f.scalar(at), type_), b.resized(f.scalar(size), type_)
        ones = b.lshr(b.const(type_, -1), b.sub(b.const(type_, width(type_)), count))
        mask = b.shl(ones, offset)
        changed = b.or_(b.and_(into, b.not_(mask)), b.and_(b.shl(bits, offset), mask))
        return b.select(b.is_zero(count), into, changed)

    return each(one, f.value(base), f.value(insert))


@translates(Opcode.BitFieldSExtract, Opcode.BitFieldUExtract)
def extract_bits(f: Scope, i: Instruction) -> Tree:
    b, (base, at, size) = f.b, i.operands
    name = "ashr" if i.opcode == Opcode.BitFieldSExtract else "lshr"

    def one(from_: Op) -> Op:
        type_ = from_.type
        offset, count = b.resized(f.scalar(at), type_), b.resized(f.scalar(size), type_)
        unused = b.sub(b.const(type_, width(type_)), count)
        found = b.binary(name, b.shl(from_, b.sub(unused, offset)), unused)
        return b.select(b.is_zero(count), b.const(type_, 0), found)

    return each(one, f.value(base))


@translates(Opcode.BitCount)
def count_bits(f: Scope, i: Instruction) -> Tree:
    scalar = f.types[i.result_id].scalar
    assert scalar is not None
    type_ = f"i{scalar.bits}"
    return each(lambda a: f.b.resized(f.b.intrinsic("ctpop", a), type_), f.value(i.operands[0]))


@translates(Opcode.BitReverse)
def reverse_bits(f: Scope, i: Instruction) -> Tree:
    return each(lambda a: f.b.intrinsic("bitreverse", a), f.value(i.operands[0]))


@translates(*_INTEGER_ORDER)
def compare_integers(f: Scope, i: Instruction) -> Tree:
    predicate = _INTEGER_ORDER[i.opcode]
    return each(lambda a, b: f.b.icmp(predicate, a, b), *map(f.value, i.operands))


@translates(*_FLOAT_ORDER)
def compare_floats(f: Scope, i: Instruction) -> Tree:
    predicate, flags = _FLOAT_ORDER[i.opcode], f.float_flags(i.result_id)
    return each(lambda a, b: f.b.fcmp(predicate, a, b, flags), *map(f.value, i.operands))


def _is_nan(b: Builder, a: Op) -> Op:
    return b.fcmp("uno", a, a)


def _is_infinite(b: Builder, a: Op) -> Op:
    return b.fcmp("oeq", b.intrinsic("fabs", a), b.const(a.type, _INFINITY[a.type]))


def _is_finite(b: Builder, a: Op) -> Op:
    return b.fcmp("olt", b.intrinsic("fabs", a), b.const(a.type, _INFINITY[a.type]))


def _is_normal(b: Builder, a: Op) -> Op:
    """Tests the bits: a comparison would flush denormals if that mode is set."""
    bits = b.as_integer(a)
    magnitude = b.and_(bits, b.const(bits.type, (1 << (width(a.type) - 1)) - 1))
    above = b.sub(magnitude, b.const(bits.type, _SMALLEST_NORMAL[a.type]))
    return b.icmp("ult", above, b.const(bits.type, _INFINITY[a.type] - _SMALLEST_NORMAL[a.type]))


def _has_sign(b: Builder, a: Op) -> Op:
    bits = b.as_integer(a)
    return b.icmp("slt", bits, b.const(bits.type, 0))


_CLASSES: dict[int, Callable[[Builder, Op], Op]] = {
    Opcode.IsNan: _is_nan,
    Opcode.IsInf: _is_infinite,
    Opcode.IsFinite: _is_finite,
    Opcode.IsNormal: _is_normal,
    Opcode.SignBitSet: _has_sign,
}


@translates(*_CLASSES)
def classify(f: Scope, i: Instruction) -> Tree:
    test = _CLASSES[i.opcode]
    return each(lambda a: test(f.b, a), f.value(i.operands[0]))


@translates(Opcode.Any, Opcode.All)
def any_or_all(f: Scope, i: Instruction) -> Tree:
    # Integers are tested by sign, as in the OpenCL functions that such vectors come from.
    given = f.components(i.operands[0])
    first, *rest = given if given[0].type == "i1" else [_has_sign(f.b, component) for component in given]
    for component in rest:
        first = f.b.or_(first, component) if i.opcode == Opcode.Any else f.b.and_(first, component)
    return first


@translates(Opcode.Select)
def select(f: Scope, i: Instruction) -> Tree:
    choice, then, otherwise = map(f.value, i.operands)
    if isinstance(choice, Op):
        condition = choice
        return each(lambda a, b: f.b.select(condition, a, b), then, otherwise)
    assert len(leaves(choice)) == len(leaves(then))
    return each(f.b.select, choice, then, otherwise)
