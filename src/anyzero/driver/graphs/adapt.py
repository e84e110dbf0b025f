"""Adapts a model to its graph's arguments: converts precisions and transposes layouts."""

from __future__ import annotations

from typing import TypeVar

from anyzero.driver.graphs.flags import DEFAULT_LAYOUTS, Wish
from anyzero.driver.graphs.ir.boundary import Boundary
from anyzero.driver.graphs.ir.element_types import BY_NAME, ElementType
from anyzero.driver.graphs.ir.model import Edge, Port
from anyzero.driver.graphs.ir.write import Edit, layer

__all__ = ["adapt_input", "adapt_output", "permuted"]

T = TypeVar("T")


def permuted(items: tuple[T, ...], order: tuple[int, ...] | None) -> tuple[T, ...]:
    return items if order is None else tuple(items[axis] for axis in order)


def adapt_input(edit: Edit, given: Boundary, wish: Wish) -> None:
    """Gives the Parameter the requested type and layout, and converts back for the layers that use it."""
    changed = Port(given.port.id, wish.type, permuted(given.port.dims, wish.order), given.port.names)
    if changed == given.port:
        return
    data = {"shape": ",".join(permuted(given.spelled, wish.order)), "element_type": wish.type.name}
    old = given.layer
    edit.replace(old.start, old.end, layer(old.id, old.name, "Parameter", data, outputs=[changed]))
    used = [edge for edge in edit.edges if (edge.from_layer, edge.from_port) == given.producer]
    edit.edges = [edge for edge in edit.edges if (edge.from_layer, edge.from_port) != given.producer]
    chain = _Chain(edit, old.name, given.producer, changed)
    if wish.order is not None:
        chain.convert(_movable(given.type))
        chain.turn(f"{wish.layout}->{DEFAULT_LAYOUTS[len(given.shape)]}", given.port.dims)
    chain.convert(given.type)
    edit.edges += [Edge(*chain.end, edge.to_layer, edge.to_port) for edge in used]


def adapt_output(edit: Edit, given: Boundary, wish: Wish) -> None:
    """Converts the value in front of the Result to the requested type and layout."""
    changed = given.port._replace(type=wish.type, dims=permuted(given.port.dims, wish.order))
    if changed == given.port:
        return
    # The source of the value may have been replaced before, by its Parameter or by a state.
    [edge] = [edge for edge in edit.edges if edge.to_layer == given.layer.id]
    edit.edges.remove(edge)
    chain = _Chain(edit, given.layer.name, (edge.from_layer, edge.from_port), given.port)
    if wish.order is not None:
        chain.convert(_movable(given.type))
        chain.turn(f"{DEFAULT_LAYOUTS[len(given.shape)]}->{wish.layout}", changed.dims)
    chain.convert(wish.type)
    edit.edges.append(Edge(*chain.end, edge.to_layer, edge.to_port))
    taken = [changed._replace(id=edge.to_port, names=())]
    old = given.layer
    edit.replace(old.start, old.end, layer(old.id, old.name, "Result", {}, inputs=taken))


def _movable(type_: ElementType) -> ElementType:
    """Einsum supports no other types."""
    return BY_NAME["u8"] if type_.name == "boolean" else type_


class _Chain:
    """Layers with one output, each behind the one before."""

    def __init__(self, edit: Edit, name: str, start: tuple[int, int], port: Port) -> None:
        self._edit = edit
        self._name = name
        self._port = port._replace(id=1, names=())
        self.end = start

    def convert(self, type_: ElementType) -> None:
        if type_ != self._port.type:
            self._add("Convert", {"destination_type": type_.name}, "opset1", self._port._replace(type=type_))

    def turn(self, equation: str, dims: tuple[int, ...]) -> None:
        """A transposition as an Einsum: the order of a Transpose is a constant, and the weights cannot grow here."""
        self._add("Einsum", {"equation": equation.lower()}, "opset7", self._port._replace(dims=dims))

    def _add(self, type_: str, data: dict[str, str], version: str, after: Port) -> None:
        id_ = self._edit.fresh()
        taken, given = self._port._replace(id=0), after._replace(id=1)
        self._edit.add(layer(id_, f"{self._name}/{type_.lower()}", type_, data, [taken], [given], version))
        self._edit.edges.append(Edge(*self.end, id_, 0))
        self.end, self._port = (id_, 1), after
