"""Launch invariants, computed once in front of the loops over work-items, and value numbering of everything else.

LLVM finds such things too, in passes that take it longer than all the rest. Where a region is written, it is known at
once: what is made of nothing but arguments is the same for all work-items.
"""

from __future__ import annotations

from anyzero.compiler.llvm import Builder, Type, Value
from anyzero.compiler.lower.scopes import Scope, common

_PURE = frozenset({
    "add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "icmp", "fcmp", "fadd", "fsub", "fmul", "fdiv",
    "fneg", "select", "insertelement", "extractelement", "shufflevector", "getelementptr", "zext", "sext", "trunc",
    "bitcast", "ptrtoint", "inttoptr", "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "freeze",
})  # fmt: skip
"""Operations that depend on their operands alone and cannot fail."""
_PURE_CALLS = tuple(
    f"@llvm.{name}."
    for name in (
        *("umin", "umax", "smin", "smax", "abs", "fma", "fabs", "sqrt", "cttz", "ctlz", "ctpop"),
        "arithmetic.fence",
    )
)
_READS = ("@llvm.masked.load.", "@llvm.masked.gather.")
_BLOCKS = ("ptr %arguments,", "ptr %grid,", "ptr %worker,")
"""Memory that is there, and the same, throughout a launch."""
_LATEST = 8
"""Blocks beside each other that compute the same, of which is remembered that they do."""


class LaunchInvariants:
    """Lines that stand in front of the loops over work-items. Values are called `%i` and a number, in the function
    around the loops and, as parameters, in the regions.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.needs: dict[str, list[Value]] = {}
        """What each region is given, by its name."""
        self._known: dict[str, str] = {}
        self._places: set[str] = set()
        """Addresses inside of the launch's own blocks."""

    def compute(self, word: str, text: str) -> str | None:
        """The name of what it gives; None where it takes more than what is known beforehand."""
        found = self._known.get(text)
        if found is not None:
            return found
        names = text.count("%")
        if not names:
            return None
        inside = names == 1 and any(block in text for block in _BLOCKS)
        if not inside and names != text.count("%i"):
            return None
        if word == "load" and not (inside or text[text.index("%") : text.index(", align")] in self._places):
            return None
        name = f"%i{len(self.lines)}"
        if inside and word == "getelementptr":
            self._places.add(name)
        self.lines.append(f"  {name} = {text}")
        self._known[text] = name
        return name


class ValueNumbering(Builder):
    """Gives what was computed on every way to a block instead of computing it again."""

    def __init__(self, before: LaunchInvariants | None = None) -> None:
        super().__init__()
        self.needs: dict[str, Value] = {}
        """What comes from beforehand, by name."""
        self._before = before
        self._same: dict[str, list[tuple[Scope, Value]]] = {}
        """What was computed, and where."""
        self._read: dict[str, Value] = {}
        """What was read from memory in this block, until something may have changed it."""
        self._scope = Scope()
        """The block that is being written."""
        self._ways: dict[str, Scope | None] = {}
        """What all ways to a label lead through that were written so far."""

    def op(self, text: str, type_: Type) -> Value:
        word = text[: text.find(" ")]
        if word in _PURE:
            return self._computed(word, text, type_)
        if word == "load":
            if text.startswith(("load atomic", "load volatile")):
                self._read = {}
                return super().op(text, type_)
            if "!invariant.load" in text:
                return self._computed(word, text, type_)
        elif word == "call" and any(name in text for name in _PURE_CALLS):
            return self._computed(word, text, type_)
        elif word != "call" or not any(name in text for name in _READS):
            if word != "phi":
                self._read = {}
            return super().op(text, type_)
        found = self._read.get(text)
        if found is None:
            found = self._read[text] = super().op(text, type_)
        return found

    def _computed(self, word: str, text: str, type_: Type) -> Value:
        """Depends on its operands alone."""
        scope, there = self._scope, self._same.get(text)
        if there is None:
            there = self._same[text] = []
        for where, value in reversed(there):
            if where is scope or scope.inside(where):
                return value
        found = None
        if self._before is not None:
            name = self._before.compute(word, text)
            if name is not None:
                found = self.needs[name] = Value(self, name, type_)
        if found is None:
            found = super().op(text, type_)
        there.append((scope, found))
        if len(there) > _LATEST:
            del there[0]
        return found

    def line(self, text: str) -> None:
        self._read = {}
        if text.startswith("br "):
            for each in text.split("label %")[1:]:
                self._way_to(each.partition(",")[0])
        super().line(text)

    def _way_to(self, label: str) -> None:
        # Only what is computed in front of all ways has the same name on all of them.
        self._ways[label] = common(self._ways[label], self._scope) if label in self._ways else self._scope

    def label(self, name: str, all_ways: bool = True) -> None:
        """All ways to it must have been written, but for those that have come through it; else say so."""
        self._scope, self._read = Scope(self._ways.get(name) if all_ways else None), {}
        super().label(name)
