"""Meetings of work-items: barriers and collective operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from anyzero.compiler.reference.decoder import ITEM, Decoder, Pause, Registers, Waiting
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Scope
from anyzero.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from anyzero.compiler.reference.work_item import Item

Settle = Callable[[Sequence["Item"], Sequence[Any]], Sequence[Any]]
"""Maps the contributions of the work-items to their results, in the order of their ids."""


@dataclass(slots=True, eq=False)
class Meeting:
    offset: int
    """The instruction's word offset."""
    sub_group: bool
    """True for a sub-group, false for a whole group."""
    everyone: bool
    """True if a missing work-item is a fault."""
    settle: Settle


class Arrival(NamedTuple):
    """The arrival of a work-item at a meeting."""

    place: tuple[int, ...]
    """Position in the execution, through all calls; equal only for work-items that can meet."""
    meeting: Meeting
    brought: Any


def meet(
    decoder: Decoder,
    instruction: Instruction,
    scope: int,
    bring: Callable[[Registers], Any],
    settle: Settle,
    *,
    uniform: bool,
) -> Pause:
    """A collective instruction. `uniform`: all work-items of a group must reach it."""
    sub_group = scope == Scope.Subgroup
    # In a sub-group, lanes that did not reach this point together are inactive.
    meeting = Meeting(instruction.offset, sub_group, uniform and not sub_group, settle)
    position = decoder.position(instruction)
    to = decoder.result(instruction) if instruction.result_id else None

    def begin(r: Registers) -> Waiting:
        item = r[ITEM]
        answer = yield Arrival(item.path + position(r), meeting, bring(r))
        if to is not None:
            r[to] = answer

    return Pause(begin)


def nothing(items: Sequence[Item], brought: Sequence[Any]) -> Sequence[Any]:
    """No results, for barriers."""
    return [None] * len(items)
