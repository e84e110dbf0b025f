"""Writes what surrounds a thread's turn at the groups: its private sums are filled before, and applied behind.

See `transform/private_sums.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyzero.compiler.ir import SIZES
from anyzero.compiler.llvm import BITS, PTR, Type, Value
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import Entry, keep
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.transform.private_sums import LINE, Sum, padded
from anyzero.layouts.kernel import WORKER_OFFSETS

_OPERATIONS = {"smin": "min", "smax": "max"}
"""LLVM's names, where they differ."""


class _Around(Entry):
    """The code around the entry point of the groups."""

    def __init__(self, symbol: str, sums: Sequence[Sum], choices: Choices) -> None:
        super().__init__(symbol, choices, LaunchInvariants(), False)
        self._copies = self.room(max(each.variable.offset + padded(each.variable.size) for each in sums), LINE)
        self.b.store(self._copies, self.at(self.worker, WORKER_OFFSETS["sums"]), align=8)

    def pointers(self) -> list[str]:
        # It writes to the worker, unlike the code that it calls.
        return ["ptr %arguments", "ptr %grid", "ptr %worker"]

    def fill(self, sum_: Sum) -> None:
        nothing = self.b.spread(self.b.constant(_nothing(sum_), _word(sum_)), LINE // SIZES[sum_.element])
        self._lines(sum_, lambda _, line: self.b.store(nothing, line, align=LINE))

    def apply(self, sum_: Sum) -> None:
        b, size = self.b, SIZES[sum_.element]
        buffer = b.load(PTR, self.at(self.arguments, sum_.argument), align=8)

        def search(place: Value, line: Value) -> None:
            words = b.load(Type(_word(sum_).element, LINE // size), line, align=LINE)
            changed = b.reinterpret(b.compare("ne", words, _nothing(sum_)), Type(f"i{LINE // size}"))
            self.if_(b.compare("ne", changed, 0), lambda: update(place, line))

        def update(place: Value, line: Value) -> None:
            def element(at: Value) -> None:
                self._apply(sum_, self.at(line, at), self.at(buffer, place + at))

            self.for_(self.number(0), self.number(LINE), size, element)

        self._lines(sum_, search)

    def _lines(self, sum_: Sum, body: Callable[[Value, Value], None]) -> None:
        """The body gets the place among the elements and the address of the copy, line by line."""
        copies, end = self.at(self._copies, sum_.variable.offset), self.number(padded(sum_.variable.size))
        self.for_(self.number(0), end, LINE, lambda place: body(place, self.at(copies, place)))

    def _apply(self, sum_: Sum, copy: Value, element: Value) -> None:
        b, type_ = self.b, Type(sum_.element)
        operation = _OPERATIONS.get(sum_.kind, sum_.kind)
        form = f"{operation} ptr %s, {type_} %s seq_cst, align {SIZES[sum_.element]}"
        changed = b.compare("ne", b.load(_word(sum_), copy), _nothing(sum_))
        self.if_(changed, lambda: keep(b.op("atomicrmw", type_, form, element, b.load(type_, copy), kind="effect")))


def summing_entry(symbol: str, inner: str, sums: Sequence[Sum], choices: Choices) -> str:
    """Calls the entry point `inner` with copies of the elements on the thread's stack."""
    e = _Around(symbol, sums, choices)
    for each in sums:
        e.fill(each)
    given = (e.arguments, e.grid, e.first, e.last, e.worker)
    e.b.line(f"call void @{inner}({', '.join(each.typed for each in given)})")
    for each in sums:
        e.apply(each)
    return e.text()


def _word(sum_: Sum) -> Type:
    return Type(f"i{BITS[sum_.element]}")


def _nothing(sum_: Sum) -> int:
    """The bits of the number that changes nothing: of floats, minus zero."""
    highest = 1 << (BITS[sum_.element] - 1)
    return {"and": -1, "umin": -1, "smin": highest - 1, "smax": highest, "fadd": highest}.get(sum_.kind, 0)
