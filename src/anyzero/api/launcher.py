"""The commands that launch kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np

from anyzero import errors
from anyzero.api.commands.appending import Appended, Appending
from anyzero.api.launches.grid import Extents, Grid, grid_of, range_of
from anyzero.api.library import check, function
from anyzero.api.memory.allocation import allocate

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer
    from anyzero.api.commands.waits import Waits
    from anyzero.api.context import Context
    from anyzero.api.event import Event
    from anyzero.api.kernel import Kernel

    class PythonKernel(Protocol):
        """A kernel that is compiled for the arguments of its launches."""

        def __getitem__(self, sizes: Any) -> Callable[..., Any]:
            """The launch for that many work-items."""

        def on(self, context: Context) -> Kernel:
            """The kernel of a context."""


__all__ = ["Launcher"]

_COUNT: Final = 12
"""Bytes of a number of groups along x, y and z."""

_one: Final = function("zeCommandListAppendLaunchKernelIndirect")
_several: Final = function("zeCommandListAppendLaunchMultipleKernelsIndirect")


class Launcher(Appending[Appended]):
    """The commands of lists that launch kernels."""

    __slots__ = ()

    def launch(
        self,
        kernel: Kernel | PythonKernel,
        global_size: Extents,
        args: Sequence[Any] = (),
        *,
        group: Extents | None = None,
        offset: Extents | None = None,
        cooperative: bool = False,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Launch a kernel for `global_size` work-items, in groups of `group` or of a size that suits the kernel.

        The sizes are those of ``kernel[n, m](…, group=…)``: numbers of work-items, one or a tuple of up to three, x
        first. ``kernel[n](…, on=lst)`` appends the same command. Global ids begin at `offset`. The groups of a
        `cooperative` launch all run at the same time, so that they may wait for each other;
        `Kernel.max_cooperative_groups` is the largest number.

        >>> from importlib.resources import files
        >>> ctx = az.device().context()
        >>> saxpy = ctx.module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
        >>> x, y = ctx.full(8, 1, np.float32), ctx.zeros(8, np.float32)
        >>> with ctx.command_list() as cl:
        ...     cl.launch(saxpy, 4, (y, x, 0.5), offset=2)
        >>> with ctx.queue() as q:
        ...     q.submit(cl).wait(); q.submit(cl).wait()
        >>> y.copy_to()
        array([0., 0., 1., 1., 1., 1., 0., 0.], dtype=float32)
        """
        found: Any = kernel
        if not hasattr(found, "enqueue"):
            # A kernel written in Python, which becomes one of this context.
            if not hasattr(kernel, "on"):
                raise TypeError(
                    f"launch takes a kernel, the number of its work-items and its arguments, not a {type(kernel)}"
                )
            if offset is None and not cooperative:
                return cast("Appended", found[global_size](*args, group=group, on=self, signal=signal, wait=wait))
            found = found.on(self.context)
        sizes = grid_of(found, range_of(found, global_size), group, offset, cooperative)
        return self.append_launch(found.enqueue, found.handle, sizes, tuple(args), signal, wait)

    def launch_indirect(
        self,
        kernel: Kernel,
        counts: Buffer,
        args: Sequence[Any] = (),
        *,
        group: Extents | None = None,
        offset: Extents | None = None,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Launch a kernel whose number of groups is read from `counts` when the launch begins: three uint32, along x,
        y and z. So an earlier command can decide the amount of work. `group` is optional if the kernel's source
        requires a group size.

        >>> from importlib.resources import files
        >>> ctx = az.device().context()
        >>> saxpy = ctx.module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
        >>> x, y = ctx.full(8, 1, np.float32), ctx.zeros(8, np.float32)
        >>> counts = ctx.buffer(3, np.uint32)
        >>> with ctx.immediate() as lst:
        ...     _ = lst.copy(counts, np.array([3, 1, 1], np.uint32))
        ...     lst.launch_indirect(saxpy, counts, (y, x, 1.0), group=2).wait()
        >>> y.copy_to()
        array([1., 1., 1., 1., 1., 1., 0., 0.], dtype=float32)
        """
        _require_counts(counts, 1)
        sizes = _group(kernel, group, offset)
        values, kept, nbytes = kernel.enqueue.collect(tuple(args))

        def append(lst: int, *rest: Any) -> int:
            with kernel.enqueue.turn:
                kernel.enqueue.prepare(kernel.handle, sizes, values)
                result = _one(lst, kernel.handle, counts.pointer, *rest)
            if result:
                check(result, _one)
            return 0

        memory = counts.allocation
        return self._append(append, (), signal, wait, (memory, kept), nbytes + memory.nbytes)

    def launch_several_indirect(
        self,
        launches: Iterable[tuple[Kernel, Extents | None, Sequence[Any]]],
        counts: Buffer,
        number: Buffer | None = None,
        *,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Launch several kernels; each row of `counts` has the numbers of groups of one.

        `launches` are kernels with their group sizes and arguments, each kernel once (`Module.kernel` makes another).
        The first uint32 of `number` is the number of kernels to run, from the first on; without it, all run.

        >>> from importlib.resources import files
        >>> ctx = az.device().context()
        >>> module = ctx.module(files("anyzero.tools") / "saxpy.spv")
        >>> x, y = ctx.full(8, 1, np.float32), ctx.zeros(8, np.float32)
        >>> launches = [(module.kernel("saxpy"), 2, (y[at:], x, 1.0)) for at in (0, 4)]
        >>> counts = ctx.to_device(np.array([[1, 1, 1], [2, 1, 1]], np.uint32))
        >>> with ctx.immediate() as lst:
        ...     lst.launch_several_indirect(launches, counts).wait()
        >>> y.copy_to()
        array([1., 1., 0., 0., 1., 1., 1., 1.], dtype=float32)
        """
        parts = [
            (kernel, _group(kernel, size, None), kernel.enqueue.collect(tuple(args))) for kernel, size, args in launches
        ]
        kernels = [kernel for kernel, _, _ in parts]
        if not kernels:
            raise errors.InvalidArgument("there are no kernels to launch")
        if len({id(kernel) for kernel in kernels}) < len(kernels):
            raise errors.InvalidArgument(
                "a kernel appears twice among the launches", remedy="Module.kernel(name) makes another one."
            )
        _require_counts(counts, len(kernels))
        limit, memory = self._number(number, len(kernels))

        def append(lst: int, *rest: Any) -> int:
            handles = (ctypes.c_void_p * len(kernels))(*(kernel.handle for kernel in kernels))
            with ExitStack() as turns:
                # Always in the same order, so that no two threads wait for each other.
                for kernel in sorted(kernels, key=id):
                    turns.enter_context(kernel.enqueue.turn)
                for kernel, sizes, (values, _, _) in parts:
                    kernel.enqueue.prepare(kernel.handle, sizes, values)
                result = _several(lst, len(kernels), handles, limit, counts.pointer, *rest)
            if result:
                check(result, _several)
            return 0

        kept = [memory, counts.allocation, *(each for _, _, (_, held, _) in parts for each in held)]
        nbytes = counts.allocation.nbytes + sum(held for _, _, (_, _, held) in parts)
        return self._append(append, (), signal, wait, kept, nbytes)

    def _number(self, number: Buffer | None, count: int) -> tuple[int, object]:
        """The address of the number of launches, and the memory that holds it."""
        if number is not None:
            if number.nbytes < 4:
                raise errors.InvalidArgument(f"the number of launches takes 4 bytes; the buffer has {number.nbytes}")
            return number.pointer, number.allocation
        memory = allocate(self.context.lifetime, self.device.handle, 4, "host")
        np.asarray(memory).view(np.uint32)[0] = count
        return memory.handle, memory


def _group(kernel: Kernel, group: Extents | None, offset: Extents | None) -> Grid:
    """The sizes of a launch that has its number of groups from elsewhere: one group."""
    size = kernel.properties.required_group_size if group is None else group
    if size is None:
        raise errors.InvalidArgument(
            f"{kernel.name} has no required group size, so an indirect launch needs one",
            remedy="Pass group=64, for instance.",
        )
    return grid_of(kernel, range_of(kernel, size), size, offset)


def _require_counts(counts: Buffer, kernels: int) -> None:
    if counts.nbytes < _COUNT * kernels:
        raise errors.InvalidArgument(
            f"the group counts of {kernels} launches take {_COUNT * kernels} bytes; the buffer has {counts.nbytes}",
            remedy="Each launch takes three uint32.",
        )
