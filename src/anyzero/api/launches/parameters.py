"""Parameters of kernels by their types, and the conversion of Python's values to arguments of each kind.

The driver tells the types as OpenCL C writes them: ``float``, ``int4``, ``global float*``, ``image2d_t``.
"""

from __future__ import annotations

import ctypes
import operator
import re
import struct
from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.api.image import Image
from anyzero.api.local import Local
from anyzero.api.memory.sizes import place_within
from anyzero.api.sampler import Sampler

__all__ = ["Parameter", "Pointer", "bytes_like", "parameter"]

_REALS: Final = {"half": "e", "float": "f", "double": "d"}
_INTEGERS: Final = {
    name: size
    for size, names in {
        1: ("bool", "char", "uchar", "unsigned char"),
        2: ("short", "ushort", "unsigned short"),
        4: ("int", "uint", "unsigned int"),
        8: ("long", "ulong", "unsigned long", "size_t", "ptrdiff_t", "intptr_t", "uintptr_t"),
    }.items()
    for name in names
}
_NUMPY: Final = {("f", 2): "float16", ("f", 4): "float32", ("f", 8): "float64"} | {
    ("i", size): f"int{8 * size}" for size in (1, 2, 4, 8)
}
_UNSIGNED: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
_VECTOR: Final = re.compile(r"(u?char|u?short|u?int|u?long|half|float|double)(2|3|4|8|16)")
_QUALIFIERS: Final = re.compile(
    r"\b(?:__)?(?:const|global|constant|private|volatile|restrict|read_only|write_only|read_write)\b"
)
_LOCAL: Final = re.compile(r"\b(?:__)?local\b")
_IMAGE: Final = re.compile(r"image(1d|2d|3d)(?:_(array|buffer))?_t")


class Parameter:
    """One parameter, and the values that it accepts.

    `code` is its letter in a `struct` format, `size` how many bytes the driver reads.
    """

    takes_local = False
    plain: type | None = None
    """Values of exactly this type need no conversion; buffers give their address."""
    code = "Q"

    def __init__(self, where: str, size: int = 8) -> None:
        self.where = where
        self.size = size

    def convert(self, value: Any, kept: list[Any]) -> Any:
        """The value as `struct` packs it; objects that it needs while the kernel runs are added to `kept`."""
        raise NotImplementedError

    def declare(self, where: str, least: int | None, most: int | None) -> None:
        """Take its name in messages from the kernel's source, and the range of its integers, if it takes any."""
        self.where = where

    def wrong(self, value: Any, wanted: str) -> errors.InvalidArgument:
        """The error for a value that this parameter does not take."""
        given = f"{type(value).__module__}.".removeprefix("builtins.") + type(value).__qualname__
        shown = f"{value!r}" if isinstance(value, int | float | complex | str | None) else f"a {given}"
        return errors.InvalidArgument(f"{self.where} cannot be {shown}", remedy=f"Pass {wanted}.")

    def require_size(self, raw: bytes) -> bytes:
        """The bytes, as many as the parameter has; raise InvalidArgument for others."""
        if len(raw) != self.size:
            raise errors.InvalidArgument(f"{self.where} has {self.size} bytes; {len(raw)} were given")
        return raw


