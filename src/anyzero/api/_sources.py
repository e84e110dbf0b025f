"""What modules are made from: files, bytes, build options, specialization constants."""

from __future__ import annotations

import ctypes
import operator
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from anyzero import errors, ze

__all__ = ["Constants", "Description", "Format", "ModuleSource", "read"]

Format = Literal["spirv", "native"]
ModuleSource = str | os.PathLike[str] | bytes | bytearray | memoryview
Constants = Mapping[int, Any]

_FORMATS: Final[dict[str, int]] = {"spirv": ze.ZE_MODULE_FORMAT_IL_SPIRV, "native": ze.ZE_MODULE_FORMAT_NATIVE}
_SPIRV: Final = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")
_COMPILE: Final = (
    "Compile it first, for instance: clang -c --target=spirv64 -cl-std=CL3.0 -O2 kernels.cl -o kernels.spv."
)
_LARGEST: Final = 8
"""Bytes of the largest constant."""


def read(source: Any) -> bytes:
    """The bytes of a module: of a file, or those given."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, bytearray | memoryview | np.ndarray):
        return bytes(source)
    if isinstance(source, str) and ("\n" in source or "{" in source):
        raise errors.InvalidArgument("this is source code, where a file name or SPIR-V is wanted", remedy=_COMPILE)
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a module is made from a file name or bytes, not from {source!r}")
    return Path(source).read_bytes()


def format_of(data: bytes, name: str, given: Format | None) -> int:
    """The format: the given one, else what the first bytes say."""
    if given is not None:
        if given not in _FORMATS:
            raise ValueError(f"format={given!r}: one of {', '.join(_FORMATS)}")
        return _FORMATS[given]
    if data[:4] in _SPIRV:
        return ze.ZE_MODULE_FORMAT_IL_SPIRV
    if name.endswith((".cl", ".c", ".cpp", ".clcpp")):
        raise errors.InvalidArgument(f"{name} is source code, where SPIR-V is wanted", remedy=_COMPILE)
    return ze.ZE_MODULE_FORMAT_NATIVE


def _constant(number: int, value: Any) -> bytes:
    """The bytes of a specialization constant. The driver knows its size and reads so many of them."""
    if isinstance(value, np.generic):
        raw = value.tobytes()
    elif isinstance(value, bytes):
        raw = value
    elif isinstance(value, float):
        raise errors.InvalidArgument(
            f"specialization constant {number} is the plain float {value!r}, which says nothing of its size",
            remedy="Pass np.float32(...) or np.float64(...), as the kernel's source has it.",
        )
    else:
        try:
            whole = operator.index(value)
        except TypeError:
            raise errors.InvalidArgument(f"specialization constant {number} is {value!r}, which is no number") from None
        if not -(1 << 63) <= whole < 1 << 64:
            raise errors.InvalidArgument(f"specialization constant {number} is {whole}, which no constant holds")
        return (whole % (1 << 64)).to_bytes(8, "little")
    if len(raw) > _LARGEST:
        raise errors.InvalidArgument(f"specialization constant {number} has {len(raw)} bytes; the largest have 8")
    return raw.ljust(_LARGEST, b"\0")


class _Input:
    """One module of the caller's, and the memory that describes it to the driver."""

    def __init__(self, data: bytes, options: str, constants: Constants) -> None:
        self.data = data
        self.options = options.encode()
        values = b"".join(_constant(number, value) for number, value in constants.items())
        count = len(constants)
        self._values = ctypes.create_string_buffer(values, max(len(values), 1))
        start = ctypes.addressof(self._values)
        self._ids = (ctypes.c_uint32 * max(count, 1))(*map(_identifier, constants))
        self._places = (ctypes.c_void_p * max(count, 1))(*(start + place * _LARGEST for place in range(count)))
        self._constants = ze.ze_module_constants_t(count, ctypes.addressof(self._ids), ctypes.addressof(self._places))
        self.constants = ctypes.addressof(self._constants) if count else None


def _identifier(number: Any) -> int:
    found = operator.index(number)
    if not 0 <= found < 1 << 32:
        raise errors.InvalidArgument(f"{found} is no number of a specialization constant")
    return found


class Description:
    """What the driver reads to make a module; `desc` is the structure, the rest is what that points to."""

    def __init__(
        self,
        source: Any,
        options: str | Sequence[str],
        constants: Constants | Sequence[Constants] | None,
        format: Format | None,  # noqa: A002
    ) -> None:
        program = isinstance(source, list | tuple)
        sources = list(source) if program else [source]
        if not sources:
            raise errors.InvalidArgument("there are no modules to make a program of")
        flags = [options] * len(sources) if isinstance(options, str) else list(options)
        if constants is None or isinstance(constants, Mapping):
            values: list[Constants] = [constants or {}] * len(sources)
        else:
            values = list(constants)
        if not len(sources) == len(flags) == len(values):
            raise errors.InvalidArgument(
                f"{len(sources)} modules with {len(flags)} options and {len(values)} sets of constants",
                remedy="Give one for all, or one for each.",
            )
        inputs = [_Input(read(each), text, known) for each, text, known in zip(sources, flags, values, strict=True)]
        kinds = {format_of(each.data, _name(origin), format) for each, origin in zip(inputs, sources, strict=True)}
        if len(kinds) > 1:
            raise errors.InvalidArgument("some of the modules are SPIR-V and some are native")
        self._inputs = inputs
        self.spirv = [each.data for each in inputs] if kinds == {ze.ZE_MODULE_FORMAT_IL_SPIRV} else []
        self.desc = ze.ze_module_desc_t(format=kinds.pop())
        if program:
            self._chain(inputs)
        else:
            only = inputs[0]
            self.desc.inputSize = len(only.data)
            self.desc.pInputModule = _address(only.data)
            self.desc.pBuildFlags = only.options
            self.desc.pConstants = only.constants

    def _chain(self, inputs: list[_Input]) -> None:
        count = len(inputs)
        self._sizes = (ctypes.c_size_t * count)(*(len(each.data) for each in inputs))
        self._modules = (ctypes.c_void_p * count)(*(_address(each.data) for each in inputs))
        self._flags = (ctypes.c_char_p * count)(*(each.options for each in inputs))
        self._constants = (ctypes.c_void_p * count)(*(each.constants for each in inputs))
        self._program = ze.ze_module_program_exp_desc_t(
            count=count,
            inputSizes=ctypes.addressof(self._sizes),
            pInputModules=ctypes.addressof(self._modules),
            pBuildFlags=ctypes.addressof(self._flags),
            pConstants=ctypes.addressof(self._constants),
        )
        self.desc.pNext = ctypes.addressof(self._program)


def _address(data: bytes) -> int | None:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value


def _name(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else ""
