"""Constants: where their values are, and where they go in the weights of a graph."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from anyzero.driver.ir import Layer, Model, element_type, number
from anyzero.driver.ir_text import Element, damaged
from anyzero.driver.ir_write import Edit, attributes

__all__ = ["Piece", "check_constants", "place_constants"]

_POINTER: Final = "WeightsPointerAttribute"
_BRACKETS: Final = re.compile(r"[\s\[\]]")
_ALIGNMENT: Final = 64
"""So that constants are used where they lie."""


class Piece(NamedTuple):
    """Values in the client's memory, and their place in the weights."""

    address: int
    size: int
    offset: int


def check_constants(model: Model, weights_size: int) -> None:
    """Every constant lies inside the weights, and is as large as its shape says."""
    for layer in _constants(model):
        _check(layer.data or {}, layer, weights_size)


def place_constants(model: Model, edit: Edit, weights_size: int) -> tuple[list[Piece], int]:
    """Gives those that are pointers into the client's memory a place behind `weights_size`; equal pointers share one.

    Also tells how large the weights become.
    """
    pieces: dict[tuple[int, int], Piece] = {}
    end = weights_size
    for layer in _constants(model):
        data = layer.data or {}
        whole = _with_pointer(model, layer) if data.get("size") == "0" else None
        if whole is None:
            _check(data, layer, weights_size)
            continue
        address, size = _pointer(whole, layer)
        if (piece := pieces.get((address, size))) is None:
            offset = -(-end // _ALIGNMENT) * _ALIGNMENT
            piece = pieces[address, size] = Piece(address, size, offset)
            end = offset + size
            if end >= 1 << 63:
                raise damaged(f"{layer}: {size} bytes of weights are more than there can be")
        data = {**data, "offset": str(piece.offset), "size": str(size)}
        _check(data, layer, end)
        _place(edit, layer, whole, data)
    return list(pieces.values()), end


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
    """What is written in a constant, if that may be a pointer."""
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


def _place(edit: Edit, layer: Layer, whole: Element, data: dict[str, str]) -> None:
    """The constant is as it would be with copied weights."""
    for said in _said(whole):
        edit.replace(layer.start + said.start, layer.start + said.end, "")
    for old in whole.all("data")[:1]:
        edit.replace(layer.start + old.start, layer.start + old.end, f"<data{attributes(data)} />")
