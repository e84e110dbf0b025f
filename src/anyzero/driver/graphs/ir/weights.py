"""Constants: the places of their values in the model, and in the weights of a graph."""

from __future__ import annotations

import math
import re
from typing import Final

from anyzero.driver.graphs.ir.element_types import ElementType
from anyzero.driver.graphs.ir.model import Layer, Model, element_type, number
from anyzero.driver.graphs.ir.text import Element, damaged
from anyzero.driver.graphs.ir.write import Edit, attributes
from anyzero.layouts.graph import WeightsPiece
from anyzero.lazy_dataclass import dataclass

__all__ = [
    "ALIGNMENT",
    "Constant",
    "Layout",
    "aligned",
    "check_constants",
    "constants",
    "place",
    "place_constants",
]

_POINTER: Final = "WeightsPointerAttribute"
_BRACKETS: Final = re.compile(r"[\s\[\]]")
ALIGNMENT: Final = 64
"""Alignment in bytes, so that constants are used in place."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A layer with values, which fit its type and shape."""

    layer: Layer
    data: dict[str, str]
    text: Element | None
    """The layer's, where its values are in the client's memory."""
    address: int
    """The address of its values: in the client's memory, or in the weights."""
    size: int

    @property
    def type(self) -> ElementType:
        return element_type(self.data["element_type"], self.layer)

    @property
    def shape(self) -> list[int]:
        return _shape(self.data["shape"], self.layer)


def constants(model: Model, weights_size: int, *, pointed: bool) -> list[Constant]:
    """All constants, those of the net first; with `pointed`, some may point into the client's memory."""
    found = []
    for layer in _constants(model):
        data = layer.data or {}
        text = _with_pointer(model, layer) if pointed and data.get("size") == "0" else None
        if text is None:
            _check(data, layer, weights_size)
            found.append(Constant(layer, data, None, int(data["offset"]), int(data["size"])))
        else:
            address, size = _pointer(text, layer)
            _check({**data, "offset": "0", "size": str(size)}, layer, size)
            found.append(Constant(layer, data, text, address, size))
    return found


def check_constants(model: Model, weights_size: int) -> None:
    """Raises a Refusal unless every constant lies inside the weights, and is as large as its shape says."""
    constants(model, weights_size, pointed=False)


def place_constants(model: Model, edit: Edit, weights_size: int) -> tuple[list[WeightsPiece], int]:
    """Gives constants in the client's memory a place behind `weights_size`; equal pointers share one.

    Also returns the new size of the weights.
    """
    layout = Layout(weights_size)
    for constant in constants(model, weights_size, pointed=True):
        if constant.text is not None:
            place(model, edit, constant, layout.add(constant))
    return layout.pieces, layout.end


class Layout:
    """Places in the weights of a graph, one behind the other."""

    def __init__(self, begin: int = 0) -> None:
        self.end = begin
        self._pieces: dict[tuple[int, int], WeightsPiece] = {}

    @property
    def pieces(self) -> list[WeightsPiece]:
        return list(self._pieces.values())

    def reserve(self, size: int, layer: Layer) -> int:
        offset = aligned(self.end)
        self.end = offset + size
        if self.end >= 1 << 63:
            raise damaged(f"{layer}: {size} bytes of weights are more than there can be")
        return offset

    def add(self, constant: Constant) -> int:
        """Copy its values to a place of their own, unless they are there already."""
        key = constant.address, constant.size
        if key not in self._pieces:
            self._pieces[key] = WeightsPiece(*key, self.reserve(constant.size, constant.layer))
        return self._pieces[key].offset


def aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _constants(model: Model) -> list[Layer]:
    return [layer for graph in (model.net, *model.bodies) for layer in graph.layers.values() if layer.type == "Const"]


def _check(data: dict[str, str], layer: Layer, weights_size: int) -> None:
    for name in ("element_type", "shape", "offset", "size"):
        if name not in data:
            raise damaged(f"{layer} has no {name}")
    offset, size = (number(data[name], f"{layer}: the {name}") for name in ("offset", "size"))
    if offset + size > weights_size:
        raise damaged(f"{layer} is {size} bytes at {offset}, and the weights are {weights_size} bytes")
    type_ = element_type(data["element_type"], layer)
    needed = type_.bytes(math.prod(_shape(data["shape"], layer)))
    if type_.bits and size < needed:
        raise damaged(f"{layer} has {size} bytes, and its shape [{data['shape'][:80]}] of {type_.name} takes {needed}")


def _shape(text: str, layer: Layer) -> list[int]:
    listed = _BRACKETS.sub("", text)
    return [number(dim, f"{layer}: a dimension") for dim in listed.split(",")] if listed else []


def _with_pointer(model: Model, layer: Layer) -> Element | None:
    """The element of a constant, if it may be a pointer."""
    found = model.xml.find(_POINTER.encode(), layer.start, layer.end) >= 0
    whole = model.element(layer) if found else None
    return whole if whole and _said(whole) else None


def _said(whole: Element) -> list[Element]:
    listed = (said for info in whole.all("rt_info") for said in info.all("attribute"))
    return [said for said in listed if said.attributes.get("name") == _POINTER]


def _pointer(whole: Element, layer: Layer) -> tuple[int, int]:
    """Address and size."""
    given = _said(whole)[0].attributes
    address, size = (number(given.get(key, ""), f"{layer}: {key} of {_POINTER}") for key in ("mp", "ms"))
    if address == 0 and size:
        raise damaged(f"{layer}: its weights are at address 0")
    return address, size


def place(model: Model, edit: Edit, constant: Constant, offset: int) -> None:
    """The constant becomes one whose values are copied to `offset`."""
    layer, text = constant.layer, constant.text or model.element(constant.layer)
    data = {**constant.data, "offset": str(offset), "size": str(constant.size)}
    for said in _said(text) if constant.text else ():
        edit.replace(layer.start + said.start, layer.start + said.end, "")
    for old in text.all("data")[:1]:
        edit.replace(layer.start + old.start, layer.start + old.end, f"<data{attributes(data)} />")
