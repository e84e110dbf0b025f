"""Arguments of a launch, in the caller's form and in the work-items' form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anyzero.compiler.reference import layout
from anyzero.compiler.reference.errors import BadArgument
from anyzero.compiler.reference.image import Image, Sampler
from anyzero.compiler.reference.memory import SHIFT, new_address
from anyzero.compiler.reference.numbers import ROUND
from anyzero.compiler.spirv.kernel import Parameter
from anyzero.compiler.spirv.types import Bool, Float, Int, Pointer, Type, Vector
from anyzero.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from anyzero.compiler.reference.launch import Launch
    from anyzero.compiler.reference.work_item import Item


@dataclass(frozen=True, slots=True)
class Local:
    """The argument for a local pointer: bytes per group, initially zero."""

    bytes: int


@dataclass(slots=True, eq=False)
class Bound:
    """An argument, ready for work-items."""

    name: str
    plain: Any = None
    local: int = 0
    """The address, for a local argument."""
    size: int = 0
    private: bytes | None = None
    """The bytes that each work-item gets a copy of."""

    def value(self, item: Item) -> Any:
        if self.private is None:
            return self.plain
        address = item.allocate(len(self.private), self.name)
        item.regions[address >> SHIFT].view[:] = self.private
        return address


def bind(launch: Launch, parameter: Parameter, given: Any) -> Bound:
    name = f"argument {parameter.index}" + (f' "{parameter.name}"' if parameter.name else "")
    match parameter.kind:
        case "global" | "constant":
            return Bound(name, _pointer(launch, name, given))
        case "local":
            if not isinstance(given, Local):
                raise BadArgument(f"{name} points to local memory and takes Local(bytes), not {_kind(given)}")
            address = new_address()
            return Bound(name, address, address, given.bytes)
        case "byval":
            assert isinstance(parameter.type, Pointer)
            return Bound(name, private=_bytes(name, given, parameter.type.pointee))
        case "image":
            return Bound(name, _handle(launch, name, given, Image))
        case "sampler":
            return Bound(name, _handle(launch, name, given, Sampler))
        case "value":
            return Bound(name, _value(name, _number(launch, given), parameter.type))


def _kind(given: Any) -> str:
    return f"a {type(given).__name__}"


def _pointer(launch: Launch, name: str, given: Any) -> int:
    if given is None:
        return 0
    if isinstance(given, np.ndarray):
        return launch.memory.add(given, name)
    if isinstance(given, (int, np.integer)):
        return int(given)
    raise BadArgument(f"{name} is a pointer and takes an array or an address, not {_kind(given)}")


def _handle(launch: Launch, name: str, given: Any, wanted: type[Any]) -> int:
    if not isinstance(given, wanted):
        raise BadArgument(f"{name} takes {wanted.__name__}(…), not {_kind(given)}")
    return launch.handle(given)


def _number(launch: Launch, given: Any) -> Any:
    """The handle of an image argument passed as an integer; with a sampler, a pair of both."""
    if isinstance(given, Image):
        return launch.handle(given)
    match given:
        case (Image() as image, Sampler() as sampler):
            return launch.pair(launch.handle(image), launch.handle(sampler))
    return given


def _bytes(name: str, given: Any, type_: Type) -> bytes:
    data = given.tobytes() if isinstance(given, (np.ndarray, np.generic)) else given
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise BadArgument(f"{name} is {type_} and takes bytes, not {_kind(given)}")
    if len(bytes(data)) not in (type_.size, type_.stored):
        raise BadArgument(f"{name} is {type_} and takes {type_.size} bytes, not {len(bytes(data))}")
    return bytes(data).ljust(type_.size, b"\0")


def _value(name: str, given: Any, type_: Type) -> Any:
    if isinstance(given, (bytes, bytearray, memoryview)):
        return layout.from_bytes(type_, _bytes(name, given, type_))
    if isinstance(type_, Vector) and isinstance(given, (tuple, list, np.ndarray)):
        if len(given) != type_.length:
            raise BadArgument(f"{name} is {type_} and got {len(given)} numbers")
        return tuple(_value(name, each, type_.element) for each in given)
    if isinstance(type_, (Int, Pointer)) and isinstance(given, (int, np.integer, np.bool_)):
        return int(given) & ((1 << type_.bits) - 1)
    if isinstance(type_, Bool) and isinstance(given, (int, np.integer, np.bool_)):
        return bool(given)
    if isinstance(type_, Float) and isinstance(given, (int, float, np.integer, np.floating)):
        return ROUND[type_.width](float(given))
    return layout.from_bytes(type_, _bytes(name, given, type_))
