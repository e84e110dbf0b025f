"""Launches of random kernels of linear ids, the ids, and the lengths that they are divided by.

Lengths are constants, arguments, their products and sums, in any width. The generator knows the arguments of all
launches while it writes: it divides by what may be 0 behind a test only, and products that wrap are not marked as ones
that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.spirv_text import Text

ROOM = 1024
"""Elements of each buffer; no id is that high."""
TABLE = 64
CONSTANTS = [0, 1, 2, 5, 7, 16, 32, 40, TABLE - 1, 100, ROOM - 1, -1, -7]
LENGTHS = [1, 0, -1, 2, 3, 5, 16, 31, 64, 100, 1 << 16, (1 << 16) + 1, (1 << 26) + 1, (1 << 31) - 1, -(1 << 31), -64]
COMPARISONS = ["SLessThan", "ULessThan", "SLessThanEqual", "ULessThanEqual", "SGreaterThanEqual", "UGreaterThan"]
COMPARISONS += ["SGreaterThan", "UGreaterThanEqual", "IEqual"]
FACTORS = ["w", "h", "m", "n"]
WIDTH = {"i32": 32, "i64": 64}


@dataclass(frozen=True)
class Known:
    """A number that is the same for all work-items."""

    name: str
    type: str
    values: tuple[int, ...]
    """In each launch, signed."""


def _wrapped(value: int, type_: str) -> int:
    half = 1 << (WIDTH[type_] - 1)
    return (value + half) % (2 * half) - half


@dataclass(frozen=True)
class Launch:
    numbers: dict[str, int]
    size: int
    height: int
    offset: int


class Lengths(Text):
    """Writes ids and what they are divided by, for launches that are drawn first."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.decorations: list[str] = []
        self.types = {each: choices.one_of(["i32", "i32", "i32", "i64"]) for each in FACTORS}
        self.length = choices.one_of([("w",), ("w",), ("w",), ("h",), ("w", "h")])
        self.fixed = choices.one_of([0, 0, 0, 40, 64])
        """A constant length of rows, instead of that product."""
        self.framed = not self.fixed and self.length == ("w",) and choices.chance(40)
        """Is the length `w + 2 * m`?"""
        bounds: list[tuple[str, ...]] = [("n",), ()] if self.framed or self.fixed else [("w", "h"), ("w", "h", "m")]
        self.bound = choices.one_of([("n",), ("n",), (), *bounds])
        self.launches = [self.launch() for _ in range(choices.number(1, 3))]

    # Launches

    def launch(self) -> Launch:
        """Mostly one that rows fill."""
        choices = self.choices
        numbers = {each: choices.one_of(LENGTHS) for each in FACTORS}
        size = choices.one_of([128, 64, 160, 320, 480])
        if not choices.chance(20):
            short = {each: choices.one_of([4, 8, 5, 12]) for each in ("w", "h")}
            long = {each: choices.one_of([16, 32, 20, 33, 64, 50]) for each in ("w", "h")}
            rows = choices.number(2, 6)
            numbers["m"] = choices.one_of([2, 1, 3, 0, -1])
            numbers["w"], numbers["h"] = (short["w"], short["h"]) if len(self.length) == 2 else (long["w"], rows)
            if self.length == ("h",):
                numbers["w"], numbers["h"] = rows, long["h"]
            length = self.fixed or prod(numbers[each] for each in self.length)
            if self.framed:
                length = max(numbers["w"] + 2 * numbers["m"], 1)
            items = length * min(rows, 480 // length)
            numbers["n"] = choices.one_of([items, items, items, items + 3, 1 << 30])
            size = choices.one_of([items, items, -(-items // 32) * 32, -(-items // 32) * 32 + 64])
            if choices.chance(25):
                # Lengths that only a layer has may be anything.
                other = choices.one_of([each for each in FACTORS if each not in self.length])
                numbers[other] = choices.one_of(LENGTHS)
        for each in FACTORS:
            if self.types[each] == "i64" and choices.chance(10):
                numbers[each] = _wrapped(numbers[each] + (choices.one_of([1, 5, 0x7FFFFFFF]) << 32), "i64")
        height = 2 if choices.chance(8) and size <= 320 else 1
        return Launch(numbers, size, height, choices.one_of([0, 0, 0, 0, 5, 64]) if choices.chance(30) else 0)

    # Ids and lengths

    def make_id(self) -> tuple[str, str]:
        kind = self.choices.one_of(["low", "whole", "signed", "unsigned", "grouped"])
        whole = "%g"
        if kind == "grouped":
            whole = self.new(f"IAdd %i64 {self.new('IMul %i64 %group %group_size')} %local")
        if kind == "whole":
            return whole, "i64"
        low = self.new(f"UConvert %i32 {whole}")
        if kind in ("signed", "unsigned"):
            return self.new(f"{'SU'[kind == 'unsigned']}Convert %i64 {low}"), "i64"
        return low, "i32"

    def low(self, name: str, type_: str) -> str:
        return name if type_ == "i32" else self.new(f"UConvert %i32 {name}")

    def known(self, factors: tuple[str, ...], type_: str) -> Known:
        """The product of arguments, or a constant, in a type."""
        if not factors:
            some = [self.fixed, self.fixed, self.fixed // 4, self.fixed * 2] if self.fixed else [7, 16, 1, 40, 64]
            value = self.choices.one_of(some)
            return Known(f"%{'c' if type_ == 'i32' else 'l'}{value}", type_, (value,) * len(self.launches))
        parts = [
            Known(f"%{each}", self.types[each], tuple(launch.numbers[each] for launch in self.launches))
            for each in (factors if self.choices.chance(50) else reversed(factors))
        ]
        wide = self.choices.one_of([type_, type_, "i32", "i64"])
        found = self.converted(parts[0], wide)
        for each in parts[1:]:
            found = self.times(found, self.converted(each, wide))
            wide = type_ if self.choices.chance(30) else wide
            found = self.converted(found, wide)
        return self.converted(found, type_)

    def converted(self, number: Known, type_: str) -> Known:
        if number.type == type_:
            return number
        sign = type_ == "i64" and self.choices.chance(50)
        values = tuple(_wrapped(each if type_ == "i32" or sign else each % (1 << 32), type_) for each in number.values)
        return Known(self.new(f"{'S' if sign else 'U'}Convert %{type_} {number.name}"), type_, values)

    def times(self, one: Known, other: Known) -> Known:
        exact = [a * b for a, b in zip(one.values, other.values, strict=True)]
        values = tuple(_wrapped(each, one.type) for each in exact)
        name = self.new(f"IMul %{one.type} {one.name} {other.name}")
        if values == tuple(exact) and self.choices.chance(70):
            self.decorations.append(f"OpDecorate {name} NoSignedWrap")
        return Known(name, one.type, values)

    def divisor(self, type_: str) -> Known:
        if self.fixed and self.choices.chance(90):
            return self.known((), type_)
        if self.framed and self.choices.chance(80):
            return self.sum(type_, "w", "m")
        kinds: list[tuple[int, tuple[str, ...]]] = [(6, self.length), (2, ("w", "h")), (1, ("h",)), (1, ("m",))]
        kinds += [(1, ("w", "h", "m")), (1, ("n",)), (2, ()), (2, ("sum",))]
        factors = self.choices.weighted(kinds)
        if factors == ("sum",):
            return self.sum(type_, *self.choices.one_of([("w", "m"), ("h", "m"), ("w", "h")]))
        return self.known(factors, type_)

    def sum(self, type_: str, length: str, margin: str) -> Known:
        """A length and a margin on both of its sides."""
        wide = self.choices.one_of(["i32", "i64"])
        one, other = (self.known((each,), wide) for each in (length, margin))
        values = tuple(_wrapped(a + 2 * b, wide) for a, b in zip(one.values, other.values, strict=True))
        twice = self.new(f"IAdd %{wide} {other.name} {other.name}")
        return self.converted(Known(self.new(f"IAdd %{wide} {one.name} {twice}"), wide, values), type_)
