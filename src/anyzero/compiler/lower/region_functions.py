"""Regions with their loops over vectors as functions of their own, for kernels with many barriers.

LLVM's time grows faster than the length of a function, and the loops over groups contain those over the vectors of all
regions. A call for each region and group costs a few nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from anyzero.compiler.llvm import I32, I64, PTR, Value
from anyzero.compiler.lower.entry import Entry, Group, group_of, vectors_of_group

_IDS = ("group_x", "group_y", "group_z")

Write = Callable[[Entry, Group, Sequence[Value]], "Value | None"]
"""Writes the loops of regions into a function, given memory of the caller; returns the function's result (i32)."""


class RegionFunctions:
    """The functions of one kernel's regions."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def call(
        self, e: Entry, group: Group, regions: Iterable[int], places: Sequence[Value], write: Write
    ) -> Value | None:
        """Writes a function for some regions, and a call of it. The result is None where `write` has none."""
        names = [f"{group.prefix}region{number}" for number in regions]
        inner = _Function(e, f"{e.symbol}.{names[0]}", names, len(places))
        ids = [Value(inner.b, f"%{name}", I64) for name in _IDS]
        within = group_of(
            *(inner, ids, vectors_of_group(inner), group.per_vector, group.combines, group.prefix, group.notes)
        )
        result = write(inner, within, [Value(inner.b, f"%given{n}", PTR) for n in range(len(places))])
        inner.result = inner.b.constant(0, I32) if result is None else result
        self.texts.append(inner.text())
        given = (e.arguments, e.grid, e.worker, *(group.known[name] for name in _IDS), *places)
        answer = e.b.apply(inner.symbol, I32, *given)
        return None if result is None else answer


class _Function(Entry):
    """It begins with the launch invariants that its regions use."""

    def __init__(self, around: Entry, symbol: str, regions: list[str], places: int) -> None:
        super().__init__(
            *(symbol, around.choices, around.before, around.twice, around.large, around.rows, around.granted)
        )
        self.regions = regions
        self.places = places
        self.result: Value

    def text(self) -> str:
        places = [f"ptr noalias %given{number}" for number in range(self.places)]
        parameters = ", ".join([*self.pointers(), *(f"i64 %{name}" for name in _IDS), *places])
        head = f"define internal i32 @{self.symbol}({parameters}) noinline #0 #1 {{"
        before = self.before.lines_for([*self.regions, *(f"{name}.rows" for name in self.regions)])
        lines = [head, "entry:", *self.allocations, *before, *self.code]
        return "\n".join([*lines, f"  ret {self.result.typed}", "}"])
