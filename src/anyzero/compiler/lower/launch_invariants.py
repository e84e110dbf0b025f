"""Launch invariants, computed once before the work-item loops, and value numbering of everything else.

LLVM's own passes for this take longer than all others. While a region is written it is known at once: values that
depend on arguments alone are the same for all work-items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from anyzero.compiler.llvm import INVARIANT, Builder, Instruction, Value
from anyzero.compiler.lower.scopes import Scope, common

_BLOCKS = frozenset({"%arguments", "%grid", "%worker"})
"""Memory that is mapped and constant throughout a launch."""
Key = tuple[str, str, tuple[str, ...]]
"""Opcode, form and operands of an instruction."""
_NAME = re.compile(r"%\w+")
_LATEST = 8
"""The most sibling blocks in which an expression is remembered."""


class LaunchInvariants:
    """Instructions before the work-item loops. Values are called `%i` and a number, in the function around the loops
    and, as parameters, in the regions.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.needs: dict[str, list[Value]] = {}
        """The invariants that each region uses, by the region's name."""
        self._known: dict[Key, str] = {}
        self._uses: dict[str, list[str]] = {}
        """The invariants that each one is computed from, by name."""
        self._places: set[str] = set()
        """Addresses inside of the launch's own blocks."""

    def compute(self, instruction: Instruction, key: Key) -> str | None:
        """The name of the hoisted result; None where an operand is no launch invariant."""
        found = self._known.get(key)
        if found is not None:
            return found
        registers = [each for each in instruction.operands if each[0] == "%"]
        inside = len(registers) == 1 and registers[0] in _BLOCKS
        if not registers or not (inside or all(each in self._uses for each in registers)):
            return None
        if instruction.opcode == "load" and not (inside or registers[0] in self._places):
            return None
        name = f"%i{len(self.lines)}"
        self._uses[name] = [] if inside else registers
        if inside and instruction.opcode == "getelementptr":
            self._places.add(name)
        self.lines.append(f"  {name} = {instruction.text}")
        self._known[key] = name
        return name

    def lines_for(self, regions: Iterable[str]) -> list[str]:
        """The instructions that compute what some regions use."""
        found: set[str] = set()
        waiting = [each.text for region in regions for each in self.needs.get(region, ())]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._uses[name]
        return [self.lines[number] for number in sorted(int(name[2:]) for name in found)]

    def again(self, b: Builder, values: Sequence[Value], worker: Value) -> list[Value]:
        """The same values for another worker: those that are computed from it are computed anew."""
        made: dict[str, str] = {}

        def renew(name: str) -> str:
            if name not in made:
                made[name] = name
                line = self.lines[int(name[2:])].split(" = ", 1)[1]
                names = {each: renew(each) for each in self._uses[name]} | {"%worker": worker.text}
                fresh = _NAME.sub(lambda found: names.get(found[0], found[0]), line)
                if fresh != line:
                    made[name] = b.name()
                    # Other workers are written in the function that reads them.
                    b.line(f"{made[name]} = {fresh.replace(INVARIANT, '')}")
            return made[name]

        return [Value(b, renew(each.text), each.type) for each in values]


class ValueNumbering(Builder):
    """Value numbering: reuses values of dominating blocks."""

    def __init__(self, before: LaunchInvariants | None = None) -> None:
        super().__init__()
        self.needs: dict[str, Value] = {}
        """Launch invariants that are used, by name."""
        self._before = before
        self._same: dict[Key, list[tuple[Scope, Value]]] = {}
        """Available expressions, and their blocks."""
        self._read: dict[Key, Value] = {}
        """Available loads of this block, dropped at operations that may write memory."""
        self._scope = Scope()
        """The block that is being written."""
        self._ways: dict[str, Scope | None] = {}
        """The nearest common dominator of a label's predecessors that were written so far."""

    def add(self, instruction: Instruction) -> Value:
        if instruction.kind == "effect":
            self._read = {}
            return super().add(instruction)
        key = instruction[:3]
        if instruction.kind == "pure":
            return self._computed(instruction, key)
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = super().add(instruction)
        return found

    def _computed(self, instruction: Instruction, key: Key) -> Value:
        scope, there = self._scope, self._same.get(key)
        if there is None:
            there = self._same[key] = []
        for where, value in reversed(there):
            if where is scope or scope.inside(where):
                return value
        found = None
        if self._before is not None:
            name = self._before.compute(instruction, key)
            if name is not None:
                found = self.needs[name] = Value(self, name, instruction.type)
        if found is None:
            found = super().add(instruction)
        there.append((scope, found))
        if len(there) > _LATEST:
            del there[0]
        return found

    def jump(self, label: str) -> None:
        self._way_to(label)
        super().jump(label)

    def branch(self, condition: Value, then: str, otherwise: str, *, unlikely: bool = False) -> None:
        self._way_to(then)
        self._way_to(otherwise)
        super().branch(condition, then, otherwise, unlikely=unlikely)

    def line(self, text: str) -> None:
        self._read = {}
        super().line(text)

    def _way_to(self, label: str) -> None:
        # Only a value of a common dominator has the same name on all paths.
        self._ways[label] = common(self._ways[label], self._scope) if label in self._ways else self._scope

    def label(self, name: str, all_ways: bool = True) -> None:
        """All predecessors must have been written, except back edges; else the caller says so."""
        self._scope, self._read = Scope(self._ways.get(name) if all_ways else None), {}
        super().label(name)
