"""Sources of modules: files, bytes, build options, specialization constants."""

from __future__ import annotations

import ctypes
import operator
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from anyzero import errors, ze
from anyzero.api.library import OURS

if TYPE_CHECKING:
    # Imported on use: a program that has SPIR-V already does not need it.
    from anyzero.opencl_c import Compiled

__all__ = ["Constants", "Description", "Format", "ModuleInputs", "ModuleSource", "read"]

Format = Literal["spirv", "native"]
ModuleSource = str | os.PathLike[str] | bytes | bytearray | memoryview
Constants = Mapping[int, Any]

_FORMATS: Final[dict[str, int]] = {"spirv": ze.ZE_MODULE_FORMAT_IL_SPIRV, "native": ze.ZE_MODULE_FORMAT_NATIVE}
_SPIRV: Final = (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03")
_SOURCES: Final = (".cl", ".clc", ".ocl")
_COMPILE: Final = "OpenCL C is compiled by `anyzero compile kernels.cl -o kernels.spv`, or here: ctx.module(source=…)."
_FOREIGN: Final = (
    (b"BC\xc0\xde", "LLVM bitcode", "Translate it first: llvm-spirv kernels.bc -o kernels.spv."),
    (b"\xde\xc0\x17\x0b", "LLVM bitcode", "Translate it first: llvm-spirv kernels.bc -o kernels.spv."),
    (b"\x50\xed\x55\xba", "a fat binary of CUDA", "Compile the kernels' source to SPIR-V."),
    (b"__CLANG_OFFLOAD_BUNDLE__", "a bundle of clang's", "Take the SPIR-V out of it with clang-offload-bundler."),
    (b"PK\x03\x04", "a zip archive", "Unpack it first."),
    (b"\x1f\x8b", "compressed", "Unpack it first: gunzip."),
    (b"!<arch>", "a static library", "Name one SPIR-V file."),
)
_LARGEST: Final = 8
"""Bytes of the largest constant."""


def read(source: Any, options: str = "") -> tuple[bytes, str, str]:
    """The bytes of a module, from a file or as given, the driver's options, and clang's messages."""
    if isinstance(source, bytes):
        return source, options, ""
    if isinstance(source, bytearray | memoryview | np.ndarray):
        return bytes(source), options, ""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        raise errors.InvalidArgument(
            "this is source code; a file name or SPIR-V was expected", remedy="Pass it as Context.module(source=…)."
        )
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"a module is made from a file name or bytes, not from {source!r}")
    if os.fspath(source).endswith(_SOURCES):
        from anyzero.opencl_c import compile_file

        return _compiled(lambda flags: compile_file(source, flags), options)
    return Path(source).read_bytes(), options, ""


def from_text(text: str, options: str) -> tuple[bytes, str, str]:
    """The same for OpenCL C."""
    from anyzero.opencl_c import compile_text

    return _compiled(lambda flags: compile_text(text, flags), options)


def _compiled(compile_with: Callable[[list[str]], Compiled], options: str) -> tuple[bytes, str, str]:
    """OpenCL C, compiled. Options of Level Zero begin with ``-ze``; the others are clang's, and ``-g`` is both's."""
    flags = shlex.split(options)
    made = compile_with([each for each in flags if not each.startswith("-ze")])
    return made.spirv, " ".join(each for each in flags if each.startswith("-ze") or each == "-g"), made.log


def format_of(data: bytes, name: str, given: Format | None) -> int:
    """The given format, else the one that the first bytes show."""
    if given is not None:
        if given not in _FORMATS:
            raise ValueError(f"format={given!r} is not one of {', '.join(_FORMATS)}")
        return _FORMATS[given]
    if data[:4] in _SPIRV:
        return ze.ZE_MODULE_FORMAT_IL_SPIRV
    if (found := foreign(data)) is not None:
        what, remedy = found
        raise errors.InvalidArgument(
            f"{name or 'this'} is {what}; a module is SPIR-V or the device's native code", remedy=remedy
        )
    return ze.ZE_MODULE_FORMAT_NATIVE