class Pointer(Parameter):
    """Given as a buffer of elements of the same type and size, as an address, or as None."""

    plain = Buffer

    def __init__(self, where: str, element: str) -> None:
        super().__init__(where)
        found = _VECTOR.fullmatch(element)
        name = found[1] if found else element
        self._element = name
        self._kind = "f" if name in _REALS else "i"
        self._size = struct.calcsize(_REALS[name]) if name in _REALS else _INTEGERS.get(name, 1)
        self.dtype: Any = None
        """The element type of the last buffer, already checked: most launches have buffers of the same dtype again."""

    def require_elements(self, buffer: Buffer) -> None:
        """Raise InvalidArgument for a buffer with a different element type from the kernel's.

        SPIR-V knows no signs, so int32 and uint32 are the same. Bytes and structures may be anything.
        """
        dtype = buffer.dtype
        size = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
        kind = "f" if dtype.kind in "fc" else "i" if dtype.kind in "iub" else ""
        is_raw = size == 1 and dtype.kind != "b"
        if kind and self._size > 1 and not is_raw and (kind, size) != (self._kind, self._size):
            wanted = f"np.{_NUMPY[self._kind, self._size]}"
            raise errors.InvalidArgument(
                f"{self.where} has elements of {self._size} bytes and cannot be a buffer of {dtype}",
                remedy=f"Make the buffer with dtype={wanted}, or pass buffer.view({wanted}) if its bytes are right.",
            )
        self.dtype = dtype

    def convert(self, value: Any, kept: list[Any]) -> int:
        """The address of a buffer, a number or None."""
        if value is None:
            return 0
        if isinstance(value, Buffer):
            self.require_elements(value)
            kept.append(value.allocation)
            return value.pointer
        if isinstance(value, Local):
            raise self.wrong(value, "a Buffer: this is not local memory")
        if isinstance(value, np.ndarray):
            raise self.wrong(value, "a Buffer: Context.to_device() copies an array to the device")
        try:
            address = operator.index(value)
        except TypeError:
            raise self.wrong(value, "a Buffer, an address, or None for a null pointer") from None
        return place_within(address, 64, f"{self.where}")


class _Local(Parameter):
    takes_local = True

    def convert(self, value: Any, kept: list[Any]) -> int:
        if not isinstance(value, Local):
            raise self.wrong(value, "az.Local(nbytes) or az.local(shape, dtype): the memory is the group's own")
        return value.nbytes


class _Image(Parameter):
    def __init__(self, where: str, kind: str) -> None:
        super().__init__(where)
        self._kind = kind

    def convert(self, value: Any, kept: list[Any]) -> int:
        if value is None:
            return 0
        if not isinstance(value, Image):
            raise self.wrong(value, f"an Image of kind {self._kind!r}: Context.image() makes one")
        if value.kind != self._kind:
            raise errors.InvalidArgument(f"{self.where} takes an image of kind {self._kind!r}, not {value.kind!r}")
        kept.append(value)
        return value.handle


class _Sampler(Parameter):
    def convert(self, value: Any, kept: list[Any]) -> int:
        if value is None:
            return 0
        if not isinstance(value, Sampler):
            raise self.wrong(value, "a Sampler: Context.sampler() makes one")
        kept.append(value)
        return value.handle


class _Scalar(Parameter):
    """A number, given as one of Python's, as a numpy scalar of the same size, or as bytes."""

    numpy_kinds: str

    def convert(self, value: Any, kept: list[Any]) -> Any:
        if isinstance(value, np.ndarray) and not value.shape:
            value = value[()]
        if isinstance(value, np.generic):
            if value.dtype.kind not in self.numpy_kinds or value.dtype.itemsize != self.size:
                raise errors.InvalidArgument(
                    f"{self.where} has {self.size} bytes and cannot be numpy.{value.dtype}",
                    remedy="Pass a plain number, or a numpy scalar of the same type.",
                )
            return self.number(value.item())
        raw = bytes_like(value)
        if raw is None:
            return self.number(value)
        return struct.unpack(f"<{self.code}", self.require_size(raw))[0]

    def number(self, value: Any) -> Any:
        """One of Python's numbers, as `struct` packs it."""
        raise NotImplementedError


class _Real(_Scalar):
    numpy_kinds = "f"
    plain = float

    def __init__(self, where: str, name: str) -> None:
        super().__init__(where, struct.calcsize(_REALS[name]))
        self.code = _REALS[name]

    def number(self, value: Any) -> float:
        if not isinstance(value, int | float):
            raise self.wrong(value, "a number")
        return float(value)


