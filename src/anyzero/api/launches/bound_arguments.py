"""The arguments of a graph: the memory that they are bound to, and the command that runs the graph with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.api.graph_argument import GraphArgument
from anyzero.api.library import check
from anyzero.api.memory.host_arrays import HostArray
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.calls.graph_extension import Extension
    from anyzero.api.graph_profiler import GraphProfile
    from anyzero.api.memory.allocation import ContextHandle

__all__ = ["Arguments", "BoundArguments", "GraphHandle"]

Arguments = Mapping[Any, Any] | Sequence[Any]
"""Memory for a graph's arguments: by name or index, or all in order."""

_everyone: Final[WeakSet[BoundArguments]] = WeakSet()


class GraphHandle(Resource):
    """The driver's graph. Views of its binary hold it, and so do commands that run it."""

    __slots__ = ("called", "kept", "lifetime")

    def __init__(self, handle: int, called: Extension, lifetime: ContextHandle, kept: object) -> None:
        self.called = called
        self.lifetime = lifetime
        self.kept = kept
        self.handle = handle

    def _release(self, handle: int) -> None:
        self.called.Destroy(handle)
        # Only now: the driver may have used a blob where it lies.
        self.kept = None


class BoundArguments:
    """The memory that each argument of one graph is bound to. Commands take it as it is when they are appended."""

    __slots__ = ("__weakref__", "_arguments", "_names", "_turn", "_values")

    def __init__(self, arguments: tuple[GraphArgument, ...]) -> None:
        self._arguments = arguments
        self._names = _names_of(arguments)
        self._values: list[Any] = [None] * len(arguments)
        self._turn = Lock()
        _everyone.add(self)

    def clear(self) -> None:
        """Release the memory."""
        self._values = []

    def begin_anew(self) -> None:
        """In a forked child: the thread that had the turn does not exist there."""
        self._turn = Lock()

    def find(self, which: int | str | GraphArgument) -> GraphArgument:
        """An argument by its index or by any of its names; raise InvalidArgument where there is none."""
        if isinstance(which, GraphArgument):
            return which
        if isinstance(which, str):
            found = self._names.get(which)
            if found is None:
                known = ", ".join(each.name for each in self._arguments)
                raise errors.InvalidArgument(f"the graph has no argument called {which!r}; it has {known}")
            return found
        if not 0 <= which < len(self._arguments):
            raise errors.InvalidArgument(f"the graph has {len(self._arguments)} arguments, so none is number {which}")
        return self._arguments[which]

    def memory(self, which: Any, value: Any) -> tuple[int, Buffer | HostArray]:
        """The index of an argument and the memory given for it; raise InvalidArgument where that is too small."""
        argument = self.find(which)
        writable = argument.direction == "output" or argument.role == "state"
        memory = value if isinstance(value, Buffer) else HostArray(value, writable=writable)
        if memory.nbytes < argument.nbytes:
            raise errors.InvalidArgument(
                f"{argument.name} takes {argument.nbytes} bytes, {argument.precision} of {argument.bounds}; "
                f"this memory has {memory.nbytes}"
            )
        return argument.index, memory

    def set(self, graph: GraphHandle, which: Any, value: Any) -> None:
        """Bind one argument, for commands that are appended from now on."""
        place, memory = self.memory(which, value)
        with self._turn:
            self._put(graph, place, memory)

    def command(
        self,
        graph: GraphHandle,
        arguments: Arguments | None,
        profile: GraphProfile | None,
        ahead: Callable[[int], None] | None = None,
    ) -> tuple[Callable[..., int], list[Any]]:
        """The command that runs the graph, and objects that it keeps; `ahead` is called with the list right before."""
        values = self._collect(arguments)
        query = None if profile is None else profile.handle
        # The places of the arguments' memory, behind the first, are those of the arguments.
        kept: list[Any] = [graph]
        append = graph.called.AppendGraphExecute

        def command(lst: int, event: int | None, count: int, waits: int | None) -> int:
            # The driver takes the arguments as they are, so no thread may change them in between.
            with self._turn:
                for place, memory in values:
                    self._put(graph, place, memory)
                self._require_all()
                kept.extend((*self._values, profile))
                if ahead is not None:
                    ahead(lst)
                result = append(lst, graph.handle, query, event, count, waits)
            if result:
                check(result, append)
            return 0

        return command, kept

    def _put(self, graph: GraphHandle, place: int, memory: Buffer | HostArray) -> None:
        set_value = graph.called.SetArgumentValue
        if result := set_value(graph.handle, place, memory.pointer):
            check(result, set_value)
        self._values[place] = memory.allocation

    def _collect(self, arguments: Arguments | None) -> list[tuple[int, Buffer | HostArray]]:
        if arguments is None:
            return []
        if isinstance(arguments, Mapping):
            return [self.memory(which, value) for which, value in arguments.items()]
        if len(arguments) > len(self._arguments):
            raise errors.InvalidArgument(f"{len(arguments)} values for {len(self._arguments)} arguments")
        return [self.memory(which, value) for which, value in enumerate(arguments)]

    def _require_all(self) -> None:
        missing = [each.name for each, value in zip(self._arguments, self._values, strict=True) if value is None]
        if missing:
            raise errors.InvalidArgument(
                f"no memory is set for {', '.join(missing)}",
                remedy="Pass it to execute(), or set() it before; graph.buffers() makes memory for all arguments, and "
                "set_weights() has the weights of a weightless graph.",
            )


def _names_of(arguments: tuple[GraphArgument, ...]) -> dict[str, GraphArgument]:
    """Arguments by every name; where two share one, an argument's own name goes first, then the arguments' order."""
    found = {each.name: each for each in arguments}
    for each in arguments:
        for name in (*each.tensor_names, each.friendly_name):
            if name and each.role in ("data", "weights"):
                found.setdefault(name, each)
    return found


def _begin_anew() -> None:
    for each in list(_everyone):
        each.begin_anew()


os.register_at_fork(after_in_child=_begin_anew)
