"""The launch's numbers, loaded from the grid at one place of the code: those alone that the code behind it uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from anyzero.compiler.llvm import I64, INVARIANT, PTR, Builder, Value
from anyzero.layouts.kernel import GRID_OFFSETS

_SIZE = 8


class LaunchNumbers:
    """The loads are in the order of the grid, whatever is used first."""

    def __init__(self, b: Builder, grid: Value) -> None:
        self._b = b
        self._grid = grid
        self._place = len(b.lines)
        """The line that they become; it stays empty if nothing is used."""
        b.lines.append("")
        self._loads: dict[int, tuple[str, Value]] = {}

    def dimensions(self, field: str) -> Dimensions:
        return Dimensions(self, GRID_OFFSETS[field])

    def at(self, offset: int) -> Value:
        found = self._loads.get(offset)
        if found is None:
            b = self._b
            address, number = Value(b, b.name(), PTR), Value(b, b.name(), I64)
            text = f"  {address.text} = getelementptr i8, {self._grid.typed}, i64 {offset}\n"
            text += f"  {number.text} = load i64, {address.typed}, align {_SIZE}{INVARIANT}"
            found = self._loads[offset] = text, number
            b.lines[self._place] = "\n".join(self._loads[each][0] for each in sorted(self._loads))
        return found[1]


class Dimensions(Sequence[Value]):
    """A number for each dimension."""

    def __init__(self, numbers: LaunchNumbers, start: int) -> None:
        self._numbers = numbers
        self._start = start

    def __len__(self) -> int:
        return 3

    @overload
    def __getitem__(self, at: int) -> Value: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Value]: ...

    def __getitem__(self, at: int | slice) -> Value | Sequence[Value]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(3))]
        if not 0 <= at < 3:
            raise IndexError(at)
        return self._numbers.at(self._start + _SIZE * at)
