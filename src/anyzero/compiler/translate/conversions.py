"""Conversions between numbers, bits and pointers."""

from __future__ import annotations

from anyzero.compiler.builder import ROUNDING, Builder
from anyzero.compiler.folding import width
from anyzero.compiler.ir import SIZES, Op
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Decoration
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.types import Pointer, Type
from anyzero.compiler.translate.addresses import NUMBERS, space_of
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.packed import regroup
from anyzero.compiler.translate.scope import SPACES, Scope
from anyzero.compiler.translate.trees import Tree, each, scalar


def _component(f: Scope, i: Instruction) -> str:
    type_ = f.types[i.result_id]
    return scalar(type_.scalar or type_)


def _decorated(f: Scope, i: Instruction) -> tuple[bool, str]:
    """The saturation flag and the rounding mode of a conversion."""
    saturated, rounding = False, ""
    for decoration in f.decorations(i.result_id) or ():
        if decoration.kind == Decoration.SaturatedConversion:
            saturated = True
        elif decoration.kind == Decoration.FPRoundingMode and decoration.operands[0] < len(ROUNDING):
            rounding = ROUNDING[decoration.operands[0]]
    return saturated, rounding


@translates(Opcode.ConvertFToS, Opcode.ConvertFToU)
def float_to_integer(f: Scope, i: Instruction) -> Tree:
    to, (saturated, rounding) = _component(f, i), _decorated(f, i)
    kind = "fptosi" if i.opcode == Opcode.ConvertFToS else "fptoui"
    kind += ".sat" if saturated else ""
    kind += f".{rounding}" if rounding not in ("", "rtz") else ""
    return each(lambda a: f.b.cast(kind, f.b.flush(a), to), f.value(i.operands[0]))


@translates(Opcode.ConvertSToF, Opcode.ConvertUToF)
def integer_to_float(f: Scope, i: Instruction) -> Tree:
    kind = "sitofp" if i.opcode == Opcode.ConvertSToF else "uitofp"
    return _rounded(f, i, kind)


@translates(Opcode.FConvert)
def float_to_float(f: Scope, i: Instruction) -> Tree:
    source = f.type(i.operands[0]).scalar
    assert source is not None
    narrower = SIZES[_component(f, i)] < source.size
    return _rounded(f, i, "fptrunc" if narrower else "fpext")


def _rounded(f: Scope, i: Instruction, kind: str) -> Tree:
    to = _component(f, i)
    rounding = _decorated(f, i)[1] or f.b.rounding(to)
    if rounding not in ("", "rte") and kind != "fpext":
        kind = f"{kind}.{rounding}"
    return each(lambda a: f.b.flush(f.b.cast(kind, f.b.flush(a), to)), f.value(i.operands[0]))


@translates(Opcode.UConvert, Opcode.SConvert)
def resize(f: Scope, i: Instruction) -> Tree:
    to, signed = _component(f, i), i.opcode == Opcode.SConvert
    value = f.value(i.operands[0])
    if _decorated(f, i)[0]:
        return each(lambda a: saturate(f.b, a, to, signed, signed), value)
    return each(lambda a: f.b.resized(a, to, signed), value)


@translates(Opcode.SatConvertSToU, Opcode.SatConvertUToS)
def saturated(f: Scope, i: Instruction) -> Tree:
    to, signed = _component(f, i), i.opcode == Opcode.SatConvertSToU
    return each(lambda a: saturate(f.b, a, to, signed, not signed), f.value(i.operands[0]))


def saturate(b: Builder, value: Op, to: str, from_signed: bool, to_signed: bool) -> Op:
    """Clamps to the range of the target type."""
    bits, target = width(value.type), width(to)
    lowest = -(1 << (target - 1)) if to_signed else 0
    highest = (1 << (target - to_signed)) - 1
    if from_signed and lowest > -(1 << (bits - 1)):
        least = b.const(value.type, lowest)
        value = b.select(b.icmp("slt", value, least), least, value)
    if highest < (1 << (bits - from_signed)) - 1:
        most = b.const(value.type, highest)
        value = b.select(b.icmp("sgt" if from_signed else "ugt", value, most), most, value)
    return b.resized(value, to, signed=from_signed)


