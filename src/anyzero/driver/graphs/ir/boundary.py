"""Inputs and outputs of a model: its Parameters and Results, with types, shapes and names."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from anyzero.driver.graphs.ir.element_types import ElementType
from anyzero.driver.graphs.ir.model import Layer, Model, Port, element_type, names, number
from anyzero.driver.graphs.ir.text import damaged, unsupported
from anyzero.lazy_dataclass import dataclass
from anyzero.ze import npu_constants as npu

__all__ = ["Boundary", "Dimension", "check_representable", "inputs", "output_port", "outputs"]

_BRACKETS: Final = re.compile(r"[\s\[\]]")
_LARGEST: Final = (1 << 32) - 1


class Dimension(NamedTuple):
    static: bool
    upper: int
    """Its size, or its upper bound; 0 for an output whose bound only OpenVINO's shape inference knows."""

    def __str__(self) -> str:
        return str(self.upper) if self.static else f"..{self.upper or ''}"


@dataclass(slots=True)
class Boundary:
    """A Parameter or a Result."""

    layer: Layer
    type: ElementType
    shape: tuple[Dimension, ...]
    spelled: tuple[str, ...]
    """The shape as the IR has it."""
    port: Port
    """The port of the Parameter, or of the layer which feeds the Result."""
    producer: tuple[int, int]
    """Layer and port that the value comes from."""
    tensor_names: tuple[str, ...]

    def called(self, name: str) -> bool:
        return name == self.layer.name or name in self.tensor_names


def inputs(model: Model) -> list[Boundary]:
    found = []
    for layer in model.net.of_type("Parameter"):
        data, ports = layer.data or {}, model.outputs(layer)
        if len(ports) != 1 or "element_type" not in data:
            raise damaged(f"{layer} has no element type, or not one output")
        type_ = element_type(data["element_type"], layer)
        spelled = _partial_shape(data.get("shape", ""), layer)
        shape = tuple(_bounded(dim, axis, layer) for axis, dim in enumerate(spelled))
        found.append(Boundary(layer, type_, shape, spelled, ports[0], (layer.id, ports[0].id), ports[0].names))
    for boundary in found:
        check_representable(boundary.layer, boundary.type, [dim.upper for dim in boundary.shape])
    return found


def outputs(model: Model) -> list[Boundary]:
    found = []
    for layer in model.net.of_type("Result"):
        producer, port = output_port(model, layer)
        shape = tuple(Dimension(dim >= 0, max(dim, 0)) for dim in port.dims)
        spelled = tuple(str(dim) for dim in port.dims)
        own = names(layer.attributes.get("output_names", ""))
        found.append(Boundary(layer, port.type, shape, spelled, port, producer, own or port.names))
    for boundary in found:
        check_representable(boundary.layer, boundary.type, [dim.upper for dim in boundary.shape])
    return found


def output_port(model: Model, layer: Layer) -> tuple[tuple[int, int], Port]:
    """The source of the value of a layer with one input."""
    feeding = model.feeding.get(layer.id, [])
    if len(feeding) != 1:
        raise damaged(f"{layer} is fed by {len(feeding)} edges instead of one")
    producer = model.net.layers[feeding[0].from_layer]
    for port in model.outputs(producer):
        if port.id == feeding[0].from_port:
            return (producer.id, port.id), port
    raise damaged(f"{layer} is fed by port {feeding[0].from_port} of {producer}, which has no such output")


def _partial_shape(text: str, layer: Layer) -> tuple[str, ...]:
    listed = _BRACKETS.sub("", text)
    if listed == "...":
        raise unsupported(f"{layer} has no rank. Give the model shapes with upper bounds, for example with reshape()")
    return tuple(listed.split(",")) if listed else ()


def _bounded(dim: str, axis: int, layer: Layer) -> Dimension:
    """`4`, `1..4`, `..4`; without an upper bound (`?`, `-1`, `1..`) its memory has no known size."""
    low, dots, high = dim.partition("..")
    if dim in ("?", "-1") or (dots and not high):
        raise unsupported(
            f"{layer}: dimension {axis} has no upper bound. Give it one, for example with "
            'model.reshape({"name": [ov.Dimension(1, 16), 3]})'
        )
    if low:
        number(low, f"{layer}: dimension {axis}")
    upper = number(high if dots else dim, f"{layer}: dimension {axis}")
    return Dimension(not dots or low == high, upper)


def check_representable(layer: Layer, type_: ElementType, dims: list[int]) -> None:
    """Raises a Refusal for shapes and types that an argument of a graph cannot have."""
    if len(dims) > npu.ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE:
        raise unsupported(
            f"{layer} has {len(dims)} dimensions, and inputs and outputs of a graph have "
            f"{npu.ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE} at most. Reshape it inside the model"
        )
    for axis, dim in enumerate(dims):
        if dim > _LARGEST:
            raise unsupported(f"{layer}: dimension {axis} is {dim}, and {_LARGEST} is the limit")
    if type_.precision == npu.ZE_GRAPH_ARGUMENT_PRECISION_UNKNOWN:
        raise unsupported(f"{layer} has the element type {type_.name}, which a graph's arguments cannot have")
