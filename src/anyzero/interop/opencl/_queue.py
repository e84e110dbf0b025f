"""OpenCL queues that take turns with Level Zero."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyopencl as cl

from anyzero import errors
from anyzero.api.context import Context
from anyzero.interop.opencl._event import two_events
from anyzero.interop.opencl._native import Line, Turns
from anyzero.interop.opencl._objects import failed, require

if TYPE_CHECKING:
    from anyzero.api.commands.timeline import Mode
    from anyzero.api.device import Device
    from anyzero.api.immediate import ImmediateCommandList

__all__ = ["SharedQueue", "queue"]


class SharedQueue:
    """An OpenCL queue and an immediate list that take turns; `queue` makes one.

    A hand-over does not wait, unless the mode is synchronous: each side begins when the other has reached it. So
    commands of both can be submitted far ahead, and run in the order of submission. One thread at a time may submit.
    """

    def __init__(
        self,
        context: Context,
        cl_queue: cl.CommandQueue,
        device: Device | None = None,
        *,
        mode: Mode = "asynchronous",
    ) -> None:
        if mode not in ("asynchronous", "synchronous"):
            raise ValueError(f"mode={mode!r}: one of asynchronous, synchronous")
        self.synchronous = mode == "synchronous"
        self.context = context
        self.cl_queue = cl_queue
        self.list: ImmediateCommandList = context.immediate(device=device)
        """The list for Level Zero's commands, in its turn."""
        self._turn = threading.Lock()
        self._line = Line()
        self._turns = Turns(cl_queue, self.list.handle, self._line, partial(two_events, context))

    def acquire(self) -> ImmediateCommandList:
        """Begin Level Zero's turn: later commands of the list run behind all commands of the OpenCL queue."""
        if self.closed:
            raise errors.ClosedError("this SharedQueue is closed")
        if not self._turn.acquire(blocking=False):
            raise errors.InvalidArgument(
                "it is Level Zero's turn already", remedy="Call release() before the next acquire(), or use turn()."
            )
        try:
            if self.synchronous:
                self._finish()
            else:
                self._turns.begin()
        except BaseException:
            self._turn.release()
            raise
        return self.list

    def release(self) -> None:
        """End Level Zero's turn: later commands of the OpenCL queue run behind all commands of the list.

        If the list's work fails later, because its device is lost, OpenCL fails all later commands; see `user_event`.
        """
        if not self._turn.locked():
            raise errors.InvalidArgument("it is not Level Zero's turn", remedy="Call acquire() first, or use turn().")
        try:
            if self.synchronous:
                self.list.synchronize()
            else:
                self._turns.end()
        finally:
            self._turn.release()

    def _finish(self) -> None:
        try:
            self.cl_queue.finish()
        except cl.Error as error:
            raise failed("cannot finish the queue", error) from None

    @contextmanager
    def turn(self) -> Iterator[ImmediateCommandList]:
        """Level Zero's turn, from `acquire` to `release`, for a ``with`` statement.

        >>> import pyopencl as cl
        >>> from anyzero.interop import opencl
        >>> ctx, cl_ctx = az.device().context(), cl.create_some_context(interactive=False)
        >>> cl_queue, theirs = cl.CommandQueue(cl_ctx), cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 8)
        >>> shared, mine = opencl.queue(ctx, cl_queue), opencl.buffer(ctx, theirs, dtype=np.int32)
        >>> _ = cl.enqueue_fill_buffer(cl_queue, theirs, np.int32(1), 0, 8)
        >>> with shared.turn() as lst:
        ...     _ = lst.fill(mine[1:], 2)
        >>> seen = np.empty(2, np.int32)
        >>> _ = cl.enqueue_copy(cl_queue, seen, theirs)
        >>> seen
        array([1, 2], dtype=int32)
        """
        lst = self.acquire()
        try:
            yield lst
        finally:
            self.release()

    def synchronize(self, timeout: float | None = None) -> None:
        """Return when both sides have done all submitted commands.

        `timeout` is for Level Zero's part; OpenCL has none.
        """
        self.list.synchronize(timeout)
        self._finish()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.list.closed

    def close(self) -> None:
        """Close the list; the OpenCL queue stays as it is. Submitted commands still run, in order."""
        self.list.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and not self.closed:
                self.synchronize()
        finally:
            self.close()

    def __repr__(self) -> str:
        return f"<SharedQueue{', closed' if self.closed else ''}>"


def queue(
    ctx: Context, cl_queue: cl.CommandQueue, *, mode: Mode = "asynchronous", device: Device | None = None
) -> SharedQueue:
    """A shared OpenCL queue: Level Zero takes turns with it, in one common order of commands.

    Use the OpenCL queue as usual, and Level Zero's list inside of ``with shared.turn() as lst:``. The end of a ``with``
    block of the shared queue itself waits for both. With ``mode="synchronous"`` the host waits at both ends of a turn,
    which is faster for turns shorter than a hundred microseconds.

    >>> import pyopencl as cl
    >>> from anyzero.interop import opencl
    >>> ctx, cl_ctx = az.device().context(), cl.create_some_context(interactive=False)
    >>> with opencl.queue(ctx, cl.CommandQueue(cl_ctx)) as shared:
    ...     with shared.turn() as lst:
    ...         _ = lst.barrier()
    """
    require(Context, ctx, "the first argument")
    require(cl.CommandQueue, cl_queue, "the second argument")
    return SharedQueue(ctx, cl_queue, device, mode=mode)
