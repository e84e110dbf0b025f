"""OpSpecConstantOp: constant folding after specialization."""

from __future__ import annotations

import math
from collections.abc import Callable

from anyzero.compiler.spirv.constants import (
    Composite,
    Constant,
    Expression,
    Null,
    Undef,
    bits_of,
    element,
    float_of,
    from_lanes,
    lanes,
)
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import Bool, Float, Int, Type, Vector

# Operations on addresses are not folded: addresses are known only when the code is loaded.
ADDRESS = frozenset(
    {
        Op.ConvertPtrToU,
        Op.ConvertUToPtr,
        Op.PtrCastToGeneric,
        Op.GenericCastToPtr,
        Op.AccessChain,
        Op.InBoundsAccessChain,
        Op.PtrAccessChain,
        Op.InBoundsPtrAccessChain,
        Op.PtrEqual,
        Op.PtrNotEqual,
        Op.PtrDiff,
        Op.CopyObject,
    }
)


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _quotient(a: int, b: int) -> int:
    """Division that rounds toward zero, unlike Python's."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _rest(a: int, b: int) -> int:
    return a - _quotient(a, b) * b


def _shift(value: int, by: int, width: int) -> int | None:
    return (value << by if by >= 0 else value >> -by) if abs(by) < width else None


def _divide(a: float, b: float) -> float:
    if b == 0.0:
        return math.nan if a == 0.0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _remainder(a: float, b: float) -> float:
    return math.nan if math.isinf(a) or b == 0.0 else math.fmod(a, b)


def _modulo(a: float, b: float) -> float:
    rest = _remainder(a, b)
    return rest + b if rest != 0.0 and (rest < 0.0) != (b < 0.0) else rest


Unsigned = Callable[..., "int | None"]

# On unsigned values and the operands' width; the result is truncated to its own width. None is undefined.
INTEGER: dict[int, Unsigned] = {
    Op.SNegate: lambda w, a: -a,
    Op.Not: lambda w, a: ~a,
    Op.IAdd: lambda w, a, b: a + b,
    Op.ISub: lambda w, a, b: a - b,
    Op.IMul: lambda w, a, b: a * b,
    Op.UDiv: lambda w, a, b: a // b if b else None,
    Op.UMod: lambda w, a, b: a % b if b else None,
    Op.SDiv: lambda w, a, b: _quotient(_signed(a, w), _signed(b, w)) if b else None,
    Op.SRem: lambda w, a, b: _rest(_signed(a, w), _signed(b, w)) if b else None,
    Op.SMod: lambda w, a, b: _signed(a, w) % _signed(b, w) if b else None,
    Op.ShiftLeftLogical: lambda w, a, b: _shift(a, b, w),
    Op.ShiftRightLogical: lambda w, a, b: _shift(a, -b, w),
    Op.ShiftRightArithmetic: lambda w, a, b: _shift(_signed(a, w), -b, w),
    Op.BitwiseOr: lambda w, a, b: a | b,
    Op.BitwiseXor: lambda w, a, b: a ^ b,
    Op.BitwiseAnd: lambda w, a, b: a & b,
    Op.IEqual: lambda w, a, b: a == b,
    Op.INotEqual: lambda w, a, b: a != b,
    Op.UGreaterThan: lambda w, a, b: a > b,
    Op.UGreaterThanEqual: lambda w, a, b: a >= b,
    Op.ULessThan: lambda w, a, b: a < b,
    Op.ULessThanEqual: lambda w, a, b: a <= b,
    Op.SGreaterThan: lambda w, a, b: _signed(a, w) > _signed(b, w),
    Op.SGreaterThanEqual: lambda w, a, b: _signed(a, w) >= _signed(b, w),
    Op.SLessThan: lambda w, a, b: _signed(a, w) < _signed(b, w),
    Op.SLessThanEqual: lambda w, a, b: _signed(a, w) <= _signed(b, w),
    Op.UConvert: lambda w, a: a,
    Op.SConvert: lambda w, a: _signed(a, w),
}

LOGICAL: dict[int, Unsigned] = {
    Op.LogicalEqual: lambda w, a, b: a == b,
    Op.LogicalNotEqual: lambda w, a, b: a != b,
    Op.LogicalOr: lambda w, a, b: a | b,
    Op.LogicalAnd: lambda w, a, b: a & b,
    Op.LogicalNot: lambda w, a: a ^ 1,
}

FLOAT: dict[int, Callable[..., float]] = {
    Op.FNegate: lambda a: -a,
    Op.FAdd: lambda a, b: a + b,
    Op.FSub: lambda a, b: a - b,
    Op.FMul: lambda a, b: a * b,
    Op.FDiv: _divide,
    Op.FRem: _remainder,
    Op.FMod: _modulo,
    Op.FConvert: lambda a: a,
}

SHIFTS = {Op.ShiftLeftLogical, Op.ShiftRightLogical, Op.ShiftRightArithmetic}
FROM_FLOAT = {Op.ConvertFToS, Op.ConvertFToU}
TO_FLOAT = {Op.ConvertSToF, Op.ConvertUToF}


def fold(id_: int, type_: Type, opcode: int, operands: list[Constant], literals: tuple[int, ...]) -> Constant:
    """The result of an operation; an Expression if an operand is an address.

    The number of operands must be right.
    """
    if opcode == Op.Select:
        return _select(id_, type_, operands[0], operands[1], operands[2])
    if opcode == Op.CompositeExtract:
        return _renamed(id_, type_, _part(operands[0], literals))
    if opcode == Op.CompositeInsert:
        return _renamed(id_, type_, _insert(operands[0], operands[1], literals))
    if opcode == Op.VectorShuffle:
        return _shuffle(id_, type_, operands[0], operands[1], literals)
    values = [lanes(operand) for operand in operands]
    if opcode in ADDRESS or (opcode == Op.Bitcast and (None in values or type_.scalar is None)):
        return Expression(id_, type_, opcode, tuple(operand.id for operand in operands))
    known = [value for value in values if value is not None]
    if len(known) != len(operands) or not known or type_.scalar is None:
        raise SpirvError("takes constant numbers")
    if opcode == Op.Bitcast:
        return _bitcast(id_, type_, operands[0].type, known[0])
    if any(len(value) != type_.count for value in known):
        raise SpirvError(f"has operands of other lengths than {type_}")
    if opcode not in SHIFTS and any(operand.type is not operands[0].type for operand in operands):
        raise SpirvError("has operands of different types")
    source, target = operands[0].type.scalar, type_.scalar
    return from_lanes(id_, type_, [_lane(opcode, source, target, lane) for lane in zip(*known, strict=True)])


def _lane(opcode: int, source: Type | None, target: Type, bits: tuple[int | None, ...]) -> int | None:
    values = [value for value in bits if value is not None]
    if len(values) != len(bits):
        return None
    if isinstance(source, Float):
        numbers = [float_of(value, source.width) for value in values]
        if opcode in FLOAT and isinstance(target, Float):
            return bits_of(FLOAT[opcode](*numbers), target.width)
        if opcode in FROM_FLOAT and isinstance(target, Int):
            return _to_integer(opcode, numbers[0], target.width)
    elif isinstance(source, Int) and opcode in TO_FLOAT and isinstance(target, Float):
        number = _signed(values[0], source.width) if opcode == Op.ConvertSToF else values[0]
        return bits_of(_nearest(number, target.width), target.width)
    elif isinstance(source, Int) and opcode in INTEGER and isinstance(target, (Int, Bool)):
        result = INTEGER[opcode](source.width, *values)
        return None if result is None else int(result) & ((1 << target.bits) - 1)
    elif isinstance(source, Bool) and opcode in LOGICAL and isinstance(target, Bool):
        return LOGICAL[opcode](1, *values)
    raise SpirvError(f"cannot be computed from {source} to {target}")


def _to_integer(opcode: int, number: float, width: int) -> int | None:
    if not math.isfinite(number):
        return None
    low, high = (0, 1 << width) if opcode == Op.ConvertFToU else (-1 << (width - 1), 1 << (width - 1))
    whole = math.trunc(number)
    return whole & ((1 << width) - 1) if low <= whole < high else None


def _nearest(number: int, width: int) -> float:
    """Rounds once: converting 64 bits through a double could round twice."""
    digits = {16: 11, 32: 24, 64: 53}[width]
    extra = abs(number).bit_length() - digits
    if extra <= 0:
        return float(number)
    magnitude, rest, half = abs(number) >> extra, abs(number) & ((1 << extra) - 1), 1 << (extra - 1)
    magnitude += rest > half or (rest == half and magnitude & 1)
    return float((magnitude << extra) * (1 if number > 0 else -1))


def _bitcast(id_: int, type_: Type, source: Type, values: list[int | None]) -> Constant:
    width, target = (source.scalar or source).bits, (type_.scalar or type_).bits
    if isinstance(source.scalar, Bool) or isinstance(type_.scalar, Bool) or width * len(values) != target * type_.count:
        raise SpirvError(f"cannot turn {source} into {type_}: their sizes differ")
    if None in values:
        return Undef(id_, type_)
    whole = sum((value or 0) << (index * width) for index, value in enumerate(values))
    return from_lanes(id_, type_, [whole >> (index * target) & ((1 << target) - 1) for index in range(type_.count)])


def _select(id_: int, type_: Type, condition: Constant, true: Constant, false: Constant) -> Constant:
    choice = lanes(condition)
    if (
        choice is None
        or not isinstance(condition.type.scalar, Bool)
        or true.type is not type_
        or false.type is not type_
    ):
        raise SpirvError("needs a constant condition and two values of its own type")
    if len(choice) == 1:
        if choice[0] is None:
            return Undef(id_, type_)
        return _renamed(id_, type_, true if choice[0] else false)
    ones, others = lanes(true), lanes(false)
    if ones is None or others is None or len(choice) != len(ones):
        raise SpirvError("selects per component, but the numbers of components differ")
    return from_lanes(id_, type_, [a if c else b for c, a, b in zip(choice, ones, others, strict=True)])


def _part(constant: Constant, path: tuple[int, ...]) -> Constant:
    found: Constant | None = constant
    for index in path:
        found = element(found, index) if found is not None else None
    if found is None:
        raise SpirvError("names a part that the constant does not have")
    return found


def _insert(part: Constant, whole: Constant, path: tuple[int, ...]) -> Constant:
    """Inserts into vectors only: a chain of inserts into one large array would take quadratic time."""
    values, new = lanes(whole), lanes(part)
    if values is None or new is None or not isinstance(whole.type, Vector) or part.type is not whole.type.element:
        raise SpirvError(f"puts {part.type} into {whole.type}; only components of vectors can be changed")
    if len(path) != 1 or path[0] >= len(values):
        raise SpirvError("names a part that the constant does not have")
    values[path[0]] = new[0]
    return from_lanes(0, whole.type, values)


def _shuffle(id_: int, type_: Type, first: Constant, second: Constant, picks: tuple[int, ...]) -> Constant:
    sides = lanes(first), lanes(second)
    if sides[0] is None or sides[1] is None or not isinstance(type_, Vector) or len(picks) != type_.length:
        raise SpirvError("needs two vectors and as many indices as the result has components")
    both = [*sides[0], *sides[1]]
    if any(pick >= len(both) and pick != 0xFFFFFFFF for pick in picks) or first.type.scalar is not type_.element:
        raise SpirvError("names components that the vectors do not have")
    return from_lanes(id_, type_, [both[pick] if pick < len(both) else None for pick in picks])


def _renamed(id_: int, type_: Type, constant: Constant) -> Constant:
    """The same value under another id; the types must agree."""
    if constant.type is not type_:
        raise SpirvError(f"is declared as {type_} and computes {constant.type}")
    if isinstance(constant, Composite):
        return Composite(id_, type_, constant.elements)
    if isinstance(constant, (Null, Undef)):
        return type(constant)(id_, type_)
    value = lanes(constant)
    if value is not None:
        return from_lanes(id_, type_, value)
    return Expression(id_, type_, Op.CopyObject, (constant.id,))
