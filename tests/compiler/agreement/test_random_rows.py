"""Random kernels in two dimensions, full of bounds: several rows at once and kernels for away from the edges agree with
the interpreter.

`ANYZERO_RANDOM=5000` tries so many, other ones each time, as for the other random kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from anyzero.compiler.compiled import Options
from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.spirv_text import Text
from tests.compiler.agreement.test_found import kernel
from tests.compiler.agreement.test_random import WANTED, profile
from tests.thorough import examples

CONSTANTS = [-40, -3, -1, 0, 1, 2, 5, 16, 31, 63]
COMPARISONS = ["SLessThan", "SLessThanEqual", "SGreaterThan", "SGreaterThanEqual", "ULessThan", "ULessThanEqual"]
COMPARISONS += ["UGreaterThan", "UGreaterThanEqual", "IEqual", "INotEqual"]
HELD = ["s_max", "s_min", "s_clamp", "u_min", "u_max", "u_clamp"]
TABLE = 64
OFFSETS = [(0, 0, 0), (2, 1, 0), ((1 << 31) - 20, (1 << 31) - 3, 0), ((1 << 32) - 9, (1 << 32) - 2, 0)]


class _Rows(Text):
    """Writes statements; `known` are the numbers that can be used from here on."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.known = ["%x", "%y", "%p1", "%p2"]

    def number(self) -> str:
        if self.choices.chance(30):
            return f"%n{self.choices.number(0, len(CONSTANTS) - 1)}"
        return self.choices.one_of(self.known[-6:] + self.known[:4])

    def bound(self) -> str:
        return self.choices.one_of(["%n3", "%p1", "%last", "%n9", "%n4"])

    def condition(self) -> str:
        pair = [self.number(), self.bound()]
        if self.choices.chance(30):
            pair.reverse()
        return self.new(f"{self.choices.one_of(COMPARISONS)} %bool {pair[0]} {pair[1]}")

    def value(self) -> str:
        kind = self.choices.weighted([(3, "sum"), (3, "held"), (2, "select"), (4, "load"), (1, "product")])
        if kind == "sum":
            return self.new(f"{self.choices.one_of(['IAdd', 'ISub'])} %i32 {self.number()} {self.number()}")
        if kind == "product":
            return self.new(f"IMul %i32 {self.number()} {self.number()}")
        if kind == "select":
            return self.new(f"Select %i32 {self.condition()} {self.number()} {self.number()}")
        if kind == "held":
            name = self.choices.one_of(HELD)
            bounds = "%n3 %last" if name.endswith("clamp") else self.bound()
            return self.new(f"ExtInst %i32 %cl {name} {self.number()} {bounds}")
        return self.load()

    def load(self) -> str:
        """From a table, at an index that is held inside of it."""
        inside = self.new(f"ExtInst %i32 %cl s_clamp {self.number()} %n3 %n9")
        wide = self.new(f"SConvert %i64 {inside}")
        there = self.new(f"InBoundsPtrAccessChain %global_i32 %p3 {wide}")
        return self.new(f"Load %i32 {there} Aligned 4")

    def statements(self, depth: int = 0) -> None:
        for _ in range(self.choices.number(1, 4)):
            kind = self.choices.weighted([(6, "value"), (2 if depth < 2 else 0, "if"), (2 if depth < 2 else 0, "loop")])
            if kind == "value":
                self.known.append(self.value())
            elif kind == "if":
                self.branch(depth)
            else:
                self.loop(depth)

    def branch(self, depth: int) -> None:
        condition, other = self.condition(), self.number()
        kept = len(self.known)

        def inside() -> str:
            self.statements(depth + 1)
            last = self.known[-1]
            del self.known[kept:]
            return last

        self.known.append(self.guarded(condition, inside, other, "i32"))

    def loop(self, depth: int) -> None:
        start, turns = self.choices.number(0, 3), self.choices.number(1, 4)
        limit = self.new(f"IAdd %i32 %n{start} %t{turns}")
        kept = len(self.known)

        def turn(carried: Sequence[str]) -> list[str]:
            counter, total = carried
            self.known += [counter, self.new(f"IAdd %i32 %x {counter}"), self.new(f"IAdd %i32 %y {counter}")]
            self.statements(depth + 1)
            last = self.known[-1]
            del self.known[kept:]
            return [self.new(f"IAdd %i32 {counter} %n4"), self.new(f"IAdd %i32 {total} {last}")]

        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"SLessThan %bool {carried[0]} {limit}")

        first = [("i32", f"%n{start}"), ("i32", "%n3")]
        self.known.append(self.loop_of(first, goes_on, turn, rotated=self.choices.chance(80))[1])


@st.composite
def rows(draw: DrawFn) -> Program:
    choices = Choices(draw)
    made = _Rows(choices)
    made.statements()
    declared = [f"%n{place} = OpConstant %i32 {each % (1 << 32)}" for place, each in enumerate(CONSTANTS)]
    declared += [f"%t{turns} = OpConstant %i32 {turns}" for turns in range(1, 5)]
    lines = ["%h = OpCompositeExtract %i64 %ids 1", "%x = OpUConvert %i32 %g", "%y = OpUConvert %i32 %h"]
    lines += ["%last = OpISub %i32 %p1 %n4", "OpBranch %start", "%start = OpLabel", *made.lines]
    lines += [f"OpStore %at {made.known[-1]} Aligned 4"]
    text = kernel("\n".join(lines), "%global_i32 %i32 %i32 %global_i32", "\n".join(declared))
    if choices.chance(25):
        text = text.replace("GlobalInvocationId", "LocalInvocationId")
    size, group = choices.one_of([((40, 6), (20, 3)), ((40, 8), (40, 1)), ((33, 10), (33, 5)), ((64, 12), (8, 12))])
    shape = Shape((*size, 1), (*group, 1), choices.one_of(OFFSETS), 0)
    limits = [np.int32(choices.one_of([40, 64, 20, 7, 1, 0, -1])) for _ in range(2)]
    arguments = [np.zeros(shape.items, np.int32), *limits, np.arange(100, 100 + TABLE, dtype=np.int32)]
    return Program(text, arguments, [], shape)


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or examples(15, 60))
@given(rows(), st.sampled_from([4, 8, 16]), st.sampled_from([None, 2, 3, 4]))
def test_given_any_kernel_of_rows_then_both_agree(program: Program, lanes: int, count: int | None) -> None:
    assert disagreement(program, ways=[Options(level=1, lanes=lanes, rows=count)]) is None
