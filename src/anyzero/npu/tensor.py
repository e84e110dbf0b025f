"""Tensors: numpy arrays in memory that the device can access."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import anyzero as az
from anyzero import errors
from anyzero.npu.element_type import ElementType

__all__ = ["Tensor", "allocate", "as_array", "fills_pages", "put", "shared"]

_PAGE = 4096


class Tensor:
    """An array and its memory. ``Tensor(array)`` shares the array's memory.

    Tensors of a request are Level Zero host memory: `data` is a view of it, which the device reads and writes. `buffer`
    is that memory, or None for the program's own array, which is copied.
    """

    __slots__ = ("_capacity", "_type", "buffer", "data")

    def __init__(
        self,
        array: npt.ArrayLike,
        shared_memory: bool = True,
        *,
        element_type: ElementType | None = None,
        buffer: az.Buffer | None = None,
        capacity: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        data = np.asarray(array)
        self.data = data if shared_memory else data.copy()
        self._type = element_type
        self.buffer = buffer
        self._capacity = capacity

    @property
    def element_type(self) -> ElementType:
        """The type of its elements."""
        return self._type or ElementType.of(self.data.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; for a dynamic port, set it before an inference."""
        return self.data.shape

    @shape.setter
    def shape(self, value: tuple[int, ...]) -> None:
        self.set_shape(value)

    def set_shape(self, shape: tuple[int, ...]) -> None:
        """Change the shape on the same memory; the contents stay."""
        memory = self._capacity
        needed = prod(shape) * self.data.dtype.itemsize
        if memory is None or needed > memory.nbytes:
            most = self.data.nbytes if memory is None else memory.nbytes
            raise errors.InvalidArgument(f"shape {tuple(shape)} takes {needed} bytes; this tensor has {most}")
        self.data = memory[:needed].view(self.data.dtype).reshape(shape)

    def get_shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.shape

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self.data.size

    @property
    def byte_size(self) -> int:
        """The number of its bytes."""
        return self.data.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return self.data.strides

    def copy_from(self, source: Any) -> None:
        """Copy the contents of an array or another tensor to this one."""
        put(self.data, as_array(source), "the tensor")

    def copy_to(self, target: Any) -> None:
        """Copy the contents to another tensor or array."""
        put(as_array(target), self.data, "the other tensor")

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != self.data.dtype:
            return self.data.astype(dtype)
        return self.data.copy() if copy else self.data

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        sides = ",".join(map(str, self.shape))
        return f"<Tensor: shape[{sides}] type: {self.element_type.name}>"


def allocate(context: az.Context, shape: tuple[int, ...], kind: ElementType, nbytes: int) -> Tensor:
    """A new tensor of zeros in host memory, of capacity `nbytes`."""
    # Whole pages: two tensors never share one.
    room = max(-(-nbytes // _PAGE), 1) * _PAGE
    buffer = context.zeros(room, np.uint8, kind="host", alignment=_PAGE)
    memory: npt.NDArray[np.uint8] = np.asarray(buffer)[:nbytes]
    data = memory if kind.bits < 8 else memory[: prod(shape) * kind.dtype.itemsize].view(kind.dtype).reshape(shape)
    return Tensor(data, element_type=kind, buffer=buffer, capacity=memory)


def shared(context: az.Context, source: Any) -> Tensor:
    """A tensor on the program's array; imported to the driver if it covers whole pages."""
    array = as_array(source)
    if fills_pages(array):
        buffer = context.import_memory(array.reshape(-1).view(np.uint8))
        return Tensor(array, buffer=buffer)
    return Tensor(array)


def fills_pages(array: npt.NDArray[Any]) -> bool:
    """True if an array covers whole pages, so that the driver can import them."""
    at = int(array.__array_interface__["data"][0])
    return bool(array.flags.c_contiguous and array.flags.writeable and array.nbytes and not (at | array.nbytes) % _PAGE)


def as_array(source: Any) -> npt.NDArray[Any]:
    """An array, a tensor of this package, or one of OpenVINO, as an array on the same memory."""
    if isinstance(source, np.ndarray):
        return source
    data = getattr(source, "data", None)
    return data if isinstance(data, np.ndarray) else np.asarray(source)


def put(target: npt.NDArray[Any], values: npt.NDArray[Any], name: str) -> None:
    """Copy values to a target of the same shape."""
    if target.shape != values.shape:
        raise errors.InvalidArgument(f"{name} has shape {target.shape}; these values have shape {values.shape}")
    np.copyto(target, values, casting="unsafe" if values.dtype.kind in "biuf" else "same_kind")
