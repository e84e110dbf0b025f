"""Emits the box of active work-items of a launch, see `analysis/active_box.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyzero.compiler.analysis.active_box import ActiveBox
from anyzero.compiler.llvm import Value
from anyzero.compiler.lower.interior_guard import holds, total
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from anyzero.compiler.lower.entry import Entry

__all__ = ["Box", "Checks", "bounds"]

_AXES = ("global_x", "global_y", "global_z")


@dataclass(slots=True)
class Checks:
    """The checks that bound the ids of active work-items."""

    sides: Assumptions
    """Sums of one id each, with the strictest constant."""
    exact: Assumptions
    """Conditions, for the whole launch, under which the kernel computes these sums without wrapping around."""
    settled: bool = False
    """Do all assumptions of the interior version hold inside of the box?"""

    @staticmethod
    def of(found: ActiveBox) -> Checks | None:
        made = Checks(Assumptions(), Assumptions())
        for side in found.sides:
            made.exact.widened(side)
            made.sides.note(side)
        for operand in found.operands:
            made.exact.number(*operand)
        return made if made.exact.possible and made.sides.possible else None

    def settle(self, granted: Assumptions) -> bool:
        """Do the assumptions hold inside of the box?"""
        return granted.follow_from([*self.sides.least.items(), *self.exact.least.items()])


class Box(NamedTuple):
    known: Value
    """Is it the box, and not just the launch?"""
    low: list[Value]
    high: list[Value]
    """Global ids, from the first active one to the one behind the last."""


def bounds(e: Entry, checks: Checks) -> Box:
    """Those of the whole launch where the kernel's own numbers may wrap around in it."""
    b = e.b
    ends = [offset + size for offset, size in zip(e.offset, e.global_size, strict=True)]
    ids = dict(zip(_AXES, e.offset, strict=True))
    known = holds(e, checks.exact, ids, [size - 1 for size in e.global_size])
    low, high = list(e.offset), list(ends)
    for terms, least in checks.sides.least.items():
        (leaf, sign), *_ = [each for each in terms if each[0][0] == "builtin" and each[0][1][0] == "global_id"]  # type: ignore[index]
        rest = total(e, [each for each in terms if each[0] != leaf], least, ids, ())
        dimension = leaf[1][1]  # type: ignore[index]
        if sign > 0:
            low[dimension] = b.intrinsic("smax", low[dimension], e.number(0) - rest)
        else:
            high[dimension] = b.intrinsic("smin", high[dimension], rest + 1)
    low = [b.select(known, cut, first) for cut, first in zip(low, e.offset, strict=True)]
    high = [b.select(known, cut, end) for cut, end in zip(high, ends, strict=True)]
    return Box(known, low, high)
