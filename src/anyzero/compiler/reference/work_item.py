"""A work-item: its ids, its memory, and the execution of functions."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from anyzero.compiler.reference.decoder import ITEM, RESULT, Code, Section
from anyzero.compiler.reference.errors import Fault, LimitReached
from anyzero.compiler.reference.memory import PRIVATE, SHIFT, Region, Regions, new_address
from anyzero.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from anyzero.compiler.reference.group import Group
    from anyzero.compiler.reference.meetings import Arrival

DEEPEST = 200
"""Maximum call depth; calls by address can recurse, direct calls cannot."""


@dataclass(slots=True, eq=False)
class Item:
    group: Group
    index: int
    """Linear index in the group."""
    local_id: tuple[int, int, int]
    global_id: tuple[int, int, int]
    sub_group: int
    lane: int
    regions: Regions
    left: int
    """Remaining instructions."""
    path: tuple[int, ...] = ()
    """Position of the call of the running function."""
    depth: int = 0
    finished: bool = False
    answer: Any = field(default=None, repr=False)
    """The result of the last meeting."""

    def allocate(self, size: int, name: str) -> int:
        """Private memory, until `release`."""
        address = new_address()
        self.regions[address >> SHIFT] = Region.zeros(name, PRIVATE, size)
        return address

    def release(self, address: int) -> None:
        self.regions.pop(address >> SHIFT, None)


def execute(code: Code, item: Item, arguments: list[Any]) -> Generator[Arrival, Any, Any]:
    """Runs a function and returns its result. Yields when the work-item must wait."""
    r = code.template.copy()
    r[ITEM] = item
    for slot, value in zip(code.parameters, arguments, strict=True):
        r[slot] = value
    item.depth += 1
    section: Section | None = code.entry
    step: Any = None
    try:
        if item.depth > DEEPEST:
            raise LimitReached(f"calls are nested more than {DEEPEST} deep")
        while section is not None:
            item.left -= section.length
            if item.left < 0:
                raise LimitReached("the work-item has executed as many instructions as it may")
            for steps, pause in section.runs:
                for step in steps:
                    step(r)
                if pause is not None:
                    step = pause
                    yield from pause.begin(r)
            step = section.leave
            section = step(r)
    except Fault as fault:
        raise fault.at(_shown(code, step), item.global_id) from None
    item.depth -= 1
    for slot in code.variables:
        item.release(r[slot])
    return r[RESULT]


def _shown(code: Code, step: Any) -> str:
    module, offset = code.function.module, code.offsets.get(step, code.function.offset)
    return f"word {offset}, {module.shown(offset)} {module.whereabouts(offset)}"
