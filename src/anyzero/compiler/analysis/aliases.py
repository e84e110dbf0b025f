"""May two accesses of a work-item meet? Those through different arguments may, unless the launch says otherwise.

Only the accesses of one work-item are compared: what another one accesses in the meantime would be a race.
"""

from __future__ import annotations

from collections.abc import Container

from anyzero.compiler.analysis.distances import address_of, bytes_of, other_spaces
from anyzero.compiler.ir import Body, Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["NOTHING_KNOWN", "Aliases", "Unaliased", "unaliased_arguments"]

MOST_STEPS = 64
"""Most operations that a pointer is followed through."""


@dataclass(slots=True, frozen=True)
class Unaliased:
    """Arguments whose memory is separate, by their offsets: that of a written one from that of all others."""

    written: frozenset[int] = frozenset()
    read: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        return self.written | self.read


def unaliased_arguments(body: Body, pointers: Container[int]) -> Unaliased:
    """The arguments that the body's loads and stores go through. `pointers` are the offsets of those that are addresses
    and no structures that hold some.
    """
    found: dict[str, set[int]] = {"load": set(), "store": set()}
    for op in body.ops:
        if op.name in found:
            found[op.name].update(each for each in _arguments_of(op.args[0]) if each in pointers)
    return Unaliased(frozenset(found["store"]), frozenset(found["load"] - found["store"]))


class Aliases:
    def __init__(self, unaliased: Unaliased) -> None:
        self.unaliased = unaliased
        self._arguments: dict[Op, frozenset[int]] = {}

    def never(self, one: Op, other: Op) -> bool:
        """Do these accesses, one of them a store, never meet?"""
        if other_spaces(one, other):
            return True
        first, second = address_of(one.args[0]), address_of(other.args[0])
        if first.key == second.key:
            return not -bytes_of(one) < first.constant - second.constant < bytes_of(other)
        return self.separate(first.key[0], second.key[0])

    def separate(self, root: Op, other: Op) -> bool:
        """Do two pointers lead to separate memory? One of them is written."""
        one, two = self._known(root), self._known(other)
        return bool(one and two) and one.isdisjoint(two)

    def _known(self, root: Op) -> frozenset[int]:
        """The arguments that a pointer may be made from; empty where there may be others."""
        if root not in self._arguments:
            found = _arguments_of(root) if self.unaliased.all else frozenset()
            self._arguments[root] = found if found <= self.unaliased.all else frozenset()
        return self._arguments[root]


NOTHING_KNOWN = Unaliased()


def _arguments_of(pointer: Op) -> frozenset[int]:
    """The offsets of the arguments that a pointer may be made from; empty if it may be made from anything else."""
    found: set[int] = set()
    seen: set[Op] = set()
    waiting = [pointer]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.name == "argument" and op.type == "ptr":
            found.add(op.info)
        elif op.name in ("offset", "phi", "select") and len(seen) < MOST_STEPS:
            waiting += op.args[:1] if op.name == "offset" else op.args[1:] if op.name == "select" else op.args
        else:
            return frozenset()
    return frozenset(found)
