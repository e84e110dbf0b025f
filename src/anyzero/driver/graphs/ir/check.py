"""Checks of an IR's edges, which the rest of the planner relies on.

OpenVINO would refuse the same models, with messages that name no layer.
"""

from __future__ import annotations

from anyzero.driver.graphs.ir.model import Graph, Model
from anyzero.driver.graphs.ir.text import damaged

__all__ = ["check_edges"]


def check_edges(model: Model) -> None:
    for graph in (model.net, *model.bodies):
        _check_ends(graph)
        _check_order(graph)


def _where(graph: Graph) -> str:
    return f"in a body of {graph.owner}: " if graph.owner else ""


def _check_ends(graph: Graph) -> None:
    layers = graph.layers
    fed = set()
    for edge in graph.edges:
        if edge.from_layer not in layers or edge.to_layer not in layers:
            missing = edge.from_layer if edge.from_layer not in layers else edge.to_layer
            raise damaged(f"{_where(graph)}an edge names a layer {missing}, and there is none")
        target = (edge.to_layer, edge.to_port)
        if target in fed:
            raise damaged(f"{_where(graph)}two edges lead to port {edge.to_port} of {layers[edge.to_layer]}")
        fed.add(target)


def _check_order(graph: Graph) -> None:
    """Visits the layers in topological order; a layer that is left is on a cycle."""
    following: dict[int, list[int]] = {}
    waiting = dict.fromkeys(graph.layers, 0)
    for edge in graph.edges:
        following.setdefault(edge.from_layer, []).append(edge.to_layer)
        waiting[edge.to_layer] += 1
    ready = [id_ for id_, feeds in waiting.items() if feeds == 0]
    for id_ in ready:
        for next_ in following.get(id_, ()):
            waiting[next_] -= 1
            if waiting[next_] == 0:
                ready.append(next_)
    if len(ready) != len(waiting):
        stuck = next(id_ for id_, feeds in waiting.items() if feeds)
        raise damaged(f"{_where(graph)}{graph.layers[stuck]} is fed by its own output")
