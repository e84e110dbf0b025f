"""A buffer: memory with a shape and a type of elements."""

from __future__ import annotations

import ctypes
from math import prod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.api.library import check, function
from anyzero.api.memory.allocation import Allocation, MemoryKind
from anyzero.api.memory.host_arrays import HostArray, fill_pattern, require_alike
from anyzero.api.memory.host_reads import check_read
from anyzero.api.memory.operators import Arithmetic, indexed
from anyzero.api.memory.sizes import bytes_of, place_of
from anyzero.api.resource import mark_closed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anyzero.api.completion import Completion
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.event import Event
    from anyzero.api.recorder import Recorder

__all__ = ["Buffer", "Shape"]

Shape = int | tuple[int, ...]

_copy: Final = function("zeCommandListAppendMemoryCopy")
_copy_from_context: Final = function("zeCommandListAppendMemoryCopyFromContext")
_fill: Final = function("zeCommandListAppendMemoryFill")
_get_ipc: Final = function("zeMemGetIpcHandle")
_get_range: Final = function("zeMemGetAddressRange")

_DLPACK_CPU: Final = 1
_DLPACK_ONEAPI: Final = 14


class Buffer(Arithmetic):
    """Memory on a device (``"device"``), on the host (``"host"``), or on both (``"shared"``), like a numpy array.

    `np.asarray(buffer)` is a view of host and shared memory without a copy; device memory is copied by `copy_to` and
    `copy_from`. A slice is a buffer on the same memory. The memory is freed when the last of the buffer, its slices,
    its arrays and the commands that use it is gone. Any thread may use a buffer.

    >>> ctx = az.device().context()
    >>> x = ctx.to_device(np.arange(6, dtype=np.int32))
    >>> x.copy_to()
    array([0, 1, 2, 3, 4, 5], dtype=int32)
    >>> x[2:4].fill(9)
    >>> x.copy_to()
    array([0, 1, 9, 9, 4, 5], dtype=int32)
    """

    __slots__ = ("__weakref__", "allocation", "context", "device", "dtype", "kind", "nbytes", "pointer", "shape")
    _gone_when_closed = ("pointer", "allocation")

    def __init__(
        self,
        context: Context,
        device: Device,
        allocation: Allocation,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        kind: MemoryKind,
        offset: int = 0,
    ) -> None:
        self.context = context
        self.device = device
        self.allocation = allocation
        self.shape = shape
        self.dtype = dtype
        self.kind = kind
        self.nbytes: int = bytes_of(shape, dtype)
        self.pointer: int = allocation.handle + offset

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis; buffers are always contiguous."""
        return tuple(prod(self.shape[axis + 1 :]) * self.dtype.itemsize for axis in range(len(self.shape)))

    @property
    def closed(self) -> bool:
        """Whether the buffer was closed."""
        try:
            return not self.pointer
        except errors.ClosedError:
            return True

    def close(self) -> None:
        """Release the memory. It is freed when no slice, array or command uses it any more."""
        if not self.closed:
            mark_closed(self)
            del self.pointer, self.allocation

    def copy_from(
        self,
        source: Buffer | npt.ArrayLike,
        *,
        on: Recorder[Any] | None = None,
        signal: Event | None = None,
        wait: Completion | Iterable[Completion] | None = None,
    ) -> Completion | None:
        """Copy an array or another buffer here, also of another context; both have the same shape and dtype.

        Without `on` the copy is done when the call returns. With a list it is appended there, with `signal` and `wait`
        as for every command.

        >>> x = az.device().context().zeros((2, 2), np.float32)
        >>> x.copy_from([[1, 2], [3, 4]])
        >>> float(x.copy_to().sum())
        10.0
        >>> x.copy_from(np.zeros(4))
        Traceback (most recent call last):
        anyzero.errors.InvalidArgument: cannot copy shape (4,) of float64 to shape (2, 2) of float32
        Change one side with astype(), reshape() or a slice.
        """
        if not isinstance(source, Buffer):
            if not isinstance(source, np.ndarray):
                source = np.asarray(source, dtype=self.dtype)
            if on is None and not source.flags.c_contiguous:
                source = np.ascontiguousarray(source)
        if on is not None:
            done: Completion | None = on.copy(self, source, signal=signal, wait=wait)
            return done
        self._refuse_order(signal, wait)
        origin = source if isinstance(source, Buffer) else HostArray(source)
        require_alike(self, origin)
        here: Any = origin.allocation
        if origin.context is None or origin.context is self.context:
            self._run(_copy, (self.pointer, origin.pointer, self.nbytes), here)
        else:
            owner = here.context_handle.handle
            self._run(_copy_from_context, (self.pointer, owner, origin.pointer, self.nbytes), here)
        return None

    def copy_to(
        self,
        target: npt.NDArray[Any] | None = None,
        *,
        on: Recorder[Any] | None = None,
        signal: Event | None = None,
        wait: Completion | Iterable[Completion] | None = None,
    ) -> npt.NDArray[Any]:
        """Copy the contents to an array, a new one unless given, and return it.

        With `on`, a list, the array is filled when the list runs the copy.

        >>> x = az.device().context().full(3, 7, np.uint8)
        >>> x.copy_to()
        array([7, 7, 7], dtype=uint8)
        """
        array = np.empty(self.shape, self.dtype) if target is None else target
        if on is not None:
            on.copy(array, self, signal=signal, wait=wait)
            return array
        self._refuse_order(signal, wait)
        if not array.flags.c_contiguous and array.flags.writeable:
            require_alike(array, self)
            array[...] = self.copy_to()
            return array
        there = HostArray(array, writable=True)
        require_alike(there, self)
        self._run(_copy, (there.pointer, self.pointer, self.nbytes), array)
        return array

    def fill(
        self,
        value: Any,
        *,
        on: Recorder[Any] | None = None,
        signal: Event | None = None,
        wait: Completion | Iterable[Completion] | None = None,
    ) -> Completion | None:
        r"""Set every element to `value`; bytes are repeated as they are.

        >>> x = az.device().context().buffer(4, np.uint16)
        >>> x.fill(b"\x01\x02")
        >>> hex(x.copy_to()[0])
        '0x201'
        """
        if on is not None:
            done: Completion | None = on.fill(self, value, signal=signal, wait=wait)
            return done
        self._refuse_order(signal, wait)
        pattern = fill_pattern(value, self.dtype)
        if self.nbytes:
            self._run(_fill, (self.pointer, pattern, len(pattern), self.nbytes), None)
        return None

    def _run(self, command: Callable[..., int], arguments: tuple[Any, ...], kept: object) -> None:
        memory = self.allocation
        memory.context_handle.run(self.device, command, arguments, (memory, kept))

    @staticmethod
    def _refuse_order(signal: object, wait: object) -> None:
        if signal is not None or wait is not None:
            raise TypeError("signal= and wait= are for commands of a list; pass the list with on=")

    def reshape(self, *shape: Any) -> Buffer:
        """The same memory in another shape; one axis may be -1.

        >>> az.device().context().zeros(6).reshape(2, -1).shape
        (2, 3)
        """
        wanted = shape[0] if len(shape) == 1 else shape
        # numpy knows the rules; an array of no stride costs no memory.
        model = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), self.shape, (0,) * len(self.shape))
        try:
            return self._part(np.reshape(model, wanted).shape, self.dtype, 0)
        except ValueError as error:
            raise errors.InvalidArgument(str(error)) from None

    def ravel(self) -> Buffer:
        """The elements along one axis, as `reshape(-1)`.

        >>> az.device().context().zeros((2, 3)).ravel().shape
        (6,)
        """
        return self.reshape(-1)

    def view(self, dtype: npt.DTypeLike) -> Buffer:
        """The same memory with another dtype; the last axis changes accordingly.

        >>> az.device().context().zeros((2, 4), np.uint8).view(np.uint32).shape
        (2, 1)
        """
        wanted = np.dtype(dtype)
        if not self.shape:
            raise errors.InvalidArgument("a buffer without axes has one element; reshape(1) first")
        last = self.shape[-1] * self.dtype.itemsize
        if last % wanted.itemsize:
            raise errors.InvalidArgument(f"rows of {last} bytes hold no whole number of {wanted} elements")
        return self._part((*self.shape[:-1], last // wanted.itemsize), wanted, 0)

    def __getitem__(self, index: Any) -> Buffer:
        if not self.shape or not isinstance(index, int | slice):
            return indexed(self, index)
        row = self.nbytes // self.shape[0] if self.shape[0] else 0
        if isinstance(index, slice):
            start, stop, step = index.indices(self.shape[0])
            if step != 1:
                return indexed(self, index)
            return self._part((max(stop - start, 0), *self.shape[1:]), self.dtype, start * row)
        at = place_of(index, self.shape[0], "an index of a buffer is an integer or a slice")
        return self._part(self.shape[1:], self.dtype, at * row)

    def _part(self, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int) -> Buffer:
        allocation = self.allocation
        start = self.pointer - allocation.handle + offset
        return Buffer(self.context, self.device, allocation, shape, dtype, self.kind, start)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a buffer without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Buffer]:
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if self.kind == "device":
            raise TypeError("the host cannot access device memory: use copy_to(), or create it with kind='shared'")
        allocation = self.allocation
        start = self.pointer - allocation.handle
        array = np.asarray(allocation)[start : start + self.nbytes].view(self.dtype).reshape(self.shape)
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"{self.dtype} becomes {np.dtype(dtype)} only by a copy")
            check_read(self.pointer, self.nbytes)
            return array.astype(dtype)
        if copy:
            # A view alone may be read later, after a wait.
            check_read(self.pointer, self.nbytes)
            return array.copy()
        return array

    def __dlpack__(self, **options: Any) -> Any:
        if self.kind == "device":
            raise BufferError("device memory cannot be exported: use copy_to(), or create it with kind='shared'")
        return self.__array__().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_DLPACK_ONEAPI if self.kind == "device" else _DLPACK_CPU, 0)

    def ipc_handle(self) -> bytes:
        """A handle with which another process of the same user opens this memory; see `Context.open_ipc`.

        It works as long as the memory exists, or until `Context.close_ipc`. Share whole buffers, and send an offset
        separately.

        >>> len(az.device().context().zeros(4).ipc_handle())
        64
        """
        made = ze.ze_ipc_mem_handle_t()
        check(_get_ipc(self.allocation.context_handle.handle, self.pointer, ctypes.byref(made)), _get_ipc)
        return bytes(made)

    @property
    def address_range(self) -> tuple[int, int]:
        """The address and the size of the allocation that contains this buffer."""
        base, size = ctypes.c_void_p(), ctypes.c_size_t()
        owner = self.allocation.context_handle.handle
        check(_get_range(owner, self.pointer, ctypes.byref(base), ctypes.byref(size)), _get_range)
        return base.value or 0, size.value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<Buffer {self.shape} {self.dtype} {self.kind}{state}>"
