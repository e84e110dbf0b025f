"""Buffers that are no contiguous memory of their own: views with strides, and expressions that are not computed yet."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays.expression import Array
from anyzero.arrays.fused import evaluated, store
from anyzero.arrays.layout import Strides, dense, extent, spread

if TYPE_CHECKING:
    from anyzero.api.memory.allocation import Allocation

__all__ = ["Deferred", "View", "array_of", "contiguous", "part", "strided"]


class View(Buffer):
    """A strided part of a buffer, such as ``x[::2]`` or ``x.T``.

    It has the methods and operators of a buffer. Kernels and lists need contiguous memory: pass `copy()` to them.

    >>> x = az.device().context().to_device(np.arange(6, dtype=np.int32))
    >>> x[::-2]
    <View (3,) int32 device, strides (-8,)>
    >>> x[::-2].copy_to()
    array([5, 3, 1], dtype=int32)
    """

    __slots__ = ("elements",)

    def __init__(self, first: Buffer, shape: tuple[int, ...], strides: Strides) -> None:
        self.elements = Array(first, shape, strides)
        self.context, self.device, self.dtype, self.kind = first.context, first.device, first.dtype, first.kind
        self.shape = shape
        self.nbytes = prod(shape) * first.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return tuple(step * self.dtype.itemsize for step in self.elements.strides)

    @property
    def allocation(self) -> Allocation:  # type: ignore[override]
        """The memory that its elements are in."""
        return self.elements.buffer.allocation

    @property
    def pointer(self) -> int:  # type: ignore[override]
        """The address of its memory."""
        raise errors.InvalidArgument(
            f"a view of shape {self.shape} with strides {self.strides} is not contiguous",
            remedy="Kernels and lists take contiguous memory: pass view.copy(), and assign the result back.",
        )

    @property
    def closed(self) -> bool:
        """Whether the view was closed."""
        return not hasattr(self, "elements") or self.elements.buffer.closed

    def close(self) -> None:
        """Release the memory."""
        if not self.closed:
            self.elements.buffer.close()

    def copy_from(self, source: Any, **order: Any) -> Any:
        """Copy an array or another buffer here; both have the same shape and dtype."""
        self._refuse_lists(order)
        if not isinstance(source, Buffer):
            values = np.asarray(source, dtype=None if isinstance(source, np.ndarray) else self.dtype)
            source = self.context.to_device(values, device=self.device)
        if source.shape != self.shape or source.dtype != self.dtype:
            raise errors.InvalidArgument(
                f"cannot copy shape {source.shape} of {source.dtype} to shape {self.shape} of {self.dtype}"
            )
        store(array_of(source), self.elements)

    def copy_to(self, target: npt.NDArray[Any] | None = None, **order: Any) -> npt.NDArray[Any]:
        """Copy the contents to an array, a new one unless given, and return it."""
        self._refuse_lists(order)
        return evaluated(self.elements).copy_to(target)

    def fill(self, value: Any, **order: Any) -> Any:
        """Set every element to `value`."""
        self._refuse_lists(order)
        one = self.context.full((), value, self.dtype, device=self.device)
        store(array_of(one), self.elements)

    def reshape(self, *shape: Any) -> Buffer:
        """A copy of the elements in another shape."""
        return evaluated(self.elements).reshape(*shape)

    def view(self, dtype: npt.DTypeLike) -> Buffer:
        """The same memory with another dtype of the same size."""
        if np.dtype(dtype).itemsize == self.dtype.itemsize:
            return View(self.elements.buffer.view(dtype), self.shape, self.elements.strides)
        raise errors.InvalidArgument(f"a view with strides {self.strides} cannot be seen as {np.dtype(dtype)}")

    @staticmethod
    def _refuse_lists(order: dict[str, Any]) -> None:
        if any(value is not None for value in order.values()):
            raise errors.InvalidArgument("a list takes contiguous memory", remedy="Pass view.copy().")

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        first = self.elements.buffer
        low, high = extent(self.shape, self.elements.strides)
        size = self.dtype.itemsize
        if self.kind == "device" or not self.nbytes:
            return first.__array__(dtype, copy) if self.nbytes else np.empty(self.shape, dtype or self.dtype)
        start = first.pointer - first.allocation.handle
        memory = np.asarray(first.allocation)[start + low * size : start + (high + 1) * size].view(self.dtype)
        found = np.lib.stride_tricks.as_strided(memory[-low:], self.shape, self.strides)
        return found.astype(dtype) if copy or (dtype is not None and np.dtype(dtype) != self.dtype) else found

    def __repr__(self) -> str:
        return f"<View {self.shape} {self.dtype} {self.kind}, strides {self.strides}>"


class Deferred(Buffer):
    """The value of an operator inside of an expression, which is computed with the rest of it, or when it is used."""

    __slots__ = ("_node", "_value")

    def __init__(self, node: Any, first: Buffer) -> None:
        self._node = node
        self._value: Buffer | None = None
        self.context, self.device, self.kind = first.context, first.device, first.kind
        self.shape, self.dtype = node.shape, node.dtype
        self.nbytes = prod(node.shape) * node.dtype.itemsize

    @property
    def node(self) -> Any:
        """The expression, or where its values are."""
        return self._node if self._value is None else array_of(self._value)

    @property
    def value(self) -> Buffer:
        """The buffer with its values, computed at the first use."""
        if self._value is None:
            self._value = evaluated(self._node)
            self.kind = self._value.kind
        return self._value

    @property
    def allocation(self) -> Allocation:  # type: ignore[override]
        """The memory that its elements are in."""
        return self.value.allocation

    @property
    def pointer(self) -> int:  # type: ignore[override]
        """The address of its memory."""
        return self.value.pointer

    @property
    def closed(self) -> bool:
        """Whether the values were closed."""
        return self._value is not None and self._value.closed

    def close(self) -> None:
        """Release the memory."""
        self.value.close()


def array_of(buffer: Buffer) -> Any:
    """A buffer as an operand."""
    if isinstance(buffer, View):
        return buffer.elements
    if isinstance(buffer, Deferred):
        return buffer.node
    return Array(buffer, buffer.shape, dense(buffer.shape))


def strided(buffer: Buffer, shape: tuple[int, ...]) -> tuple[Buffer, Strides]:
    """The memory of a buffer at its first element, and its strides in a shape that it is broadcast to."""
    if isinstance(buffer, Deferred):
        buffer = buffer.value
    found = array_of(buffer)
    return found.buffer, spread(found.shape, found.strides, shape)


def contiguous(buffer: Buffer, name: str) -> Buffer:
    """A buffer for a parameter that is a whole array."""
    if isinstance(buffer, View):
        raise errors.InvalidArgument(
            f"{name} is indexed by the text and has to be contiguous", remedy="Pass view.copy()."
        )
    return buffer.value if isinstance(buffer, Deferred) else buffer


def part(of: Array, shape: tuple[int, ...], strides: Strides, offset: int) -> Buffer:
    """A view of elements of an array, a plain buffer where they lie one after another."""
    buffer = of.buffer
    start = buffer.pointer - buffer.allocation.handle + offset * of.dtype.itemsize
    plain = all(size == 1 or step == want for size, step, want in zip(shape, strides, dense(shape), strict=True))
    extents = shape if plain or 0 in shape else ()
    found = Buffer(buffer.context, buffer.device, buffer.allocation, extents, of.dtype, buffer.kind, start)
    return found if plain or 0 in shape else View(found, shape, strides)
