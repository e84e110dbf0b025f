"""Memory of the simulator: it knows its bounds, and says where an index leaves them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from anyzero.language.builtins.work_items import current
from anyzero.language.numbers import Number, VectorValue, converted, raw, wrapped
from anyzero.language.types import BOOL, I32, I64, Array, Memory, Pointer, Scalar, Vector

__all__ = ["Elements", "elements_of", "own_memory"]


class Elements:
    """Elements in one piece of memory, seen from one of them on; `shape` is None for a pointer."""

    def __init__(
        self, rows: npt.NDArray[Any], element: Scalar | Vector, shape: tuple[int, ...] | None, name: str, start: int = 0
    ) -> None:
        self._rows = rows
        self._element = element
        self._shape = shape
        self._name = name
        self._start = start
        self.space = "global"

    def _place(self, index: Any) -> int:
        indices = index if isinstance(index, tuple) else (index,)
        if self._shape is None:
            place = self._start + operator.index(indices[0])
            if not 0 <= place < len(self._rows):
                raise IndexError(
                    f"{self._name}[{operator.index(indices[0])}]: the memory has {len(self._rows)} elements"
                )
            return place
        place = 0
        for each, extent in zip(indices, self._shape, strict=True):
            at = operator.index(each)
            if not 0 <= at < extent:
                shown = ", ".join(str(operator.index(each)) for each in indices)
                raise IndexError(f"{self._name}[{shown}]: its shape is {self._shape}")
            place = place * extent + at
        return place

    def __getitem__(self, index: Any) -> Any:
        found = self._rows[self._place(index)]
        if isinstance(self._element, Vector):
            return VectorValue(self._element, found[: self._element.count].tolist())
        return wrapped(self._element, found.item())

    def __setitem__(self, index: Any, value: Any) -> None:
        given = converted(value, self._element)
        if isinstance(given, VectorValue):
            self._rows[self._place(index)][: given.type.count] = [raw(part) for part in given.parts]
        else:
            self._rows[self._place(index)] = raw(given)

    def __add__(self, distance: Any) -> Elements:
        moved = Elements(self._rows, self._element, None, self._name, self._start + operator.index(distance))
        moved.space = self.space
        return moved

    def __sub__(self, distance: Any) -> Elements:
        return self + -operator.index(distance)

    def __len__(self) -> int:
        if self._shape is None:
            raise TypeError("a pointer has no length; pass a size along")
        return self._shape[0]

    def type_in(self, wanted: Any) -> Any:
        """The type as the parameter of a function."""
        if self._shape is None or isinstance(wanted, Pointer):
            return Pointer(self._element, self.space)
        if self.space == "global":
            return Array(self._element, len(self._shape))
        return Memory(self._element, self._shape, self.space)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(Number(I64, extent) for extent in self._shape or ())

    @property
    def strides(self) -> tuple[Any, ...]:
        extents = self._shape or ()
        return tuple(Number(I64, int(np.prod(extents[axis + 1 :], dtype=np.int64))) for axis in range(len(extents)))

    @property
    def size(self) -> Any:
        return Number(I64, int(np.prod(self._shape or (), dtype=np.int64)))

    @property
    def ndim(self) -> Any:
        return Number(I32, len(self._shape or ()))

    def __repr__(self) -> str:
        return f"<{self._name}: {self._rows.tolist()}>"


def elements_of(
    array: npt.NDArray[Any], element: Scalar | Vector, shape: tuple[int, ...] | None, name: str
) -> Elements:
    """An array of numpy's as the kernel sees it; stores go to the array itself."""
    scalar = element.element if isinstance(element, Vector) else element
    flat: npt.NDArray[Any] = array.reshape(-1).view(scalar.dtype if scalar is not BOOL else np.dtype("?"))
    if isinstance(element, Vector):
        flat = flat.reshape(-1, element.size // scalar.size)
    return Elements(flat, element, shape, name)


def own_memory(of: Memory, key: Any = None) -> Elements:
    """Local memory, the same for all work-items of the group, or new private memory."""

    def make() -> Elements:
        count = int(np.prod(of.shape))
        scalar = of.element.element if isinstance(of.element, Vector) else of.element
        room = of.element.size // scalar.size
        array = np.zeros(count * room, scalar.dtype)
        made = elements_of(array, of.element, of.shape, f"{of.space} memory")
        made.space = of.space
        return made

    if of.space == "private":
        return make()
    shared: dict[Any, Elements] = current().fact("local_memory")
    if (key, of) not in shared:
        shared[key, of] = make()
    return shared[key, of]
