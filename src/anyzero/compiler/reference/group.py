"""A work-group: its work-items run in turn, each until it must wait for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from anyzero.compiler.reference.decoder import Code
from anyzero.compiler.reference.errors import Divergence, Fault
from anyzero.compiler.reference.meetings import Arrival
from anyzero.compiler.reference.work_item import Item, execute
from anyzero.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from anyzero.compiler.reference.launch import Launch

Id = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Group:
    launch: Launch
    id: Id
    items: list[Item] = field(default_factory=list, repr=False)
    """By linear local id."""

    @property
    def sub_groups(self) -> list[list[Item]]:
        size = self.launch.sub_group_size
        return [self.items[start : start + size] for start in range(0, len(self.items), size)]

    def run(self, code: Code, arguments: list[list[Any]]) -> None:
        """Runs the kernel for every work-item, each with its own arguments."""
        running: dict[Item, Generator[Arrival, Any, Any]] = {
            item: execute(code, item, its) for item, its in zip(self.items, arguments, strict=True)
        }
        arrivals: dict[Item, Arrival] = {}
        ready: Sequence[Item] = self.items
        while ready:
            for item in ready:
                try:
                    arrivals[item] = running[item].send(item.answer)
                except StopIteration:
                    item.finished = True
                    arrivals.pop(item, None)
            ready = self._met(arrivals)

    def _met(self, arrivals: dict[Item, Arrival]) -> list[Item]:
        """Called when all work-items wait: returns those whose meeting is complete."""
        ready: list[Item] = []
        if not arrivals:
            return ready
        for members in self.sub_groups:
            waiting = [item for item in members if item in arrivals and arrivals[item].meeting.sub_group]
            ready += _first(waiting, arrivals)
        if not ready:
            together = _first([item for item in self.items if item in arrivals], arrivals)
            if arrivals[together[0]].meeting.everyone and len(together) < len(self.items):
                raise self._divergence(arrivals, together)
            ready = together
        settled: set[int] = set()
        for item in ready:
            if item.index not in settled:
                settled.update(self._settle(item, ready, arrivals))
        return ready

    def _settle(self, first: Item, ready: list[Item], arrivals: dict[Item, Arrival]) -> list[int]:
        """Computes the results for all work-items in the meeting of `first`."""
        meeting = arrivals[first].meeting
        met = [item for item in ready if not meeting.sub_group or item.sub_group == first.sub_group]
        try:
            answers = meeting.settle(met, [arrivals[item].brought for item in met])
        except Fault as fault:
            module = self.launch.module
            where = f"word {meeting.offset}, {module.shown(meeting.offset)} {module.whereabouts(meeting.offset)}"
            raise fault.at(where, first.global_id) from None
        for item, answer in zip(met, answers, strict=True):
            item.answer = answer
        return [item.index for item in met]

    def _divergence(self, arrivals: dict[Item, Arrival], together: list[Item]) -> Divergence:
        module = self.launch.module
        offset = arrivals[together[0]].meeting.offset
        others = Counter(arrivals[item].meeting.offset for item in arrivals if item not in together)
        ended = sum(item.finished for item in self.items)
        parts = [f"{len(together)} of {len(self.items)} work-items of group {self.id} wait at {module.shown(offset)}"]
        for each, count in others.items():
            what = f"word {each}, {module.shown(each)}" if each != offset else "another iteration of the same"
            parts.append(f"{count} at {what}")
        if ended:
            parts.append(f"{ended} have ended")
        fault = Divergence("; ".join(parts))
        fault.at(f"word {offset}, {module.whereabouts(offset)}", together[0].global_id)
        return fault


def _first(waiting: list[Item], arrivals: dict[Item, Arrival]) -> list[Item]:
    """The work-items with the smallest position; no other work-item can still join them."""
    if not waiting:
        return []
    place = min(arrivals[item].place for item in waiting)
    return [item for item in waiting if arrivals[item].place == place]
