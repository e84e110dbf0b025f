"""Edits of an IR that leave the rest of its text as it is."""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.driver.graphs.ir.model import Layer, Model, Port
from anyzero.driver.graphs.ir.text import escape

__all__ = ["Edit", "attributes", "edge", "layer"]


class Edit:
    """Collects changes to the net of a model.

    Layers that are added come after all others, in their order: the order of Parameters and Results in the text is
    that of the model's inputs and outputs.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.edges = list(model.net.edges)
        self._spans: dict[tuple[int, int], str] = {}
        self._added: list[str] = []
        self._next = max(model.net.layers) + 1

    def replace(self, start: int, end: int, text: str) -> None:
        self._spans[start, end] = text

    def remove(self, layer: Layer) -> None:
        self.replace(layer.start, layer.end, "")

    def fresh(self) -> int:
        """An id that no layer has."""
        self._next += 1
        return self._next - 1

    def add(self, text: str) -> None:
        self._added.append(text)

    def xml(self) -> bytes:
        """The changed IR; the original bytes if nothing was changed."""
        net, xml = self.model.net, self.model.xml
        spans = dict(self._spans)
        if self._added:
            end = net.parts["layers"][1]
            spans[end, end] = "".join(self._added)
        if self.edges != net.edges:
            spans[net.parts["edges"]] = "".join(edge(*each) for each in self.edges)
        if not spans:
            return xml
        parts: list[bytes] = []
        place = 0
        for (start, end), new in sorted(spans.items()):
            if start < place:
                continue  # inside of a part that is replaced as a whole
            parts += (xml[place:start], new.encode("utf-8"))
            place = end
        return b"".join([*parts, xml[place:]])


def edge(from_layer: int, from_port: int, to_layer: int, to_port: int) -> str:
    """The text of an edge."""
    return f'<edge from-layer="{from_layer}" from-port="{from_port}" to-layer="{to_layer}" to-port="{to_port}" />'


def layer(
    id_: int,
    name: str,
    type_: str,
    data: dict[str, str],
    inputs: Iterable[Port] = (),
    outputs: Iterable[Port] = (),
    version: str = "opset1",
) -> str:
    """The text of a layer."""
    return "".join(
        (
            f'<layer id="{id_}" name="{escape(name)}" type="{type_}" version="{version}">',
            f"<data{attributes(data)} />" if data else "",
            _ports("input", inputs),
            _ports("output", outputs),
            "</layer>",
        )
    )


def _ports(side: str, ports: Iterable[Port]) -> str:
    listed = "".join(map(_port, ports))
    return f"<{side}>{listed}</{side}>" if listed else ""


def _port(port: Port) -> str:
    named = {"names": ",".join(name.replace(",", "\\,") for name in port.names)} if port.names else {}
    dims = "".join(f"<dim>{dim}</dim>" for dim in port.dims)
    return f"<port{attributes({'id': str(port.id), 'precision': port.type.port, **named})}>{dims}</port>"


def attributes(given: dict[str, str]) -> str:
    return "".join(f' {key}="{escape(value)}"' for key, value in given.items())
