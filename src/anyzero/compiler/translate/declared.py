"""OpenCL C's name of a parameter type, for setting arguments. SPIR-V's integers are signless."""

from __future__ import annotations

from anyzero.compiler.spirv.kernel import Parameter
from anyzero.compiler.spirv.types import DIMENSIONS, Bool, Float, Image, Int, Pointer, Sampler, Type, Vector

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_FLOATS = {16: "half", 32: "float", 64: "double"}


def declared(parameter: Parameter) -> str:
    """``float``, ``int4``, ``global float*``, ``local void*``, ``image2d_t``, ``sampler_t``; else ``struct``."""
    type_ = parameter.type
    if parameter.kind == "byval":
        return "struct"
    if isinstance(type_, Pointer):
        if parameter.kind == "value":
            # A function pointer.
            return "ulong"
        return f"{parameter.kind} {_plain(type_.pointee) or 'void'}*"
    if isinstance(type_, Image):
        return f"image{DIMENSIONS[type_.dim][0].replace('buffer', '1d_buffer')}{'_array' if type_.arrayed else ''}_t"
    if isinstance(type_, Sampler):
        return "sampler_t"
    return _plain(type_) or "struct"


def _plain(type_: Type) -> str:
    if isinstance(type_, Vector):
        element = _plain(type_.element)
        return f"{element}{type_.length}" if element else ""
    if isinstance(type_, Bool):
        return "bool"
    if isinstance(type_, Int):
        return _INTEGERS.get(type_.width, "")
    return _FLOATS[type_.width] if isinstance(type_, Float) else ""
