"""The line table: source places of ranges of machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anyzero.lazy_dataclass import dataclass, field
from anyzero.lazy_namedtuple import NamedTuple

__all__ = ["NO_LINES", "LineTable", "Place", "stack"]

NOWHERE = 0
"""The place of code that belongs to no line. Others are counted from 1."""


class Place(NamedTuple):
    """A line of a function; with `caller`, of one call of it."""

    function: str
    file: str
    line: int
    """0 where it is not known."""
    column: int
    text: str
    """The line itself, where the module holds its source."""
    caller: int
    """The place of the call that was inlined; `NOWHERE` in a kernel. Always a smaller number than the place's own."""


@dataclass(frozen=True, slots=True)
class LineTable:
    rows: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """Offsets in the code, ascending, each with the place of the code up to the next offset."""
    places: tuple[Place, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rows)


NO_LINES: Final = LineTable()


def stack(places: Sequence[Place], number: int) -> list[Place]:
    """A place and the calls that it was inlined through, innermost first."""
    found = []
    while number != NOWHERE:
        found.append(places[number - 1])
        number = found[-1].caller
    return found


def compact(rows: Sequence[tuple[int, int]], places: Sequence[Place], whole: bool = False) -> LineTable:
    """Drops places without code, unless the `whole` table is wanted, and rows that repeat the previous one."""
    used = set(range(1, len(places) + 1)) if whole else set()
    for number in {place for _, place in rows}:
        while number != NOWHERE and number not in used:
            used.add(number)
            number = places[number - 1].caller
    numbers = {old: new for new, old in enumerate(sorted(used), 1)} | {NOWHERE: NOWHERE}
    kept: list[tuple[int, int]] = []
    for offset, place in rows:
        if kept and kept[-1][0] == offset:
            kept.pop()
        if not kept or kept[-1][1] != numbers[place]:
            kept.append((offset, numbers[place]))
    chosen = [places[old - 1] for old in sorted(used)]
    return LineTable(tuple(kept), tuple(each._replace(caller=numbers[each.caller]) for each in chosen))
