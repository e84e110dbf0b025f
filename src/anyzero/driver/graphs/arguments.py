"""The arguments of a graph: the inputs, outputs, states and dynamic shapes of a model as clients see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from anyzero.driver.graphs.adapt import permuted
from anyzero.driver.graphs.flags import DEFAULT_LAYOUTS, Wish, layout_number
from anyzero.driver.graphs.ir.boundary import Boundary, Dimension
from anyzero.driver.graphs.ir.element_types import BY_NAME, ElementType
from anyzero.driver.graphs.ir.states import State
from anyzero.driver.graphs.ir.weightless import Weight
from anyzero.layouts.graph import DYNAMIC_DIMENSION, ArgumentRecord, GraphRole
from anyzero.lazy_dataclass import dataclass
from anyzero.ze import npu_constants as npu

__all__ = ["Argument", "arguments", "of_weights"]

INPUT: Final = npu.ZE_GRAPH_ARGUMENT_TYPE_INPUT
OUTPUT: Final = npu.ZE_GRAPH_ARGUMENT_TYPE_OUTPUT

# Clients recognise a special argument by the prefix of its name.
_READ: Final = "vpux_ie_read_value_"
_WRITE: Final = "vpux_ie_assign_"
_SHAPE: Final = "vpux_ie_shape_"
_ORIGINAL: Final = "vpux_ow_"
_PREPARED: Final = "vpux_tw_"
_RESERVED: Final = "vpux_"
_ROOM: Final = npu.ZE_MAX_GRAPH_ARGUMENT_NAME - 1 - len(_READ)
"""Bytes of a name, so that it can also stand behind a prefix."""


@dataclass(slots=True)
class Argument:
    direction: int
    role: int
    port: int
    type: ElementType
    layout: int
    name: str
    friendly_name: str
    tensor_names: tuple[str, ...]
    shape: tuple[Dimension, ...]

    @property
    def dynamic(self) -> bool:
        return not all(dim.static for dim in self.shape)

    def record(self) -> ArgumentRecord:
        """The record of this argument in a manifest."""
        return ArgumentRecord(
            self.direction,
            self.role,
            self.port,
            self.type.number,
            self.type.precision,
            self.type.metadata,
            self.layout,
            self.name,
            self.friendly_name,
            self.tensor_names,
            [dim.upper for dim in self.shape],
            [dim.upper if dim.static else DYNAMIC_DIMENSION for dim in self.shape],
        )


def arguments(
    inputs: list[tuple[Boundary, Wish]],
    outputs: list[tuple[Boundary, Wish]],
    states: list[State],
    weights: Iterable[Weight] = (),
) -> list[Argument]:
    """In the order that clients rely on: inputs, states, shapes; then the same for outputs.

    Weights come behind the inputs. A client knows them by their offsets in the file of weights.
    """
    taken = _side(INPUT, inputs, states, 0)
    taken += [_weight(INPUT, GraphRole.WEIGHTS, 0, _PREPARED, weight) for weight in weights]
    return taken + _side(OUTPUT, outputs, states, len(taken))


def of_weights(weights: list[Weight]) -> list[Argument]:
    """The arguments of a graph that prepares weights."""
    return [
        _weight(direction, GraphRole.DATA, port, prefix, weight)
        for direction, prefix in ((INPUT, _ORIGINAL), (OUTPUT, _PREPARED))
        for port, weight in enumerate(weights)
    ]


def _weight(direction: int, role: int, port: int, prefix: str, weight: Weight) -> Argument:
    return _special(direction, role, port, f"{prefix}{weight.offset}", weight.name, weight.type, weight.shape)


def _side(direction: int, listed: list[tuple[Boundary, Wish]], states: list[State], first: int) -> list[Argument]:
    names = _names(boundary.layer.name for boundary, _ in listed)
    found = [_data(direction, port, name, *each) for port, (name, each) in enumerate(zip(names, listed, strict=True))]
    prefix = _READ if direction == INPUT else _WRITE
    known = _names(state.id for state in states)
    found += [
        _special(
            direction, GraphRole.STATE, len(listed) + index, prefix + name, state.name, state.port.type, state.port.dims
        )
        for index, (name, state) in enumerate(zip(known, states, strict=True))
    ]
    # A shape has 32 bits for each dimension, the last one first.
    return found + [
        _special(
            direction,
            GraphRole.SHAPE,
            first + index,
            _SHAPE + of.name,
            of.friendly_name,
            BY_NAME["i32"],
            (len(of.shape),),
        )
        for index, of in enumerate(found)
        if of.dynamic
    ]


def _data(direction: int, port: int, name: str, boundary: Boundary, wish: Wish) -> Argument:
    return Argument(
        direction,
        GraphRole.DATA,
        port,
        wish.type,
        layout_number(wish.layout),
        name,
        boundary.layer.name,
        boundary.tensor_names,
        permuted(boundary.shape, wish.order),
    )


def _special(
    direction: int, role: int, port: int, name: str, friendly: str, type_: ElementType, dims: tuple[int, ...]
) -> Argument:
    layout = layout_number(DEFAULT_LAYOUTS[len(dims)])
    return Argument(
        direction, role, port, type_, layout, name, friendly, (), tuple(Dimension(True, dim) for dim in dims)
    )


def _names(wanted: Iterable[str]) -> list[str]:
    """Names that fit, are unique and have no special prefix."""
    taken: set[str] = set()
    listed = []
    for name in wanted:
        plain = f"_{name}" if name.startswith(_RESERVED) else name
        short, number = _cut(plain, _ROOM), 2
        while short in taken:
            ending = f"#{number}"
            short, number = _cut(plain, _ROOM - len(ending)) + ending, number + 1
        taken.add(short)
        listed.append(short)
    return listed


def _cut(name: str, room: int) -> str:
    return name.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
