"""Random kernels whose groups keep tiles in local memory: filled with a margin, read across rows, summed in trees.

Barriers separate what one work-item writes from what another one reads, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.spirv_text import Text
from tests.compiler.samples import PROLOGUE, TYPES

GROUPS = [
    (8, 8),
    (16, 1),
    (64, 1),
    (8, 8),
    (16, 16),
    (8, 4),
    (4, 8),
    (16, 4),
    (32, 4),
    (5, 7),
    (32, 1),
    (20, 1),
    (2, 16),
]
GROUPS += [(128, 1), (16, 8)]
COUNTS = [(2, 2), (1, 1), (3, 1), (1, 3), (2, 1), (4, 2)]
MOST_ITEMS = 640
CONSTANTS = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 40, 64, 100, -1, -2, -3]
KINDS = {"i32": np.int32, "f32": np.float32, "i16": np.int16, "i8": np.int8}
COMPARISONS = ["SLessThan", "SGreaterThan", "SLessThanEqual", "IEqual", "INotEqual", "ULessThan"]


@dataclass(frozen=True)
class Tile:
    """An array in local memory: rows of a group with a margin around them."""

    name: str
    type: str
    margin: int
    pitch: int
    rows: int

    @property
    def count(self) -> int:
        return self.pitch * self.rows


class Writer(Text):
    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.columns, self.rows = self.group = choices.one_of(GROUPS)
        self.items = self.columns * self.rows
        fitting = [each for each in COUNTS if each[0] * each[1] * self.items <= MOST_ITEMS]
        self.groups = choices.one_of(fitting)
        self.width, self.height = self.columns * self.groups[0], self.rows * self.groups[1]
        self.constants: dict[str, int] = {}
        self.written_sizes = choices.chance(60)
        """Is the group's size written as numbers, or asked for?"""
        self.phases = choices.one_of([1, 1, 2, 3])
        self.cleared = self.phases > 1 or choices.chance(20)
        """Is all of the tiles written at first? Some ways to fill leave corners and padding out."""
        self.tiles = [self.tile(number) for number in range(choices.one_of([1, 1, 2]))]
        self.values = ["%x", "%y", "%lx", "%ly", "%id"]

    def tile(self, number: int) -> Tile:
        margin = self.choices.one_of([0, 1, 2, 1]) if self.items <= 128 else self.choices.one_of([0, 1])
        pitch = self.columns + 2 * margin + self.choices.one_of([0, 0, 1])
        type_ = self.choices.one_of(["i32", "i32", "f32", "i16", "i8"])
        return Tile(f"%tile{number}", type_, margin, pitch, self.rows + 2 * margin)

    # Values

    def constant(self, value: int) -> str:
        self.constants.setdefault(f"%n{value}" if value >= 0 else f"%m{-value}", value)
        return f"%n{value}" if value >= 0 else f"%m{-value}"

    def add(self, one: str, other: str | int) -> str:
        if other == 0:
            return one
        return self.new(f"IAdd %i32 {one} {self.constant(other) if isinstance(other, int) else other}")

    def times(self, one: str, by: int) -> str:
        return one if by == 1 else self.new(f"IMul %i32 {one} {self.constant(by)}")

    def number(self) -> str:
        if self.choices.chance(20):
            return self.constant(self.choices.one_of(CONSTANTS))
        return self.choices.one_of(self.values[-4:] + self.values[:5])

    def value(self) -> str:
        match self.choices.one_of(["sum", "product", "select", "held", "loaded"]):
            case "sum":
                return self.new(
                    f"{self.choices.one_of(['IAdd', 'ISub', 'BitwiseXor'])} %i32 {self.number()} {self.number()}"
                )
            case "product":
                return self.new(f"IMul %i32 {self.number()} {self.number()}")
            case "select":
                return self.new(f"Select %i32 {self.condition()} {self.number()} {self.number()}")
            case "held":
                name = self.choices.one_of(["s_max", "s_min"])
                return self.new(f"ExtInst %i32 %cl {name} {self.number()} {self.number()}")
        return self.load_data(self.number(), self.number(), clamped=True)

    def condition(self) -> str:
        return self.new(f"{self.choices.one_of(COMPARISONS)} %bool {self.number()} {self.number()}")

    def load_data(self, x: str, y: str, clamped: bool) -> str:
        """From the image that tiles are filled from."""
        if clamped:
            x = self.new(f"ExtInst %i32 %cl s_clamp {x} {self.constant(0)} {self.constant(self.width - 1)}")
            y = self.new(f"ExtInst %i32 %cl s_clamp {y} {self.constant(0)} {self.constant(self.height - 1)}")
        place = self.add(self.times(y, self.width), x)
        there = self.new(f"InBoundsPtrAccessChain %global_i32 %data {self.new(f'SConvert %i64 {place}')}")
        return self.new(f"Load %i32 {there} Aligned 4")

    # Tiles

    def address(self, tile: Tile, place: str) -> str:
        wide = self.new(f"SConvert %i64 {place}")
        return self.new(f"InBoundsAccessChain %local_{tile.type} {tile.name} {wide}")

    def read(self, tile: Tile, place: str) -> str:
        found = self.new(f"Load %{tile.type} {self.address(tile, place)} Aligned {KINDS[tile.type](0).itemsize}")
        if tile.type == "f32":
            return self.new(f"ConvertFToS %i32 {found}")
        return found if tile.type == "i32" else self.new(f"SConvert %i32 {found}")

    def put(self, tile: Tile, place: str, value: str) -> None:
        if tile.type == "f32":
            # Exact as a float, and back.
            few = self.new(f"BitwiseAnd %i32 {value} {self.constant(0xFFFF)}")
            value = self.new(f"ConvertSToF %f32 {few}")
        elif tile.type != "i32":
            value = self.new(f"UConvert %{tile.type} {value}")
        self.lines.append(f"OpStore {self.address(tile, place)} {value} Aligned {KINDS[tile.type](0).itemsize}")

    def clear(self, tile: Tile, place: str) -> None:
        self.put(tile, place, place)

    def own(self, tile: Tile, dx: int = 0, dy: int = 0) -> str:
        """The place of the work-item's own element, or of one beside it."""
        down = self.times(self.add("%ly", tile.margin + dy), tile.pitch)
        return self.add(down, self.add("%lx", tile.margin + dx))

    def barrier(self) -> None:
        self.lines.append("OpControlBarrier %group_scope %group_scope %local_fence")

    def size(self, axis: int) -> str:
        return self.constant(self.group[axis]) if self.written_sizes else ("%sx", "%sy")[axis]

    # Phases: each begins where nobody reads the tile any more, and ends with a barrier

    def fill(self, tile: Tile) -> None:
        if tile.margin == 0 and self.choices.chance(70):
            self.put(tile, self.own(tile), self.choices.one_of([self.values[-1], self.load_data("%x", "%y", False)]))
            return
        match self.choices.one_of(["rows", "rows", "line", *(["edges"] if self.cleared else [])]):
            case "rows":
                self.fill_rows(tile)
            case "line":
                self.fill_line(tile)
            case "edges":
                self.fill_edges(tile)

    def margin_value(self, tile: Tile, column: str, row: str) -> str:
        """What the element in this column and row of the tile gets: clamped at the edges, or 0 beyond them."""
        x = self.add("%cornerx", self.add(column, -tile.margin))
        y = self.add("%cornery", self.add(row, -tile.margin))
        if self.choices.chance(50):
            return self.load_data(x, y, clamped=True)
        inside = self.new(f"ULessThan %bool {x} {self.constant(self.width)}")
        inside = self.new(f"LogicalAnd %bool {inside} {self.new(f'ULessThan %bool {y} {self.constant(self.height)}')}")
        return self.guarded(inside, lambda: self.load_data(x, y, clamped=False), self.constant(0), "i32")

    def strided(self, first: str, end: int, step: str, turn: Callable[[str], None]) -> None:
        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"SLessThan %bool {carried[0]} {self.constant(end)}")

        def body(carried: Sequence[str]) -> list[str]:
            turn(carried[0])
            return [self.add(carried[0], step)]

        self.loop_of([("i32", first)], goes_on, body, rotated=self.choices.chance(50))

    def fill_rows(self, tile: Tile) -> None:
        def row(down: str) -> None:
            def element(along: str) -> None:
                place = self.add(self.times(down, tile.pitch), along)
                self.put(tile, place, self.margin_value(tile, along, down))

            self.strided("%lx", self.columns + 2 * tile.margin, self.size(0), element)

        self.strided("%ly", tile.rows, self.size(1), row)

    def fill_line(self, tile: Tile) -> None:
        """Element by element, whatever its row."""

        def element(place: str) -> None:
            row = self.new(f"SDiv %i32 {place} {self.constant(tile.pitch)}")
            column = self.new(f"SRem %i32 {place} {self.constant(tile.pitch)}")
            self.put(tile, place, self.margin_value(tile, column, row))

        self.strided("%id", tile.count, self.constant(self.items), element)

    def fill_edges(self, tile: Tile) -> None:
        """The own element, and those of the margin by the work-items that are near it."""
        self.put(tile, self.own(tile), self.load_data("%x", "%y", clamped=False))
        if tile.margin == 0:
            return
        near = self.new(f"SLessThan %bool %lx {self.constant(min(tile.margin, self.columns))}")

        def sides() -> None:
            for dx in (-tile.margin, self.columns):
                column = self.add("%lx", tile.margin + dx)
                row = self.add("%ly", tile.margin)
                self.put(tile, self.add(self.times(row, tile.pitch), column), self.margin_value(tile, column, row))

        self.when(near, sides)

    def exchange(self) -> None:
        """Everybody's latest value takes the place of the own element."""
        tile = self.choices.one_of(self.tiles)
        if tile.margin and not self.cleared:
            return
        self.put(tile, self.own(tile), self.number())
        self.barrier()
        self.look(tile)
        self.barrier()

    def tree(self) -> None:
        """Sums, of which half of the work-items that are left are added at every step."""
        tile = next((each for each in self.tiles if each.count >= self.items), None)
        if tile is None or self.items & (self.items - 1):
            return
        self.put(tile, "%id", self.number())
        self.barrier()

        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"SGreaterThan %bool {carried[0]} {self.constant(0)}")

        def step(carried: Sequence[str]) -> list[str]:
            def combine() -> None:
                other = self.read(tile, self.add("%id", carried[0]))
                self.put(tile, "%id", self.new(f"IAdd %i32 {self.read(tile, '%id')} {other}"))

            self.when(self.new(f"SLessThan %bool %id {carried[0]}"), combine)
            self.barrier()
            return [self.new(f"ShiftRightLogical %i32 {carried[0]} {self.constant(1)}")]

        self.loop_of([("i32", self.constant(self.items // 2))], goes_on, step, rotated=self.choices.chance(50))
        self.values.append(self.read(tile, self.choices.one_of([self.constant(0), "%id"])))
        self.barrier()

    def scan(self) -> None:
        """Each work-item adds what another one, so far before it, has so far."""
        tile = next((each for each in self.tiles if each.count >= self.items), None)
        if tile is None:
            return
        self.put(tile, "%id", self.number())
        self.barrier()

        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"SLessThan %bool {carried[0]} {self.constant(self.items)}")

        def step(carried: Sequence[str]) -> list[str]:
            distance = carried[0]
            far = self.new(f"SGreaterThanEqual %bool %id {distance}")
            before = self.new(f"ISub %i32 %id {distance}")
            found = self.guarded(far, lambda: self.read(tile, before), self.constant(0), "i32")
            self.barrier()
            self.put(tile, "%id", self.new(f"IAdd %i32 {self.read(tile, '%id')} {found}"))
            self.barrier()
            return [self.times(distance, 2)]

        self.loop_of([("i32", self.constant(1))], goes_on, step, rotated=self.choices.chance(50))
        self.values.append(self.read(tile, "%id"))
        self.barrier()

    # Reading

    def look(self, tile: Tile) -> None:
        match self.choices.one_of(["window", "window", "window", "turned", "xor", "sum", "any"]):
            case "window" if tile.margin:
                self.window(tile)
            case "sum":
                self.along(tile)
            case "xor":
                by = self.choices.one_of([1, 3, 5, 7])
                other = self.new(f"BitwiseXor %i32 %lx {self.constant(by)}")
                other = self.new(f"ExtInst %i32 %cl s_min {other} {self.constant(self.columns - 1)}")
                place = self.add(self.times(self.add("%ly", tile.margin), tile.pitch), self.add(other, tile.margin))
                self.values.append(self.read(tile, place))
            case "turned":
                back = self.new(f"ISub %i32 {self.constant(self.columns - 1 + tile.margin)} %lx")
                down = self.new(f"ISub %i32 {self.constant(self.rows - 1 + tile.margin)} %ly")
                self.values.append(self.read(tile, self.add(self.times(down, tile.pitch), back)))
            case _:
                held = self.inside(tile, self.number(), self.number())
                self.values.append(self.read(tile, held))

    def inside(self, tile: Tile, column: str, row: str) -> str:
        """A place that is written: own elements are, whatever the way to fill."""
        column = self.new(f"ExtInst %i32 %cl s_clamp {column} {self.constant(0)} {self.constant(self.columns - 1)}")
        row = self.new(f"ExtInst %i32 %cl s_clamp {row} {self.constant(0)} {self.constant(self.rows - 1)}")
        return self.add(self.times(self.add(row, tile.margin), tile.pitch), self.add(column, tile.margin))

    def window(self, tile: Tile) -> None:
        total = self.constant(0)
        span = range(-tile.margin, tile.margin + 1)
        if tile.margin == 1 or self.choices.chance(30):
            places = [(dx, dy) for dy in span for dx in span]
        else:
            places = [(dx, 0) for dx in span] + [(0, dy) for dy in span if dy]
        for dx, dy in places:
            found = self.read(tile, self.own(tile, dx, dy))
            total = self.add(total, self.times(found, self.choices.one_of([1, 2, 1, -1])))
        self.values.append(total)

    def along(self, tile: Tile) -> None:
        """A loop over the row or the column of the group, of a constant or an asked for length."""
        across = self.choices.chance(50)

        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"SLessThan %bool {carried[0]} {self.size(int(not across))}")

        def body(carried: Sequence[str]) -> list[str]:
            counter, total = carried
            pair = (counter, "%ly") if across else ("%lx", counter)
            found = self.read(tile, self.inside(tile, *pair) if self.choices.chance(20) else self.plain(tile, *pair))
            return [self.add(counter, 1), self.add(total, found)]

        first = [("i32", self.constant(0)), ("i32", self.number())]
        self.values.append(self.loop_of(first, goes_on, body, rotated=self.choices.chance(50))[1])

    def plain(self, tile: Tile, column: str, row: str) -> str:
        return self.add(self.times(self.add(row, tile.margin), tile.pitch), self.add(column, tile.margin))

    # The kernel

    def phase(self) -> None:
        match self.choices.weighted([(4, "fill"), (1, "exchange"), (1, "tree"), (1, "scan"), (1, "values")]):
            case "fill":
                tile = self.choices.one_of(self.tiles)
                self.fill(tile)
                self.barrier()
                for _ in range(self.choices.number(1, 2)):
                    self.look(tile)
                if self.phases > 1:
                    self.barrier()
            case "exchange":
                self.exchange()
            case "tree":
                self.tree()
            case "scan":
                self.scan()
            case "values":
                self.values.append(self.value())

    def repeated(self) -> None:
        """Phases in a loop, which all work-items of a group run as often."""
        turns = self.choices.one_of([self.constant(2), "%turns", self.constant(3)])
        kept = len(self.values)

        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"SLessThan %bool {carried[0]} {turns}")

        def body(carried: Sequence[str]) -> list[str]:
            counter, total = carried
            self.values += [counter, total]
            for _ in range(self.choices.number(1, 2)):
                self.phase()
            last = self.values[-1]
            del self.values[kept:]
            return [self.add(counter, 1), self.add(total, last)]

        first = [("i32", self.constant(0)), ("i32", self.number())]
        self.values.append(self.loop_of(first, goes_on, body, rotated=self.choices.chance(50))[1])

    def write(self) -> None:
        if self.cleared:
            for tile in self.tiles:
                self.strided("%id", tile.count, self.constant(self.items), partial(self.clear, tile))
            self.barrier()
        for _ in range(self.phases):
            self.repeated() if self.phases > 1 and self.choices.chance(25) else self.phase()

        def store() -> str:
            there = self.new(f"InBoundsPtrAccessChain %global_i32 %out {self.new(f'SConvert %i64 {self.place()}')}")
            total = self.values[-1]
            for each in self.values[-3:-1]:
                total = self.new(f"BitwiseXor %i32 {self.times(total, 3)} {each}")
            self.lines.append(f"OpStore {there} {total} Aligned 4")
            return total

        if self.choices.chance(40):
            holds = self.new(f"SLessThan %bool %x {self.constant(self.width - self.choices.one_of([1, 3, 0]))}")
            self.when(holds, store)
        else:
            store()

    def place(self) -> str:
        return self.add(self.times("%y", self.width), "%x")

    def text(self) -> str:
        inputs = {
            "gid": "GlobalInvocationId",
            "lid": "LocalInvocationId",
            "group": "WorkgroupId",
            "sizes": "WorkgroupSize",
        }
        used = {each.type for each in self.tiles}
        first = []
        for axis, letter in enumerate("xy"):
            for name, value in {"gid": "", "lid": "l", "sizes": "s", "group": "g"}.items():
                first += [f"%w{value}{letter} = OpCompositeExtract %i64 %{name}v {axis}"]
                first += [f"%{value}{letter} = OpUConvert %i32 %w{value}{letter}"]
            first += [f"%corner{letter} = OpIMul %i32 %g{letter} {self.size(axis)}"]
        lines = [
            PROLOGUE,
            f'OpEntryPoint Kernel %main "main" {" ".join(f"%{each}" for each in inputs)}',
            "OpExecutionMode %main ContractionOff",
            *(f"OpDecorate %{each} BuiltIn {name}" for each, name in inputs.items()),
            TYPES,
            "%group_scope = OpConstant %i32 2",
            "%local_fence = OpConstant %i32 0x110",
            *(f"%local_{each} = OpTypePointer Workgroup %{each}" for each in sorted(used - {"i32"})),
            *(f"{name} = OpConstant %i32 {value % (1 << 32)}" for name, value in self.constants.items()),
        ]
        for tile in self.tiles:
            lines += [
                f"{tile.name}_count = OpConstant %i64 {tile.count}",
                f"{tile.name}_type = OpTypeArray %{tile.type} {tile.name}_count",
                f"{tile.name}_pointer = OpTypePointer Workgroup {tile.name}_type",
                f"{tile.name} = OpVariable {tile.name}_pointer Workgroup",
            ]
        lines += [
            *(f"%{each} = OpVariable %input_v3i64 Input" for each in inputs),
            "%main_type = OpTypeFunction %void %global_i32 %global_i32 %i32",
            "%main = OpFunction %void None %main_type",
            "%out = OpFunctionParameter %global_i32",
            "%data = OpFunctionParameter %global_i32",
            "%turns = OpFunctionParameter %i32",
            "%entry = OpLabel",
            *(f"%{each}v = OpLoad %v3i64 %{each}" for each in inputs),
            *first,
            f"%down = OpIMul %i32 %ly {self.size(0)}",
            "%id = OpIAdd %i32 %down %lx",
            "OpBranch %start",
            "%start = OpLabel",
            *self.lines,
            "OpReturn",
            "OpFunctionEnd",
        ]
        return "\n".join(lines)

    def program(self) -> Program:
        shape = Shape((self.width, self.height, 1), (*self.group, 1), (0, 0, 0), 0)
        data = np.random.default_rng(self.count).integers(-999, 999, shape.items, np.int32)
        arguments: list[Any] = [np.zeros(shape.items, np.int32), data, np.int32(self.choices.one_of([2, 1, 0, 3]))]
        return Program(self.text(), arguments, [], shape)


@st.composite
def tiles(draw: DrawFn) -> Program:
    writer = Writer(Choices(draw))
    writer.write()
    return writer.program()
