"""Inputs of a module: SPIR-V, build flags, and values for its specialization constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anyzero.compiler import spirv
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv.constants import Scalar
from anyzero.config import Config
from anyzero.driver.modules import build_options
from anyzero.lazy_dataclass import dataclass, replace

__all__ = ["Input", "Unit", "read", "sizes"]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a module, without pointers."""

    data: bytes
    flags: str = ""
    constants: tuple[tuple[int, bytes], ...] = ()
    """Numbers and values of specialization constants that the module has, in the order of the numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """An input, read and verified."""

    input: Input
    module: spirv.Module
    options: Options
    warnings: tuple[str, ...]


def read(data: bytes, flags: str, values: Mapping[int, bytes], environment: Config, *, pages: bool = True) -> Unit:
    """Reads an input and verifies its declarations; raises SpirvError where they are wrong.

    `pages` says whether the device pages memory in on demand; where it does not, kernels check their accesses.
    """
    options, warnings = build_options.parse(flags, environment)
    options = replace(options, residency_checks=not pages)
    module = spirv.read(data, {number: value for number, value in values.items() if value})
    spirv.verify_declarations(module)
    warnings += [_unknown(number) for number in sorted(values.keys() - module.specializable.keys())]
    warnings += [_empty(number) for number in _known(values, module) if not values[number]]
    used = tuple((number, _value(module.specializable[number])) for number in _known(values, module))
    return Unit(Input(data, flags, used), module, options, tuple(warnings))


def sizes(data: bytes) -> dict[int, int]:
    """The size in bytes of each specialization constant, by number; none if the data is no SPIR-V."""
    try:
        return {number: each.type.size for number, each in spirv.read(data).specializable.items()}
    except spirv.SpirvError:
        return {}  # the build reports the error


def _known(values: Iterable[int], module: spirv.Module) -> list[int]:
    return sorted(set(values) & module.specializable.keys())


def _value(constant: Scalar) -> bytes:
    return constant.bits.to_bytes(constant.type.size, "little")


def _empty(number: int) -> str:
    return f"the specialization constant {number} has no value"


def _unknown(number: int) -> str:
    return f"there is no specialization constant {number}; its value has no effect"