def foreign(data: bytes) -> tuple[str, str] | None:
    """The kind of bytes that are no module, by their first ones, and the remedy; None where a driver has to look."""
    if not data:
        return "empty", "Did the compiler that writes it fail?"
    for magic, what, remedy in _FOREIGN:
        if data.startswith(magic):
            return what, remedy
    if OURS and data.startswith(b"\x7fELF"):  # other drivers' native binaries are ELF too
        return "an ELF file: a program, a library, or another driver's binary", _COMPILE
    head = data[:512]
    if all(byte in b"\t\n\f\r" or 32 <= byte < 127 for byte in head):
        if any(mark in head for mark in (b".version", b".target sm_")):
            return "PTX, which NVIDIA's driver takes", _COMPILE
        if head.lstrip().startswith((b"; SPIR-V", b"OpCapability")):
            return "SPIR-V as text", "Assemble it first: spirv-as kernels.spvasm -o kernels.spv."
        if any(mark in head for mark in (b"kernel", b"void", b"#include", b"{")):
            return "source code", _COMPILE
        return "text", _COMPILE
    return None


def _constant(number: int, value: Any) -> bytes:
    """The bytes of a specialization constant. The driver knows its size and reads that many."""
    if isinstance(value, np.generic):
        raw = value.tobytes()
    elif isinstance(value, bytes):
        raw = value
    elif isinstance(value, float):
        raise errors.InvalidArgument(
            f"specialization constant {number} is the plain float {value!r}, which does not determine its size",
            remedy="Pass np.float32(...) or np.float64(...), as in the kernel's source.",
        )
    else:
        try:
            whole = operator.index(value)
        except TypeError:
            raise errors.InvalidArgument(
                f"specialization constant {number} is {value!r}, which is not a number"
            ) from None
        if not -(1 << 63) <= whole < 1 << 64:
            raise errors.InvalidArgument(
                f"specialization constant {number} is {whole}, which does not fit any constant"
            )
        return (whole % (1 << 64)).to_bytes(8, "little")
    if len(raw) > _LARGEST:
        raise errors.InvalidArgument(f"specialization constant {number} has {len(raw)} bytes; the largest have 8")
    return raw.ljust(_LARGEST, b"\0")


class ModuleInputs(NamedTuple):
    """The inputs that a module was made from, one entry for each of its files: enough to make it again elsewhere."""

    files: tuple[bytes, ...]
    """SPIR-V, or native binaries."""
    options: tuple[str, ...]
    """Build options."""
    constants: tuple[dict[int, Any], ...]
    """Specialization constants by their numbers."""


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
        raise errors.InvalidArgument(f"{found} is not the id of a specialization constant")
    return found


class Description:
    """The description of a module for the driver; `desc` is the structure, the rest is the memory that it points to."""

    def __init__(
        self,
        file: Any,
        options: str | Sequence[str],
        constants: Constants | Sequence[Constants] | None,
        format: Format | None,  # noqa: A002
        source: str | None = None,
    ) -> None:
        if (file is None) == (source is None):
            raise TypeError("a module is made from a file or bytes, or from source=…, which is OpenCL C")
        program = isinstance(file, list | tuple)
        sources = list(file) if program else [file]
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
        found = [
            from_text(source, text) if source is not None else read(each, text)
            for each, text in zip(sources, flags, strict=True)
        ]
        self.log = "\n".join(filter(None, (said for _, _, said in found)))
        inputs = [_Input(data, text, known) for (data, text, _), known in zip(found, values, strict=True)]
        kinds = {format_of(each.data, _name(origin), format) for each, origin in zip(inputs, sources, strict=True)}
        if len(kinds) > 1:
            raise errors.InvalidArgument("some of the modules are SPIR-V and some are native")
        self._inputs = inputs
        self.inputs = ModuleInputs(
            tuple(each.data for each in inputs),
            tuple(each.options.decode() for each in inputs),
            tuple(dict(each) for each in values),
        )
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
