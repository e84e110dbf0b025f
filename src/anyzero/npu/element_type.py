"""Element types of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["ElementType"]

_DTYPES: Final[dict[str, type[np.generic]]] = {
    # Types without a numpy equivalent come before those of the same size.
    "bf16": np.uint16,
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "boolean": np.bool_,
}


@dataclass(frozen=True, slots=True, eq=False)
class ElementType:
    """An element type by its OpenVINO name (``f32``, ``i64``, ``boolean``), with its numpy dtype.

    It compares equal to OpenVINO's own type of that name, and to the name.
    """

    name: str
    dtype: np.dtype[Any]
    bits: int

    @classmethod
    def of(cls, wanted: Any) -> ElementType:
        """A type by its name, by a numpy dtype, or from OpenVINO's own type."""
        ask = getattr(wanted, "get_type_name", None)
        name = ask() if callable(ask) else wanted
        if isinstance(name, str) and name in _DTYPES:
            kind = np.dtype(_DTYPES[name])
            return cls(name, kind, kind.itemsize * 8)
        kind = np.dtype(name)
        known = {np.dtype(each): short for short, each in _DTYPES.items()}
        return cls(known.get(kind, str(kind)), kind, kind.itemsize * 8)

    def to_dtype(self) -> np.dtype[Any]:
        """The numpy dtype."""
        return self.dtype

    def get_type_name(self) -> str:
        """Its name."""
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other == self.name
        ask = getattr(other, "get_type_name", None)
        return bool(callable(ask) and ask() == self.name)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<Type: {self.name}>"
