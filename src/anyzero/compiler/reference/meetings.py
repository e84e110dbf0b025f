"""Where work-items wait for each other: barriers and collective operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from anyzero.compiler.reference.decoder import ITEM, Decoder, Pause, Registers, Waiting
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Scope

if TYPE_CHECKING:
    from anyzero.compiler.reference.work_item import Item

Settle = Callable[[Sequence["Item"], Sequence[Any]], Sequence[Any]]
"""What each of those who met gets, from what each brought; in the order of their ids."""


@dataclass(slots=True, eq=False)
class Meeting:
    offset: int
    """The instruction's word."""
    sub_group: bool
    """Does a sub-group meet, or a whole group?"""
    everyone: bool
    """Is it a mistake if somebody is missing?"""
    settle: Settle


class Arrival(NamedTuple):
    """A work-item has come to a meeting."""

    place: tuple[int, ...]
    """Where in the walk through the kernel, through all calls; the same only for those who can meet."""
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
    """An instruction that work-items execute together. `uniform`: all of a group must encounter it."""
    sub_group = scope == Scope.Subgroup
    # In a sub-group, who is not there takes no part: what waits here is what walked here together.
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
    """For barriers."""
    return [None] * len(items)
