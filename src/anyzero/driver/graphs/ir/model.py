"""An OpenVINO IR as layers, ports and edges.

Reading finds the place, the name and the attributes of each layer. Ports are read on demand: a model has thousands of
them, and the planner needs few.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final, NamedTuple

from anyzero.driver.graphs.ir.element_types import BY_NAME, BY_PRECISION, ElementType
from anyzero.driver.graphs.ir.text import (
    DEEPEST,
    Element,
    Handlers,
    Parser,
    damaged,
    element,
    element_end,
    parse,
    tag_end,
)
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["Edge", "Graph", "Layer", "Model", "Port", "element_type", "names", "number", "read"]

_COMMA: Final = re.compile(r"(?<!\\),")
_ENDS: Final = ("from-layer", "from-port", "to-layer", "to-port")


class Edge(NamedTuple):
    from_layer: int
    from_port: int
    to_layer: int
    to_port: int


class Port(NamedTuple):
    id: int
    type: ElementType
    dims: tuple[int, ...]
    """-1 where it is not static."""
    names: tuple[str, ...] = ()
    """The names of the tensor; none for an input."""


@dataclass(slots=True)
class Layer:
    id: int
    name: str
    type: str
    attributes: dict[str, str]
    """The attributes of the layer; `data` has those of its operation."""
    start: int
    end: int = 0
    data: dict[str, str] | None = None

    def __str__(self) -> str:
        return f'the layer "{self.name[:200]}" ({self.type[:40]})'


@dataclass(slots=True)
class Graph:
    """The layers and edges of a net, or of a body inside one of its layers."""

    owner: Layer | None
    depth: int
    """The nesting depth of the elements directly in it."""
    layers: dict[int, Layer] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    parts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Begin and end of the contents of <layers> and of <edges>."""

    def of_type(self, *types: str) -> list[Layer]:
        return [layer for layer in self.layers.values() if layer.type in types]


class Model:
    """The text of an IR, and the places of its parts."""

    def __init__(self, xml: bytes, name: str, net: Graph, bodies: list[Graph]) -> None:
        self.xml = xml
        self.name = name
        self.net = net
        self.bodies = bodies

    def element(self, layer: Layer) -> Element:
        return element(self.xml[layer.start : layer.end])

    def inputs(self, layer: Layer) -> list[Port]:
        return self._ports(layer, "input")

    def outputs(self, layer: Layer) -> list[Port]:
        return self._ports(layer, "output")

    def _ports(self, layer: Layer, side: str) -> list[Port]:
        found = self.element(layer).first(side)
        return [_port(layer, port) for port in found.all("port")] if found else []

    @cached_property
    def feeding(self) -> dict[int, list[Edge]]:
        """The edges that lead to each of the net's layers."""
        found: dict[int, list[Edge]] = {}
        for edge in self.net.edges:
            found.setdefault(edge.to_layer, []).append(edge)
        return found


def _port(layer: Layer, given: Element) -> Port:
    id_ = number(given.attributes.get("id", ""), f"{layer}: the id of a port")
    precision = given.attributes.get("precision", "UNSPECIFIED")
    type_ = BY_PRECISION.get(precision)
    if type_ is None:
        raise damaged(f"{layer}: there is no precision {precision[:40]}")
    dims = tuple(_dim(dim.text.strip(), layer) for dim in given.all("dim"))
    return Port(id_, type_, dims, names(given.attributes.get("names", "")))


def _dim(text: str, layer: Layer) -> int:
    return -1 if text == "-1" else number(text, f"{layer}: a dimension")