class _Integer(_Scalar):
    numpy_kinds = "iub"

    def __init__(self, where: str, size: int) -> None:
        super().__init__(where, size)
        self.code = _UNSIGNED[size]
        # SPIR-V's integers are signless, so signed and unsigned numbers are accepted unless `declare` says which.
        self._least, self._most = -(1 << 8 * size - 1), (1 << 8 * size) - 1
        self._end = 1 << 8 * size

    def declare(self, where: str, least: int | None, most: int | None) -> None:
        super().declare(where, least, most)
        if least is not None and most is not None:
            self._least, self._most = least, most

    def number(self, value: Any) -> int:
        try:
            whole = operator.index(value)
        except TypeError:
            raise self.wrong(value, "an integer") from None
        if not self._least <= whole <= self._most:
            raise errors.OutOfRange(f"{whole} does not fit {self.where}, which holds {self._least} to {self._most}")
        return whole % self._end


class _Structure(Parameter):
    """Given as bytes, a structured numpy scalar or a structure of ctypes."""

    def __init__(self, where: str, size: int) -> None:
        super().__init__(where, size)
        self.code = f"{size}s"

    def convert(self, value: Any, kept: list[Any]) -> bytes:
        raw = bytes_like(value)
        if raw is None:
            raise self.wrong(value, f"{self.size} bytes, or a numpy scalar with a structured dtype of that size")
        return self.require_size(raw)


class _Vector(Parameter):
    """Given as numbers, or as a numpy array of the same type."""

    def __init__(self, where: str, size: int, component: _Scalar, count: int) -> None:
        super().__init__(where, size)
        self.code = f"{size}s"
        self._component = component
        self._count = count

    def declare(self, where: str, least: int | None, most: int | None) -> None:
        super().declare(where, least, most)
        self._component.declare(where, least, most)

    def convert(self, value: Any, kept: list[Any]) -> bytes:
        component = self._component
        if isinstance(value, np.ndarray):
            value = list(value.reshape(-1))
        if isinstance(value, list | tuple):
            if len(value) != self._count:
                raise errors.InvalidArgument(f"{self.where} has {self._count} components; {len(value)} were given")
            raw = struct.pack(f"<{self._count}{component.code}", *(component.convert(each, kept) for each in value))
            # Three components take the space of four.
            return raw.ljust(self.size, b"\0")
        found = bytes_like(value)
        if found is None:
            raise self.wrong(value, f"{self._count} numbers")
        return self.require_size(found)


def bytes_like(value: Any) -> bytes | None:
    """The bytes of an object that has its own: bytes, numpy scalars and arrays, structures of ctypes; else None."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return value.tobytes() if not value.dtype.hasobject else None
    if isinstance(value, bytearray | memoryview | ctypes.Structure | ctypes.Union | ctypes.Array):
        return bytes(value)
    return None


def parameter(where: str, text: str, size: int) -> Parameter:
    """The parameter of a type; `where` is its name in errors."""
    if text.endswith("*"):
        if _LOCAL.search(text):
            return _Local(where)
        return Pointer(where, _QUALIFIERS.sub("", text.removesuffix("*")).strip())
    name = _QUALIFIERS.sub("", text).strip()
    if image := _IMAGE.fullmatch(name):
        return _Image(where, "buffer" if image[2] == "buffer" else image[1] + (image[2] or ""))
    if name == "sampler_t":
        return _Sampler(where)
    scalar = _scalar(where, name)
    if scalar is not None and scalar.size == size:
        return scalar
    if vector := _VECTOR.fullmatch(name):
        component = _scalar(where, vector[1])
        if component is not None:
            return _Vector(where, size, component, int(vector[2]))
    return _Structure(where, size)


def _scalar(where: str, name: str) -> _Scalar | None:
    if name in _REALS:
        return _Real(where, name)
    return _Integer(where, _INTEGERS[name]) if name in _INTEGERS else None
