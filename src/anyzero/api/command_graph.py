"""Command graphs: commands of immediate lists, captured instead of run, and replayed as one command.

A `Graph` is something else: a model compiled for an NPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from anyzero import errors, ze
from anyzero.api.commands.held import Captured, in_progress, join
from anyzero.api.library import check, create, function
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.immediate import ImmediateCommandList

__all__ = ["CommandGraph", "ExecutableGraph"]

_begin: Final = function("zeCommandListBeginGraphCaptureExt")
_end: Final = function("zeCommandListEndGraphCaptureExt")
_get: Final = function("zeCommandListGetGraphExt")
_is_empty: Final = function("zeGraphIsEmptyExt")
_instantiate: Final = function("zeGraphInstantiateExt")
_dump: Final = function("zeGraphDumpContentsExt")


class CommandGraph(Resource):
    """Commands that an immediate list captured, `ImmediateCommandList.capture`, and lists that joined it.

    The end of the ``with`` block ends the capture. Until then commands do not run, and the host cannot wait for them.
    A list that waits for an event or a completion of a captured command joins the capture: a fork. The list that began
    it must wait for the last command of all others; otherwise the end raises an `Error`. One thread at a time captures.

    >>> ctx = az.device().context()
    >>> x, y = ctx.zeros(4, int, kind="shared"), ctx.zeros(4, int, kind="shared")
    >>> lst, copies = ctx.immediate(), ctx.immediate(kind="copy")
    >>> with lst.capture() as graph:
    ...     filled = lst.fill(x, 7)
    ...     copied = copies.copy(y, x, wait=filled)
    ...     _ = lst.wait(copied)
    >>> runs = graph.instantiate()
    >>> for _ in range(3):
    ...     lst.replay(runs).wait(timeout=5)
    >>> np.asarray(y)
    array([7, 7, 7, 7])
    """

    __slots__ = ("calls_host", "capturing", "kept", "kept_bytes", "list", "lists")
    _destroy = function("zeGraphDestroyExt")

    def __init__(self, owner: ImmediateCommandList) -> None:
        self.list: ImmediateCommandList | None = owner
        """The list that captures; None once it has ended."""
        self.capturing = True
        self.calls_host = False
        self.kept: list[object] = []
        self.kept_bytes = 0
        self.lists: list[ImmediateCommandList] = []
        check(_begin(owner.handle, None), _begin)
        self.handle = create(_get, owner.handle)
        in_progress[self.handle] = self
        join(self, owner)

    def end(self) -> None:
        """End the capture; ending twice is fine. The end of a ``with`` block does it.

        >>> lst = az.device().context().immediate()
        >>> graph = lst.capture()
        >>> graph.end(); graph.capturing
        False
        """
        owner, self.list = self.list, None
        if owner is None:
            return
        self.capturing = False
        in_progress.pop(self.handle, None)
        for each in self.lists:
            if isinstance(each.held, Captured):
                each.held = each.held.before
        self.lists = []
        if owner.closed:
            raise errors.InvalidArgument("the list that captured was closed", remedy="Capture again on another list.")
        check(_end(owner.handle, None, ctypes.byref(ctypes.c_void_p())), _end)

    @property
    def empty(self) -> bool:
        """Whether nothing was captured."""
        result = _is_empty(self.handle)
        if result not in (ze.ZE_RESULT_QUERY_TRUE, ze.ZE_RESULT_QUERY_FALSE):
            check(result, _is_empty)
        return result == ze.ZE_RESULT_QUERY_TRUE

    def instantiate(self) -> ExecutableGraph:
        """An `ExecutableGraph` for `replay`. Its executions run one after another; those of several can overlap."""
        return ExecutableGraph(self)

    def dump(self, path: str | os.PathLike[str], *, detailed: bool = True) -> None:
        """Write a drawing of the graph, in the language of Graphviz; `detailed` has the arguments of kernels.

        >>> import tempfile, pathlib
        >>> lst = az.device().context().immediate()
        >>> with lst.capture() as graph:
        ...     _ = lst.barrier()
        >>> path = pathlib.Path(tempfile.mkdtemp(), "graph.dot")
        >>> graph.dump(path); path.read_text().split()[0]
        'digraph'
        """
        modes = (ze.ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE, ze.ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED)
        desc = ze.ze_record_replay_graph_ext_dump_desc_t(mode=modes[detailed])
        check(_dump(self.handle, os.fsencode(path), ctypes.addressof(desc)), _dump)

    def _release(self, handle: int) -> None:
        if self.list is not None:
            self.handle = handle
            try:
                self.end()
            finally:
                del self.handle
        super()._release(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            if not self.closed:
                self.end()
            return
        # A capture that an exception interrupted must not run, and its own error would hide the exception.
        with contextlib.suppress(errors.Error):
            self.end()
        self.close()


class ExecutableGraph(Resource):
    """A `CommandGraph` that lists can run: `ImmediateCommandList.replay`. Any thread may.

    It keeps the objects alive that its commands use. Its `CommandGraph` may be closed before.
    """

    __slots__ = ("calls_host", "graph", "kept", "kept_bytes")
    _destroy = function("zeExecutableGraphDestroyExt")

    def __init__(self, graph: CommandGraph) -> None:
        self.graph = graph
        self.handle = create(_instantiate, graph.handle, None)
        self.calls_host = graph.calls_host
        self.kept = graph.kept
        self.kept_bytes = graph.kept_bytes
