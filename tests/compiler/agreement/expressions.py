"""Random expressions: numbers, truth values and short vectors of all widths, all with one right answer."""

from __future__ import annotations

from collections.abc import Callable

from tests.compiler.agreement.function import Code
from tests.compiler.agreement.writer import FLOATS, INTEGERS, WIDTH, Value, length, scalar, vector

Maker = Callable[[Code, str, int, bool], "Value | None"]

MAKERS: dict[str, list[tuple[int, Maker]]] = {"int": [], "float": [], "bool": [], "vector": []}
"""By the kind of a type: how often a maker is to be chosen, and the maker. None from it means that it has nothing."""

_ARITHMETIC = ("IAdd", "ISub", "IMul", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
_SHIFTS = ("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic")
_DIVISIONS = ("UDiv", "UMod", "SDiv", "SRem", "SMod")
_INT_ORDER = (
    "IEqual", "INotEqual", "ULessThan", "SLessThan", "UGreaterThan", "SGreaterThan", "ULessThanEqual",
    "SLessThanEqual", "UGreaterThanEqual", "SGreaterThanEqual",
)  # fmt: skip
_FLOAT_ORDER = (
    "FOrdLessThan", "FOrdEqual", "FUnordEqual", "FOrdNotEqual", "FUnordNotEqual", "FUnordLessThan",
    "FOrdGreaterThan", "FUnordGreaterThan", "FOrdLessThanEqual", "FUnordLessThanEqual", "FOrdGreaterThanEqual",
    "FUnordGreaterThanEqual", "Ordered", "Unordered", "LessOrGreater",
)  # fmt: skip
_FLOAT_TESTS = ("IsNan", "IsInf", "IsFinite", "IsNormal")
_LIBRARY = {
    1: ("s_abs", "u_abs", "clz", "ctz", "popcount"),
    2: (
        "s_min", "u_min", "s_max", "u_max", "s_add_sat", "u_add_sat", "s_sub_sat", "u_sub_sat", "s_hadd", "u_hadd",
        "s_rhadd", "u_rhadd", "s_mul_hi", "u_mul_hi", "s_abs_diff", "u_abs_diff", "rotate",
    ),
    3: ("s_mad_hi", "u_mad_hi", "s_mad_sat", "u_mad_sat", "bitselect"),
}  # fmt: skip
_FLOAT_LIBRARY = ("fabs", "floor", "ceil", "trunc", "rint", "round", "sign")
_ROUNDING = ("", "RTE", "RTZ", "RTP", "RTN")


def makes(weight: int, *kinds: str) -> Callable[[Maker], Maker]:
    def register(maker: Maker) -> Maker:
        for kind in kinds:
            MAKERS[kind].append((weight, maker))
        return maker

    return register


def kind_of(type_: str) -> str:
    return "bool" if type_ == "bool" else {"i": "int", "f": "float", "v": "vector"}[type_[0]]


def value(code: Code, type_: str, depth: int = 2, uniform: bool = False) -> Value:
    """An expression of a type; `uniform`: one that is the same for all work-items of a group."""
    if depth > 0 and code.budget > 0:
        found = code.draw.weighted(MAKERS[kind_of(type_)])(code, type_, depth - 1, uniform)
        if found is not None:
            return found
    return leaf(code, type_, uniform)


def leaf(code: Code, type_: str, uniform: bool = False) -> Value:
    """Something that is there already, or a constant."""
    there = [each for each in code.values if each.type == type_ and (each.uniform or not uniform)]
    at = code.draw.number(0, min(len(there), 24) * 2 + 1)
    if at == 1 and length(type_) > 1:
        return code.keep(code.spread(leaf(code, scalar(type_), uniform), length(type_)))
    return there[-(at // 2)] if at > 1 else constant(code, type_)


def constant(code: Code, type_: str) -> Value:
    if length(type_) > 1:
        parts = [constant(code, scalar(type_)).id for _ in range(length(type_))]
        return Value(code.writer.composite(type_, parts), type_, True)
    return code.const(type_, code.draw.one_of(constants(type_)))


def constants(type_: str) -> list[float]:
    """What is likely to be special."""
    if type_ == "bool":
        return [0, 1]
    width = WIDTH[type_]
    if type_[0] == "i":
        top = 1 << (width - 1)
        return [0, 1, 2, 3, 5, 7, 16, -1, -2, 100, width - 1, top, top - 1, 0x55, 0x80, 0xFF, 0x7F]
    small = {16: 6e-8, 32: 1e-45, 64: 5e-324}[width]
    large = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}[width]
    return [0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 0.1, 127.5, -0.0, small, large, float("inf"), float("-inf"), float("nan")]


def condition(code: Code, uniform: bool = False, depth: int = 2) -> Value:
    return value(code, "bool", depth, uniform)


def any_type(code: Code, vectors: bool = True) -> str:
    type_ = code.draw.one_of(("i32", "i64", "f32", "i8", "i16", "f64", "f16"))
    if vectors and code.draw.chance(20):
        return vector(type_, code.draw.one_of((2, 4, 3)))
    return type_


def merged_type(code: Code) -> str:
    """Of something that comes from several places."""
    return "bool" if code.draw.chance(15) else any_type(code)


# Integers


@makes(8, "int")
def arithmetic(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    opcode = code.draw.one_of(_ARITHMETIC)
    return code.op(opcode, type_, value(code, type_, depth, uniform), value(code, type_, depth, uniform))


@makes(2, "int")
def shift(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    opcode = code.draw.one_of(_SHIFTS)
    by = value(code, type_, depth, uniform)
    by = code.op("BitwiseAnd", type_, by, code.const(type_, WIDTH[scalar(type_)] - 1))
    return code.op(opcode, type_, value(code, type_, depth, uniform), by)


@makes(2, "int")
def division(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    opcode = code.draw.one_of(_DIVISIONS)
    if code.draw.chance(40):
        below = code.const(type_, code.draw.one_of((1, 2, 3, 10, 16, 127, -1, -3, -128)))
    else:
        below = code.op("BitwiseOr", type_, value(code, type_, depth, uniform), code.const(type_, 1))
    return code.op(opcode, type_, value(code, type_, depth, uniform), below)


@makes(1, "int")
def negation(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    return code.op(code.draw.one_of(("SNegate", "Not", "BitReverse")), type_, value(code, type_, depth, uniform))


@makes(2, "int")
def from_library(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    count = code.draw.one_of((2, 1, 3))
    name = code.draw.one_of(_LIBRARY[count])
    return code.library(name, type_, *(value(code, type_, depth, uniform) for _ in range(count)))


@makes(4, "int")
def resized(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    """Widths come and go, as indices do."""
    source = code.draw.one_of([each for each in INTEGERS if each != scalar(type_)])
    opcode = code.draw.one_of(("UConvert", "SConvert", "UConvert", "SConvert", "SatConvertSToU", "SatConvertUToS"))
    return code.op(opcode, type_, value(code, vector(source, length(type_)), depth, uniform))


@makes(1, "int")
def whole(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    """From a float; what does not fit has a meaning only where it is saturated."""
    source = vector(code.draw.one_of(FLOATS), length(type_))
    opcode = code.draw.one_of(("ConvertFToS", "ConvertFToU"))
    found = code.op(opcode, type_, value(code, source, depth, uniform))
    code.writer.decorations.append(f"OpDecorate {found.id} SaturatedConversion")
    _rounded(code, found)
    return found


def _rounded(code: Code, found: Value) -> None:
    mode = code.draw.one_of(_ROUNDING)
    if mode:
        code.writer.decorations.append(f"OpDecorate {found.id} FPRoundingMode {mode}")


@makes(1, "int")
def bits_of_float(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    """There are many NaNs, and no saying which one comes out."""
    source = f"f{WIDTH[type_]}"
    if source not in FLOATS:
        return None
    number = value(code, source, depth, uniform)
    known = code.op("Select", source, code.op("IsNan", "bool", number), code.const(source, 1.0), number)
    return code.op("Bitcast", type_, known)


@makes(2, "int")
def truth_as_number(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    yes, no = code.draw.one_of(((1, 0), (-1, 0), (3, -7)))
    return code.op("Select", type_, value(code, "bool", depth, uniform), code.const(type_, yes), code.const(type_, no))


@makes(1, "int")
def extended(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    """The two halves of a result come in a structure."""
    opcode = code.draw.one_of(("IAddCarry", "ISubBorrow", "UMulExtended", "SMulExtended"))
    operands = [value(code, type_, depth, uniform) for _ in range(2)]
    both = code.emit(
        opcode, code.writer.struct([type_, type_]), *(each.id for each in operands),
        uniform=all(each.uniform for each in operands),
    )  # fmt: skip
    return code.keep(code.emit("CompositeExtract", type_, both.id, str(code.draw.number(0, 1)), uniform=both.uniform))


@makes(1, "int")
def disguised(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    """The same for all work-items, though nothing that is known about them says so."""
    if not uniform or not code.kernel:
        return None
    hidden, veil = value(code, type_, depth, True), leaf(code, type_)
    found = code.op("BitwiseXor", type_, code.op("BitwiseXor", type_, hidden, veil), veil)
    return code.keep(found._replace(uniform=True))


# Floats


@makes(8, "float")
def float_arithmetic(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    opcode = code.draw.one_of(("FAdd", "FSub", "FMul", "FDiv"))
    return code.op(opcode, type_, value(code, type_, depth, uniform), value(code, type_, depth, uniform))


@makes(2, "float")
def float_unary(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    name = code.draw.one_of(("FNegate", *_FLOAT_LIBRARY))
    operand = value(code, type_, depth, uniform)
    return code.op(name, type_, operand) if name == "FNegate" else code.library(name, type_, operand)


@makes(1, "float")
def fused(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    return code.library("fma", type_, *(value(code, type_, depth, uniform) for _ in range(3)))


@makes(3, "float")
def from_integer(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    source = vector(code.draw.one_of(INTEGERS), length(type_))
    found = code.op(code.draw.one_of(("ConvertSToF", "ConvertUToF")), type_, value(code, source, depth, uniform))
    _rounded(code, found)
    return found


@makes(2, "float")
def float_resized(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    source = code.draw.one_of([each for each in FLOATS if each != scalar(type_)])
    found = code.op("FConvert", type_, value(code, vector(source, length(type_)), depth, uniform))
    if WIDTH[source] > WIDTH[scalar(type_)]:
        _rounded(code, found)
    return found


@makes(1, "float")
def float_of_bits(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    return code.op("Bitcast", type_, value(code, f"i{WIDTH[type_]}", depth, uniform))


# Truth


@makes(8, "bool")
def compared(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    operands = code.draw.one_of(INTEGERS)
    opcode = code.draw.one_of(_INT_ORDER)
    return code.op(opcode, "bool", *(value(code, operands, depth, uniform) for _ in range(2)))


@makes(3, "bool")
def floats_compared(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    operands = code.draw.one_of(FLOATS)
    opcode = code.draw.one_of((*_FLOAT_ORDER, *_FLOAT_TESTS))
    count = 1 if opcode in _FLOAT_TESTS else 2
    return code.op(opcode, "bool", *(value(code, operands, depth, uniform) for _ in range(count)))


@makes(3, "bool")
def logic(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    opcode = code.draw.one_of(("LogicalAnd", "LogicalOr", "LogicalEqual", "LogicalNotEqual", "LogicalNot"))
    count = 1 if opcode == "LogicalNot" else 2
    return code.op(opcode, "bool", *(value(code, "bool", depth, uniform) for _ in range(count)))


@makes(1, "bool")
def of_all_components(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    return code.op(code.draw.one_of(("Any", "All")), "bool", truths(code, code.draw.one_of((2, 4, 3)), depth, uniform))


def truths(code: Code, count: int, depth: int, uniform: bool) -> Value:
    """A vector of comparisons."""
    floats = code.draw.chance(30)
    operands = vector(code.draw.one_of(FLOATS if floats else INTEGERS), count)
    opcode = code.draw.one_of(_FLOAT_ORDER if floats else _INT_ORDER)
    return code.op(opcode, vector("bool", count), *(value(code, operands, depth, uniform) for _ in range(2)))


# Anything


@makes(4, "int", "float", "bool", "vector")
def chosen(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    if length(type_) > 1 and code.draw.chance(60):
        choice = truths(code, length(type_), depth, uniform)
    else:
        choice = code.spread(value(code, "bool", depth, uniform), length(type_))
    return code.op("Select", type_, choice, value(code, type_, depth, uniform), value(code, type_, depth, uniform))


@makes(1, "int", "float")
def component(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    count = code.draw.one_of((2, 4, 3, 8))
    whole_ = value(code, vector(type_, count), depth, uniform)
    if code.draw.chance(40) and count != 3:
        index = value(code, "i32", depth, uniform)
        index = code.op("BitwiseAnd", "i32", index, code.const("i32", count - 1))
        return code.op("VectorExtractDynamic", type_, whole_, index)
    place = str(code.draw.number(0, count - 1))
    return code.keep(code.emit("CompositeExtract", type_, whole_.id, place, uniform=whole_.uniform))


# Short vectors


@makes(4, "vector")
def lanewise(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    """Most of what scalars can do."""
    makers: dict[str, list[tuple[int, Maker]]] = {
        "int": [(4, arithmetic), (1, shift), (1, division), (1, negation), (1, from_library), (2, resized), (1, whole)],
        "float": [(4, float_arithmetic), (1, float_unary), (1, fused), (1, from_integer), (1, float_resized)],
    }
    found = code.draw.weighted(makers[kind_of(scalar(type_))])(code, type_, depth, uniform)
    assert found is not None
    return found


@makes(3, "vector")
def constructed(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    parts = [value(code, scalar(type_), depth, uniform) for _ in range(length(type_))]
    return code.op("CompositeConstruct", type_, *parts)


@makes(2, "vector")
def shuffled(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    counts = [code.draw.one_of((2, 4, 3)) for _ in range(2)]
    sides = [value(code, vector(scalar(type_), count), depth, uniform) for count in counts]
    places = [str(code.draw.number(0, sum(counts) - 1)) for _ in range(length(type_))]
    return code.keep(
        code.emit("VectorShuffle", type_, *(each.id for each in sides), *places, uniform=all(s.uniform for s in sides))
    )


@makes(2, "vector")
def changed(code: Code, type_: str, depth: int, uniform: bool) -> Value:
    """One component is another."""
    before, part = value(code, type_, depth, uniform), value(code, scalar(type_), depth, uniform)
    if code.draw.chance(40):
        index = code.op("UMod", "i32", value(code, "i32", depth, uniform), code.const("i32", length(type_)))
        return code.op("VectorInsertDynamic", type_, before, part, index)
    place = str(code.draw.number(0, length(type_) - 1))
    return code.keep(
        code.emit("CompositeInsert", type_, part.id, before.id, place, uniform=before.uniform and part.uniform)
    )
