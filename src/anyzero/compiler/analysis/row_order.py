"""Order of memory accesses in unrolled loops: may the iterations of a load run before earlier stores, and those of a
store after later accesses?

Only the accesses of one work-item have to keep their order: loops without barriers and atomic operations order nothing
between work-items.
"""

from __future__ import annotations

from anyzero.compiler.analysis.distances import address_of, bytes_of, other_spaces
from anyzero.compiler.analysis.induction import step_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.ir import Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["Apart", "kept_apart"]


@dataclass(slots=True, frozen=True)
class Apart:
    """A store and another access that must not meet: the store's address minus the other's must not be `low` or above
    by less than `width`, all in bytes and without a sign.
    """

    store: Op
    other: Op
    low: int
    width: int
    invariant: bool
    """Do both move by the same distance in each iteration, so that one test serves the whole loop?"""


def kept_apart(ops: list[Op], loop: Loop, joined: set[Op], factor: int) -> list[Apart] | None:
    """The tests under which `factor` iterations of each joined load may be one load in place of the first, and those of
    a joined store one store in place of the last. None where that is wrong, or cannot be told.
    """
    accesses = [op for op in ops if op.name in ("load", "store")]
    place = {op: at for at, op in enumerate(accesses)}
    found: list[Apart] = []
    for store in accesses:
        if store.name != "store":
            continue
        for other in accesses:
            later = place[other] > place[store]
            if store in joined:
                moves = other is not store and not (other in joined and other.name == "store" and later)
            else:
                moves = other in joined and other.name == "load"
            if not moves or other_spaces(store, other):
                continue
            test = _compared(store, other, loop, factor, 0 if later else 1)
            if test is None:
                return None
            found += test
    return found


def _compared(store: Op, other: Op, loop: Loop, factor: int, first: int) -> list[Apart] | None:
    """Tests of a store against an access that is at least `first` iterations later; none if they never meet."""
    steps = [step_of(op.args[0], loop) for op in (store, other)]
    if any(step is None or step.of is not None for step in steps):
        return None
    by, others = (step.factor for step in steps if step is not None)
    size, length = bytes_of(store), bytes_of(other)
    if by != others:
        # Everything that the store writes in these iterations against everything that the other touches.
        ends = [(factor - 1) * each for each in (by, others)]
        low = min(0, ends[1]) - max(0, ends[0]) - size + 1
        high = max(0, ends[1]) - min(0, ends[0]) + length
        return [Apart(store, other, low, high - low, invariant=False)]
    distances = [delta * by for delta in range(first, factor)]
    one, two = address_of(store.args[0]), address_of(other.args[0])
    if one.key == two.key:
        apart = one.constant - two.constant
        return None if any(-size < apart - distance < length for distance in distances) else []
    low = min(distances) - size + 1
    return [Apart(store, other, low, max(distances) + length - low, invariant=True)]
