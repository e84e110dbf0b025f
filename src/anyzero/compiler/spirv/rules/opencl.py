"""OpenCL.std: the signature of each function."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import opencl_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, rule, shape, wrong
from anyzero.compiler.spirv.tables import LAYOUT_OF_OPENCL, LAYOUTS, Op
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Array, Float, Int, Pointer, Type, Vector, Void

Signature = Callable[[Check, Type, tuple[int, ...]], None]


@rule(Op.ExtInst)
def extended(check: Check, instruction: Instruction) -> None:
    set_, number, *rest = instruction.operands
    if set_ not in check.module.opencl_sets:
        raise SpirvError(f"%{set_} is not an instruction set that is supported")
    layout = LAYOUT_OF_OPENCL.get(number)
    if layout is None:
        raise SpirvError(f"OpenCL.std has no instruction {number}")
    kinds = LAYOUTS[layout].split()
    if len(rest) != len(kinds) and not (kinds[-1].endswith("*") and len(rest) >= len(kinds) - 1):
        raise SpirvError(f"{opencl_name(number)} has {len(rest)} operands instead of {len(kinds)}")
    try:
        SIGNATURES.get(number, _floats)(check, check.types[instruction.type_id], tuple(rest))
    except SpirvError as error:
        raise SpirvError(f"{opencl_name(number)}: {error.reason}") from None


def _of(kind: type[Type], type_: Type) -> None:
    if not isinstance(type_.scalar, kind):
        raise SpirvError(f"its result is {type_}")


def _floats(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    """Most of the library: operands and result have one float type."""
    _of(Float, type_)
    for id_ in ids:
        check.is_(id_, type_)


def _integers(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _of(Int, type_)
    for id_ in ids:
        check.is_(id_, type_)


def _numbers(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    if isinstance(type_.scalar, Int):
        _integers(check, type_, ids)
    else:
        _floats(check, type_, ids)


def _counterpart(check: Check, id_: int, kind: type[Type], count: int) -> None:
    if not shape(check.values[id_], kind, count):
        raise wrong(id_, check.values[id_], f"{count} × {kind.__name__.lower()}")


def _exponent(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    """The second operand is an integer per component."""
    _floats(check, type_, ids[:1])
    _counterpart(check, ids[1], Int, type_.count)


def _ilogb(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _of(Int, type_)
    _counterpart(check, ids[0], Float, type_.count)


def _nan(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _of(Float, type_)
    _counterpart(check, ids[0], Int, type_.count)


def _float_out(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    """A second result of the same type is stored through the last operand."""
    _floats(check, type_, ids[:-1])
    if check.pointer(ids[-1]).pointee is not type_:
        raise wrong(ids[-1], check.values[ids[-1]], f"a pointer to {type_}")


def _int_out(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _floats(check, type_, ids[:-1])
    if not shape(check.pointer(ids[-1]).pointee, Int, type_.count):
        raise wrong(ids[-1], check.values[ids[-1]], f"a pointer to {type_.count} integers")


def _length(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    first = check.values[ids[0]]
    if not isinstance(type_, Float) or first.scalar is not type_:
        raise wrong(ids[0], first, f"components of {type_}")
    for id_ in ids[1:]:
        check.is_(id_, first)


def _cross(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _floats(check, type_, ids)
    if type_.count not in (3, 4):
        raise SpirvError(f"its result is {type_}")


def _upsample(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _of(Int, type_)
    half = check.values[ids[0]]
    if not shape(half, Int, type_.count) or 2 * half.bits != type_.bits:
        raise wrong(ids[0], half, f"half of {type_}")
    check.is_(ids[1], half)


def _select(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _numbers(check, type_, ids[:2])
    _counterpart(check, ids[2], Int, type_.count)


def _shuffle(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    *sources, mask = ids
    first = check.values[sources[0]]
    if not isinstance(type_, Vector) or not isinstance(first, Vector) or first.element is not type_.element:
        raise wrong(sources[0], first, f"components of {type_}")
    for id_ in sources[1:]:
        check.is_(id_, first)
    _counterpart(check, mask, Int, type_.count)


def _at(check: Check, offset: int, pointer: int, element: Type | None) -> None:
    check.integer(offset)
    if check.pointer(pointer).pointee is not element:
        raise wrong(pointer, check.values[pointer], f"a pointer to {element}")


def _half(check: Check, pointer: int) -> Type:
    pointee = check.pointer(pointer).pointee
    if not isinstance(pointee, Float) or pointee.width != 16:
        raise wrong(pointer, check.values[pointer], "a pointer to f16")
    return pointee


def _counted(type_: Type, count: int) -> None:
    if not isinstance(type_, Vector) or type_.length != count:
        raise SpirvError(f"reads {count} components, and its result is {type_}")


def _vload(check: Check, type_: Type, words: tuple[int, ...]) -> None:
    _counted(type_, words[2])
    _at(check, words[0], words[1], type_.scalar)


def _vload_half(check: Check, type_: Type, words: tuple[int, ...]) -> None:
    _of(Float, type_)
    if len(words) > 2:
        _counted(type_, words[2])
    _at(check, words[0], words[1], _half(check, words[1]))


def _vstore(check: Check, type_: Type, words: tuple[int, ...]) -> None:
    _nothing(type_)
    data = check.values[words[0]]
    if not isinstance(data, Vector):
        raise wrong(words[0], data, "a vector")
    _at(check, words[1], words[2], data.element)


def _vstore_half(check: Check, type_: Type, words: tuple[int, ...]) -> None:
    _nothing(type_)
    if not shape(check.values[words[0]], Float):
        raise wrong(words[0], check.values[words[0]], "floating-point numbers")
    _at(check, words[1], words[2], _half(check, words[2]))
    if len(words) > 3 and words[3] > 3:
        raise SpirvError(f"there is no rounding mode {words[3]}")


def _nothing(type_: Type) -> None:
    if not isinstance(type_, Void):
        raise SpirvError(f"its result is {type_} instead of void")


def _prefetch(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    _nothing(type_)
    check.pointer(ids[0])
    check.integer(ids[1])


def _printf(check: Check, type_: Type, ids: tuple[int, ...]) -> None:
    if not isinstance(type_, Int):
        raise SpirvError(f"its result is {type_}")
    format_ = check.pointer(ids[0]).pointee
    if isinstance(format_, Array):  # clang's SPIR-V target names the whole string, where it should name its beginning
        format_ = format_.element
    if not isinstance(format_, Int) or format_.width != 8:
        raise wrong(ids[0], check.values[ids[0]], "a pointer to characters")
    for id_ in ids[1:]:
        if not isinstance(check.values[id_], Pointer) and not isinstance(check.values[id_].scalar, (Int, Float)):
            raise wrong(id_, check.values[id_], "something that can be printed")


# All other functions use `_floats`.
SIGNATURES: dict[int, Signature] = {
    **dict.fromkeys([Cl.s_abs, Cl.u_abs, Cl.clz, Cl.ctz, Cl.popcount, Cl.s_abs_diff, Cl.u_abs_diff], _integers),
    **dict.fromkeys([Cl.s_add_sat, Cl.u_add_sat, Cl.s_sub_sat, Cl.u_sub_sat, Cl.s_hadd, Cl.u_hadd], _integers),
    **dict.fromkeys([Cl.s_rhadd, Cl.u_rhadd, Cl.s_max, Cl.u_max, Cl.s_min, Cl.u_min, Cl.rotate], _integers),
    **dict.fromkeys([Cl.s_clamp, Cl.u_clamp, Cl.s_mul_hi, Cl.u_mul_hi, Cl.s_mad_hi, Cl.u_mad_hi], _integers),
    **dict.fromkeys([Cl.s_mad_sat, Cl.u_mad_sat, Cl.s_mul24, Cl.u_mul24, Cl.s_mad24, Cl.u_mad24], _integers),
    **dict.fromkeys([Cl.u_upsample, Cl.s_upsample], _upsample),
    **dict.fromkeys([Cl.ldexp, Cl.pown, Cl.rootn], _exponent),
    **dict.fromkeys([Cl.fract, Cl.modf, Cl.sincos], _float_out),
    **dict.fromkeys([Cl.frexp, Cl.lgamma_r, Cl.remquo], _int_out),
    **dict.fromkeys([Cl.length, Cl.fast_length, Cl.distance, Cl.fast_distance], _length),
    **dict.fromkeys([Cl.shuffle, Cl.shuffle2], _shuffle),
    **dict.fromkeys([Cl.vload_half, Cl.vload_halfn, Cl.vloada_halfn], _vload_half),
    **dict.fromkeys([Cl.vstore_half, Cl.vstore_halfn, Cl.vstorea_halfn], _vstore_half),
    **dict.fromkeys([Cl.vstore_half_r, Cl.vstore_halfn_r, Cl.vstorea_halfn_r], _vstore_half),
    Cl.ilogb: _ilogb,
    Cl.nan: _nan,
    Cl.cross: _cross,
    Cl.bitselect: _numbers,
    Cl.select: _select,
    Cl.vloadn: _vload,
    Cl.vstoren: _vstore,
    Cl.prefetch: _prefetch,
    Cl.printf: _printf,
}
