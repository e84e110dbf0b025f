"""The base of every structure that carries its own type."""

from __future__ import annotations

from ctypes import Array, Structure
from typing import Any, ClassVar, Self


class Extensible(Structure):
    """A structure that begins with `stype` and `pNext`; the first is set unless the caller sets it."""

    _stype_: ClassVar[int] = 0

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        if not self.stype:
            self.stype = self._stype_

    @classmethod
    def array(cls, length: int) -> Array[Self]:
        """Room for `length` structures to be filled by a query. ctypes does not construct the elements of an array."""
        made = (cls * length)()
        for element in made:
            element.stype = cls._stype_
        return made
