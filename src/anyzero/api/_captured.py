"""What lists hold while they capture: nothing until it ran, for it runs with the graph and as often as that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anyzero.api._keep import Call, Held

if TYPE_CHECKING:
    from anyzero.api.command_graph import CommandGraph
    from anyzero.api.immediate import ImmediateCommandList

in_progress: dict[int, CommandGraph] = {}
"""The graphs that are being captured, by handle."""


def join(graph: CommandGraph, lst: ImmediateCommandList) -> None:
    """Let the graph hold what the commands of a list use that captures into it from now on."""
    graph.lists.append(lst)
    lst.held = Captured(graph, lst.held)


class Captured(Held):
    """Takes the place of what a list holds. What its commands use goes to the graph."""

    __slots__ = ("before", "graph")

    def __init__(self, graph: CommandGraph, before: Held) -> None:
        super().__init__()
        self.graph = graph
        self.before = before

    def add(self, kept: object, nbytes: int) -> None:
        """Hold `kept` for as long as the graph may run."""
        if kept is not None:
            self.graph.kept.append(kept)
            self.graph.kept_bytes += nbytes

    def look(self, handle: int, synchronize: Call, query: Call, place: Callable[[int | None], int]) -> None:
        """Nothing of it is done before the graph is."""