def number(text: str, what: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 20 and (value := int(text)) < 1 << 64:
        return value
    raise damaged(f'{what} is "{text[:40]}", and should be a number')


def names(text: str) -> tuple[str, ...]:
    """A list of tensor names; a comma inside a name has a backslash before it."""
    return tuple(name.replace("\\,", ",") for name in _COMMA.split(text)) if text else ()


def element_type(name: str, layer: Layer) -> ElementType:
    if name not in BY_NAME:
        raise damaged(f'{layer}: there is no element type "{name[:40]}"')
    return BY_NAME[name]


def read(xml: bytes) -> Model:
    """The model in an IR; raises a Refusal that names the error."""
    reading = _Reading(xml)
    parse(xml, reading.handlers)
    if not reading.graphs[0].layers:
        raise damaged("there are no <layers> in it")
    return Model(xml, reading.name, reading.graphs[0], reading.graphs[1:])


class _Reading:
    """The state of the parser."""

    def __init__(self, xml: bytes) -> None:
        self.xml = xml
        self.name = ""
        self.graphs: list[Graph] = []
        self.graph = Graph(None, 1)
        self.part = ""
        """The part of the graph that the parser is in."""
        self.layer: Layer | None = None
        self.around: list[tuple[Graph, Layer | None]] = []
        """The graphs around this one, and the layer of each that this one is in."""

    def handlers(self, parser: Parser) -> Handlers:
        depth = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            level = depth - self.graph.depth
            depth += 1
            if depth > DEEPEST:
                raise damaged(f"line {parser.CurrentLineNumber}: <{name}> is inside of {DEEPEST} other elements")
            if level <= 2:
                self._open(level, name, attributes, parser)

        def end(_: str) -> None:
            nonlocal depth
            depth -= 1
            level = depth - self.graph.depth
            if level <= 1:
                self._close(level, parser)

        return start, end

    def _open(self, level: int, name: str, attributes: dict[str, str], parser: Parser) -> None:
        """Levels: 0 is directly in a graph, 1 a layer or an edge, 2 directly in a layer."""
        if level == 1 and self.part == "layers" and name == "layer":
            self.layer = self._layer(attributes, parser)
        elif level == 1 and self.part == "edges" and name == "edge":
            self.graph.edges.append(_edge(attributes, parser))
        elif level == 2 and self.layer is not None:
            if name == "data" and self.layer.data is None:
                self.layer.data = attributes
            elif name.endswith("body"):
                self._enter(Graph(self.layer, self.graph.depth + 3))
        elif level == 0:
            self.part = name
            if name in ("layers", "edges"):
                if name in self.graph.parts:
                    raise damaged(f"line {parser.CurrentLineNumber}: <{name}> a second time")
                start = tag_end(self.xml, parser.CurrentByteIndex)
                self.graph.parts[name] = (start, start)
        elif level < 0:
            if name != "net":
                raise damaged(f"line {parser.CurrentLineNumber}: it is a <{name[:40]}>, and should be a <net>")
            self.name = attributes.get("name", "")
            self.graphs.append(self.graph)

    def _close(self, level: int, parser: Parser) -> None:
        if level == 1 and self.layer is not None:
            self.layer.end = element_end(self.xml, self.layer.start, parser.CurrentByteIndex)
            self.layer = None
        elif level == 0:
            if self.part in ("layers", "edges"):
                start, _ = self.graph.parts[self.part]
                self.graph.parts[self.part] = (start, parser.CurrentByteIndex)
            self.part = ""
        elif level < 0 and self.around:
            self.graph, self.layer = self.around.pop()
            self.part = "layers"

    def _enter(self, body: Graph) -> None:
        self.graphs.append(body)
        self.around.append((self.graph, self.layer))
        self.graph, self.layer, self.part = body, None, ""

    def _layer(self, attributes: dict[str, str], parser: Parser) -> Layer:
        try:
            id_, name, type_ = attributes["id"], attributes["name"], attributes["type"]
        except KeyError as missing:
            raise damaged(f"line {parser.CurrentLineNumber}: a layer has no {missing}") from None
        layer = Layer(
            number(id_, f'the id of the layer "{name[:200]}"'), name, type_, attributes, parser.CurrentByteIndex
        )
        known = self.graph.layers.setdefault(layer.id, layer)
        if known is not layer:
            raise damaged(f"line {parser.CurrentLineNumber}: {layer} has the id {id_}, and so has {known}")
        return layer


def _edge(given: dict[str, str], parser: Parser) -> Edge:
    try:
        return Edge(*(number(given[end], end) for end in _ENDS))
    except KeyError as missing:
        raise damaged(f"line {parser.CurrentLineNumber}: an edge has no {missing}") from None
