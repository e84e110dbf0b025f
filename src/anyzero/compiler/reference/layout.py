"""Memory representation of values, by type.

A boolean is a bool, an integer an int, a floating-point number a float, a vector, array or structure a tuple.
Pointers and opaque handles are 64-bit integers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.numbers import bits_of, float_of
from anyzero.compiler.spirv.types import Array, Bool, Float, Int, Opaque, Pointer, Struct, Type, Vector

Read = Callable[[Any, int], Any]
Write = Callable[[Any, int, Any], None]

_INTEGERS = {1: struct.Struct("<B"), 2: struct.Struct("<H"), 4: struct.Struct("<I"), 8: struct.Struct("<Q")}
_FLOATS = {2: struct.Struct("<e"), 4: struct.Struct("<f"), 8: struct.Struct("<d")}


@lru_cache(maxsize=4096)
def reader(type_: Type) -> Read:
    if isinstance(type_, Bool):
        return lambda view, offset: bool(view[offset] & 1)
    if _is_packed(type_):
        return _packed_reader(type_)
    if isinstance(type_, (Int, Pointer, Opaque)):
        unpack = _INTEGERS[type_.size].unpack_from
        return lambda view, offset: unpack(view, offset)[0]
    if isinstance(type_, Float):
        return _float_reader(type_)
    if isinstance(type_, (Vector, Array)):
        return _row_reader(type_)
    parts = [(reader(member), at) for member, at in _members(type_)]
    return lambda view, offset: tuple([read(view, offset + at) for read, at in parts])


def _is_packed(type_: Type) -> bool:
    """True for an integer of an odd width, or a bit-packed vector of them."""
    return type_.scalar is not None and type_.scalar.odd


def _packed_reader(type_: Type) -> Read:
    size = type_.stored
    return lambda view, offset: bits_to_lanes(type_, int.from_bytes(view[offset : offset + size], "little"))


def _float_reader(type_: Float) -> Read:
    size, width = type_.size, type_.width
    unpack = _FLOATS[size].unpack_from

    def read(view: Any, offset: int) -> float:
        value: float = unpack(view, offset)[0]
        if value != value:
            return float_of(int.from_bytes(view[offset : offset + size], "little"), width)
        return value

    return read


def _row_reader(type_: Vector | Array) -> Read:
    element, size, length = type_.element, type_.element.size, type_.length
    one = reader(element)

    def each(view: Any, offset: int) -> tuple[Any, ...]:
        return tuple([one(view, offset + index * size) for index in range(length)])

    if not isinstance(element, (Int, Float)) or _is_packed(element):
        return each
    unpack = struct.Struct(
        f"<{length}{(_INTEGERS if isinstance(element, Int) else _FLOATS)[size].format[1:]}"
    ).unpack_from
    if isinstance(element, Int):
        return unpack

    def floats(view: Any, offset: int) -> tuple[Any, ...]:
        values: tuple[float, ...] = unpack(view, offset)
        return each(view, offset) if any(value != value for value in values) else values

    return floats


@lru_cache(maxsize=4096)
def writer(type_: Type) -> Write:
    if isinstance(type_, Bool):
        return lambda view, offset, value: view.__setitem__(offset, int(value))
    if _is_packed(type_):
        size = type_.stored
        return lambda view, offset, value: view.__setitem__(
            slice(offset, offset + size), lanes_to_bits(type_, value).to_bytes(size, "little")
        )
    if isinstance(type_, (Int, Pointer, Opaque)):
        return _INTEGERS[type_.size].pack_into
    if isinstance(type_, Float):
        return _float_writer(type_)
    if isinstance(type_, (Vector, Array)):
        put_one, size = writer(type_.element), type_.element.size

        def write_row(view: Any, offset: int, value: Any) -> None:
            for index, part in enumerate(value):
                put_one(view, offset + index * size, part)

        return write_row
    parts = [(writer(member), at) for member, at in _members(type_)]

    def write(view: Any, offset: int, value: Any) -> None:
        for (put, at), part in zip(parts, value, strict=True):
            put(view, offset + at, part)

    return write


def _float_writer(type_: Float) -> Write:
    pack, pack_bits, width = _FLOATS[type_.size].pack_into, _INTEGERS[type_.size].pack_into, type_.width

    def write(view: Any, offset: int, value: float) -> None:
        if value != value:
            pack_bits(view, offset, bits_of(value, width))
        else:
            pack(view, offset, value)

    return write


def _members(type_: Type) -> list[tuple[Type, int]]:
    if not isinstance(type_, Struct):
        raise Fault(f"there is no value of type {type_}")
    return list(zip(type_.members, type_.offsets, strict=True))


@lru_cache(maxsize=4096)
def zero(type_: Type) -> Any:
    """All bits zero; also the value of undefined constants."""
    if isinstance(type_, Bool):
        return False
    if isinstance(type_, Float):
        return 0.0
    if isinstance(type_, (Int, Pointer, Opaque)):
        return 0
    if isinstance(type_, (Vector, Array)):
        return (zero(type_.element),) * type_.length
    if isinstance(type_, Struct):
        return tuple(zero(member) for member in type_.members)
    raise Fault(f"there is no value of type {type_}")


def from_bytes(type_: Type, data: bytes) -> Any:
    return reader(type_)(data.ljust(type_.stored, b"\0"), 0)


def to_bytes(type_: Type, value: Any) -> bytes:
    data = bytearray(type_.size)
    writer(type_)(data, 0, value)
    return bytes(data)


def lanes_to_bits(type_: Type, value: Any) -> int:
    """The bits of a number or vector, without padding."""
    scalar = type_.scalar or type_
    parts = value if isinstance(type_, Vector) else (value,)
    width = scalar.bits
    whole = 0
    for index, part in enumerate(parts):
        bits = bits_of(part, width) if isinstance(scalar, Float) else int(part)
        whole |= bits << (index * width)
    return whole


def bits_to_lanes(type_: Type, whole: int) -> Any:
    scalar = type_.scalar or type_
    width = scalar.bits
    mask = (1 << width) - 1
    parts: list[Any] = [whole >> (index * width) & mask for index in range(type_.count)]
    if isinstance(scalar, Float):
        parts = [float_of(part, width) for part in parts]
    return tuple(parts) if isinstance(type_, Vector) else parts[0]
