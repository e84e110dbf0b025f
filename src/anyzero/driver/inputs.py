"""What a module is made from: SPIR-V, build flags, and values for its specialization constants."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anyzero.compiler import spirv
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv.constants import Scalar
from anyzero.config import Config
from anyzero.driver import build_options

__all__ = ["Input", "Unit", "ValueAt", "read"]


@dataclass(frozen=True, slots=True)
class Input:
    """One of the things that a module is built from, free of pointers."""

    data: bytes
    flags: str = ""
    constants: tuple[tuple[int, bytes], ...] = ()
    """Numbers and values of specialization constants that the module has, in the order of the numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """An input, read and looked over."""

    input: Input
    module: spirv.Module
    options: Options
    warnings: tuple[str, ...]


class ValueAt(bytes):
    """A value in the caller's memory. Only the type of the constant tells its size, so it is read when cut to that."""

    def __new__(cls, address: int) -> ValueAt:
        return super().__new__(cls, address.to_bytes(8, "little"))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and index.start is None and index.step is None and index.stop:
            return ctypes.string_at(int.from_bytes(self, "little"), index.stop)
        raise TypeError("a value in memory can only be cut to its size")


def read(data: bytes, flags: str, values: Mapping[int, bytes], environment: Config) -> Unit:
    """Reads an input and verifies its declarations; raises SpirvError where they are wrong."""
    options, warnings = build_options.parse(flags, environment)
    module = spirv.read(data, values)
    spirv.verify_declarations(module)
    warnings += [_unknown(number) for number in sorted(values.keys() - module.specializable.keys())]
    used = tuple((number, _value(module.specializable[number])) for number in _known(values, module))
    return Unit(Input(data, flags, used), module, options, tuple(warnings))


def _known(values: Iterable[int], module: spirv.Module) -> list[int]:
    return sorted(set(values) & module.specializable.keys())


def _value(constant: Scalar) -> bytes:
    return constant.bits.to_bytes(constant.type.size, "little")


def _unknown(number: int) -> str:
    return f"there is no specialization constant {number}; its value has no effect"