def _upper(b: Builder, value: Op, dropped: int) -> Op:
    """The bits of a float without the last `dropped`, rounded to even; a NaN stays a NaN."""
    value = b.flush(value)
    bits = b.as_integer(value)
    odd = b.and_(b.lshr(bits, b.const("i32", dropped)), b.const("i32", 1))
    rounded = b.add(bits, b.add(odd, b.const("i32", (1 << (dropped - 1)) - 1)))
    quiet = b.or_(bits, b.const("i32", 0x400000))
    return b.lshr(b.select(b.fcmp("uno", value, value), quiet, rounded), b.const("i32", dropped))


@translates(Opcode.ConvertFToBF16INTEL)
def to_bfloat(f: Scope, i: Instruction) -> Tree:
    return each(lambda value: f.b.cast("trunc", _upper(f.b, value, 16), "i16"), f.value(i.operands[0]))


@translates(Opcode.RoundFToTF32INTEL)
def to_tensor_float(f: Scope, i: Instruction) -> Tree:
    """Rounds a float to 10 bits of fraction, stored as a float with 23."""
    b = f.b

    def one(value: Op) -> Op:
        return b.flush(b.cast("bitcast", b.shl(_upper(b, value, 13), b.const("i32", 13)), "float"))

    return each(one, f.value(i.operands[0]))


@translates(Opcode.ConvertBF16ToFINTEL)
def from_bfloat(f: Scope, i: Instruction) -> Tree:
    b = f.b

    def one(value: Op) -> Op:
        return b.flush(b.cast("bitcast", b.shl(b.cast("zext", value, "i32"), b.const("i32", 16)), "float"))

    return each(one, f.value(i.operands[0]))


@translates(Opcode.Bitcast)
def bitcast(f: Scope, i: Instruction) -> Tree:
    to, value = f.types[i.result_id], f.value(i.operands[0])
    return recast(f.b, value, to)


def recast(b: Builder, value: Tree, to: Type) -> Tree:
    """The same bits as components of another type."""
    if isinstance(to, Pointer):
        assert isinstance(value, Op)
        return value if value.type == "ptr" else b.cast("inttoptr", value, "ptr")
    name = scalar(to.scalar or to)
    components: list[Op] = [value] if isinstance(value, Op) else list(value)  # type: ignore[arg-type]
    if len(components) == to.count:
        made = [old if old.type == name else b.from_integer(b.as_integer(old), name) for old in components]
    else:
        integers = regroup(b, [b.as_integer(each) for each in components], [f"i{width(name)}"] * to.count)
        made = [b.from_integer(each, name) for each in integers]
    return tuple(made) if to.scalar is not to else made[0]


@translates(Opcode.ConvertPtrToU)
def to_integer(f: Scope, i: Instruction) -> Tree:
    return f.b.resized(f.b.cast("ptrtoint", f.scalar(i.operands[0]), "i64"), _component(f, i))


@translates(Opcode.ConvertUToPtr)
def to_pointer(f: Scope, i: Instruction) -> Tree:
    return f.b.cast("inttoptr", f.b.resized(f.scalar(i.operands[0]), "i64"), "ptr")


@translates(Opcode.PtrCastToGeneric, Opcode.GenericCastToPtr)
@translates(Opcode.PtrCastToCrossWorkgroupINTEL, Opcode.CrossWorkgroupCastToPtrINTEL)
def same_address(f: Scope, i: Instruction) -> Tree:
    return f.value(i.operands[0])


@translates(Opcode.GenericCastToPtrExplicit)
def from_generic_if(f: Scope, i: Instruction) -> Tree:
    """Null for an address in another address space."""
    b, pointer = f.b, f.scalar(i.operands[0])
    wanted = NUMBERS[SPACES.get(i.operands[1], "global")]
    there = b.icmp("eq", space_of(f, pointer), b.const("i32", wanted))
    return b.select(there, pointer, b.const("ptr", 0))


@translates(Opcode.SizeOf)
def size_of(f: Scope, i: Instruction) -> Tree:
    return f.b.const(_component(f, i), f.pointer(i.operands[0]).pointee.size)
