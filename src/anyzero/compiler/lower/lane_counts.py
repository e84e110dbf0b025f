"""Counters for profiles: how often code runs and with how many lanes, added to memory of the thread.

A counter is two numbers of 64 bits: executions by a vector, and the sum of the active lanes. The engine provides the
memory (`Worker.counters`), so that counting takes no call, no lock and no atomic operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from anyzero.compiler.ir import Op
from anyzero.compiler.line_table import NOWHERE
from anyzero.compiler.llvm import I64, PTR
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.source_place import SourcePlace
from anyzero.layouts.container import CounterKind, CounterPlace
from anyzero.layouts.kernel import COUNTER_BYTES, MOST_COUNTERS, WORKER_OFFSETS

handles = Chapter()

Counters = dict[tuple[CounterKind, tuple[int, ...]], int]
"""Numbers of counters, by what they count and the places that they belong to."""
_LANES_AT: Final = 8


@handles("count")
def count(e: Emitter, op: Op) -> None:
    _add(e, CounterKind.BLOCK, op.info)


def count_access(e: Emitter, kind: CounterKind) -> None:
    """Counts an access of the operation that is being written, if the kernel counts."""
    if e.choices.options.count_lanes and e.op is not None:
        _add(e, kind, [e.op.word])


def _add(e: Emitter, kind: CounterKind, words: Iterable[int]) -> None:
    debug = e.choices.debug
    places = {NOWHERE}
    if debug is not None:
        # Words of several inlined calls may be equal, and are different places.
        places = {debug.number(word) for word in words if isinstance(word, SourcePlace)} or places
    key = kind, tuple(sorted(places))
    number = e.counters.setdefault(key, len(e.counters))
    if number >= MOST_COUNTERS:
        return
    b, mask = e.b, e.mask
    base = b.load(PTR, e.moved(e.frame.worker, WORKER_OFFSETS["counters"]), align=8, invariant=True)
    lanes = b.constant(1, I64) if mask is None else b.intrinsic("ctpop", e.bits(mask))
    for at, more in ((0, b.constant(1, I64)), (_LANES_AT, lanes)):
        address = e.moved(base, number * COUNTER_BYTES + at)
        b.store(b.load(I64, address, align=8) + more, address, align=8)


def counter_places(counters: Counters) -> tuple[CounterPlace, ...]:
    """A row for each place of each counter."""
    return tuple(
        CounterPlace(number, kind, place)
        for (kind, places), number in counters.items()
        if number < MOST_COUNTERS
        for place in places
    )
