"""What is computed but once: by a launch before its first work-item, or in a block before somebody asks for it again.

LLVM finds such things too, in passes that take it longer than all the rest. Where a region is written, it is known at
once: what is made of nothing but arguments is the same for all work-items.
"""

from __future__ import annotations

from anyzero.compiler.lower.llvm import Builder, Type, Value

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


class Beforehand:
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


class Numbering(Builder):
    """Gives what was computed on every way to a block instead of computing it again."""

    def __init__(self, before: Beforehand | None = None) -> None:
        super().__init__()
        self.needs: dict[str, Value] = {}
        """What comes from beforehand, by name."""
        self._before = before
        self._same: dict[str, Value] = {}
        self._read: dict[str, Value] = {}
        """The same for what is in memory, until something may have changed it."""
        self._ways: dict[str, dict[str, Value]] = {}
        """What is known on all ways to a label that were written so far."""

    def op(self, text: str, type_: Type) -> Value:
        word = text[: text.find(" ")]
        if word in _PURE:
            table = self._same
        elif word == "load":
            if text.startswith(("load atomic", "load volatile")):
                self._read = {}
                return super().op(text, type_)
            table = self._same if "!invariant.load" in text else self._read
        elif word == "call" and any(name in text for name in _PURE_CALLS):
            table = self._same
        elif word == "call" and any(name in text for name in _READS):
            table = self._read
        else:
            if word != "phi":
                self._read = {}
            return super().op(text, type_)
        found = table.get(text)
        if found is None:
            if self._before is not None and table is self._same:
                name = self._before.compute(word, text)
                if name is not None:
                    found = self.needs[name] = Value(self, name, type_)
            if found is None:
                found = super().op(text, type_)
            table[text] = found
        return found

    def line(self, text: str) -> None:
        self._read = {}
        if text.startswith("br "):
            for each in text.split("label %")[1:]:
                self._way_to(each.partition(",")[0])
        super().line(text)

    def _way_to(self, label: str) -> None:
        there, here = self._ways.get(label), self._same
        if there is None:
            self._ways[label] = dict(here)
        else:
            # Only what is computed in front of both ways has the same name on both.
            self._ways[label] = {text: value for text, value in there.items() if here.get(text) is value}

    def label(self, name: str, all_ways: bool = True) -> None:
        """All ways to it must have been written, but for those that have come through it; else say so."""
        self._same, self._read = (self._ways.get(name) or {}) if all_ways else {}, {}
        super().label(name)
