"""Weightless graphs: constants become arguments, so that a blob does not contain them.

A client compiles such a model several times, with an increasing number. The first graphs prepare weights: they take
constants as they are in the file of weights, and output the arguments of the last graph, which is the model itself.
Here a graph that prepares weights just copies them. A client without a number gets the last graph only, and sets the
weights itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from anyzero.driver.graphs.ir.element_types import BY_NAME, ElementType
from anyzero.driver.graphs.ir.model import Model, Port
from anyzero.driver.graphs.ir.weights import Constant, Layout, constants, place
from anyzero.driver.graphs.ir.write import Edit, edge, layer
from anyzero.layouts.graph import WeightsPiece
from anyzero.ze import npu_constants as npu

__all__ = ["Weight", "initializing", "parts", "separable", "separate"]

_TOLD: Final = re.compile(rb'<ws_(bin_offset|original_size|original_dtype)_(\d{1,9}) value="([^"]{1,20})"')
_OF_SHAPES: Final = frozenset({"i32", "i64", "u32", "u64", "boolean"})
"""Types that shapes are computed in. Small constants of these types stay: bounds of outputs may depend on them."""
_LEAST_OF_SHAPES: Final = 4096
_LEAST: Final = 17
_LARGEST_DIMENSION: Final = (1 << 32) - 1
PART_BYTES: Final = 1 << 30
"""The limit of one graph that prepares weights: a client has them in memory twice while it runs."""
_PART_WEIGHTS: Final = 4096


class Weight(NamedTuple):
    """A constant that is an argument."""

    offset: int
    """The offset in the file of the model's weights."""
    size: int
    type: ElementType
    shape: tuple[int, ...]
    name: str


def separable(model: Model, weights_size: int, *, pointed: bool, numbered: bool) -> dict[int, Weight]:
    """The constants that become arguments, by where their layers begin in the text.

    A client that numbers its calls writes into the model where in the file each constant is, in the order of the net's
    constants. Otherwise the weights that come with the model are the file.
    """
    stated = _stated(model) if numbered else None
    in_net = len(model.net.of_type("Const"))
    found: dict[int, Weight] = {}
    sizes: dict[int, set[int]] = {}
    for index, constant in enumerate(constants(model, weights_size, pointed=pointed)):
        if stated is not None:
            offset = stated.get((index, constant.size, constant.type.name)) if index < in_net else None
        else:
            offset = None if constant.text else constant.address
        if offset is None:
            continue
        sizes.setdefault(offset, set()).add(constant.size)
        if weight := _weight(constant, offset):
            found[constant.layer.start] = weight
    # Arguments are known by their offsets.
    return {start: weight for start, weight in found.items() if len(sizes[weight.offset]) == 1}


def _stated(model: Model) -> dict[tuple[int, int, str], int]:
    """The offset in the file of a constant, by its index, size and type there."""
    facts: dict[int, dict[bytes, bytes]] = {}
    for fact, index, value in _TOLD.findall(model.xml, max(end for _, end in model.net.parts.values())):
        facts.setdefault(int(index), {})[fact] = value
    return {
        (index, int(known[b"original_size"]), known[b"original_dtype"].decode()): int(known[b"bin_offset"])
        for index, known in facts.items()
        if len(known) == 3 and known[b"original_size"].isdigit() and known[b"bin_offset"].isdigit()
    }


def _weight(constant: Constant, offset: int) -> Weight | None:
    type_, shape = constant.type, tuple(constant.shape)
    if not type_.bits or constant.size < (_LEAST_OF_SHAPES if type_.name in _OF_SHAPES else _LEAST):
        return None
    plain = type_.bits >= 8 and type_.precision != npu.ZE_GRAPH_ARGUMENT_PRECISION_UNKNOWN
    if not plain or len(shape) > npu.ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE:
        type_, shape = BY_NAME["u8"], (constant.size,)
    if max(shape, default=0) > _LARGEST_DIMENSION:
        return None
    return Weight(offset, constant.size, type_, shape, constant.layer.name)


def separate(
    model: Model, edit: Edit, weights_size: int, apart: dict[int, Weight], *, pointed: bool
) -> tuple[list[WeightsPiece], int, list[Weight]]:
    """Lays the weights out: constants that stay, and then those that are arguments, each once.

    Returns the copies for the former, their size in bytes, and the latter in their order.
    """
    listed = constants(model, weights_size, pointed=pointed)
    # All weights that come beside pointers stay, as they do in any other graph.
    layout = Layout(weights_size if pointed else 0)
    for constant in listed:
        if constant.layer.start not in apart and (constant.text or not pointed):
            place(model, edit, constant, layout.add(constant))
    held, places, order = layout.end, dict[int, int](), list[Weight]()
    for constant in listed:
        weight = apart.get(constant.layer.start)
        if weight is None:
            continue
        if weight.offset not in places:
            places[weight.offset] = layout.reserve(weight.size, constant.layer)
            order.append(weight)
        place(model, edit, constant, places[weight.offset])
    return layout.pieces, held, order


def parts(weights: Iterable[Weight]) -> list[list[Weight]]:
    """The weights that each preparing graph takes."""
    found: list[list[Weight]] = []
    room = 0
    seen: set[int] = set()
    for weight in weights:
        if weight.offset in seen:
            continue
        seen.add(weight.offset)
        if not found or weight.size > room or len(found[-1]) == _PART_WEIGHTS:
            found.append([])
            room = PART_BYTES
        found[-1].append(weight)
        room -= weight.size
    return found


def initializing(weights: list[Weight]) -> bytes:
    """The IR of a graph that copies its inputs to its outputs."""
    layers, edges, count = [], [], len(weights)
    for index, weight in enumerate(weights):
        data = {"shape": ",".join(map(str, weight.shape)), "element_type": weight.type.name}
        port = Port(0, weight.type, weight.shape)
        layers.append(layer(index, f"taken_{weight.offset}", "Parameter", data, outputs=[port]))
        edges.append(edge(index, 0, count + index, 0))
    for index, weight in enumerate(weights):
        port = Port(0, weight.type, weight.shape)
        layers.append(layer(count + index, f"given_{weight.offset}", "Result", {}, inputs=[port]))
    text = f'<net name="weights" version="11"><layers>{"".join(layers)}</layers><edges>{"".join(edges)}</edges></net>'
    return text.encode()
