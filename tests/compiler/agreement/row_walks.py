"""Random kernels whose work-items go along rows of matrices: they read, add up, write in place, and write columns.

Every work-item writes its own rows only, and reads those of others in matrices that nobody writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.spirv_text import Text
from tests.compiler.samples import PROLOGUE, TYPES

ROOM = 8
"""Elements on both sides of a row: neighbours of its elements are its own as well."""
KINDS = {"i32": np.int32, "f32": np.float32, "i8": np.int8, "i16": np.int16, "i64": np.int64, "f64": np.float64}
STARTS = [0, 1, 3]
STEPS = [1, 1, 1, -1, 2]


@dataclass(frozen=True)
class Matrix:
    """A parameter; `written` means that rows are read and written by their own work-items only."""

    name: str
    type: str
    written: bool


class Writer(Text):
    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.items = choices.one_of([40, 16, 33, 64, 70])
        self.elements = choices.chance(35)
        """Has each work-item a single element of the written matrices, as in a product of matrices?"""
        self.rows_first = choices.chance(40)
        self.columns = choices.one_of([6, 4, 1]) if self.elements else 1
        self.length = choices.one_of([9, 16, 17, 24, 5, 35, 0, 1, 8])
        self.pitch = self.length + 2 * ROOM + choices.one_of([0, 0, 1, 7])
        type_ = choices.one_of(["i32", "i32", "f32", "i8", "i16", "i64", "f64"])
        other = choices.one_of([type_, type_, "i32", "f32"])
        self.matrices = [Matrix("%out", type_, True), Matrix("%in", other, False)]
        if choices.chance(60):
            self.matrices.append(Matrix("%more", choices.one_of([type_, other]), choices.chance(50)))
        self.wide = choices.chance(40)
        """Are indices of 64 bits?"""
        self.second = choices.chance(30)
        """Do some accesses of written matrices begin at an offset that is known at run time only?"""
        self.values = ["%i"]

    # Numbers: values are i32, which every matrix can hold exactly after a mask

    def constant(self, value: int) -> str:
        return f"%n{value}" if value >= 0 else f"%m{-value}"

    def add(self, one: str, other: str) -> str:
        return self.new(f"IAdd %i32 {one} {other}")

    def number(self) -> str:
        if self.choices.chance(15):
            return self.constant(self.choices.one_of([1, 0, 2, 3, 5, 7, -1, -2]))
        return self.choices.one_of(self.values[-4:] + self.values[:2])

    def value(self) -> str:
        match self.choices.one_of(["sum", "product", "select", "held"]):
            case "sum":
                return self.new(
                    f"{self.choices.one_of(['IAdd', 'ISub', 'BitwiseXor'])} %i32 {self.number()} {self.number()}"
                )
            case "product":
                return self.new(f"IMul %i32 {self.number()} {self.constant(self.choices.one_of([3, 5, -1, 7]))}")
            case "select":
                return self.new(f"Select %i32 {self.condition()} {self.number()} {self.number()}")
        name = self.choices.one_of(["s_max", "s_min", "u_min"])
        return self.new(f"ExtInst %i32 %cl {name} {self.number()} {self.number()}")

    def condition(self) -> str:
        name = self.choices.one_of(["SLessThan", "SGreaterThan", "INotEqual", "ULessThan"])
        return self.new(f"{name} %bool {self.number()} {self.number()}")

    # Accesses

    def address(self, matrix: Matrix, row: str, column: str, moved: bool = False) -> str:
        """Of an element, by 32 or 64 bits; where `moved`, one that lies elsewhere in the same row."""
        shift = ["%shift"] if moved else []
        if self.wide:
            parts = [self.new(f"SConvert %i64 {each}") for each in (row, column, *shift)]
            place = self.new(f"IMul %i64 {parts[0]} %widepitch")
            for each in parts[1:]:
                place = self.new(f"IAdd %i64 {place} {each}")
        else:
            place = self.new(f"IMul %i32 {row} %pitch")
            for each in (column, *shift):
                place = self.add(place, each)
            place = self.new(f"SConvert %i64 {place}")
        return self.new(f"InBoundsPtrAccessChain %global_{matrix.type} {matrix.name} {place}")

    def load(self, matrix: Matrix, address: str) -> str:
        found = self.new(f"Load %{matrix.type} {address} Aligned {KINDS[matrix.type](0).itemsize}")
        if matrix.type in ("f32", "f64"):
            return self.new(f"ConvertFToS %i32 {found}")
        if matrix.type == "i32":
            return found
        return self.new(f"{'UConvert' if matrix.type == 'i64' else 'SConvert'} %i32 {found}")

    def store(self, matrix: Matrix, address: str, value: str) -> None:
        if matrix.type in ("f32", "f64"):
            few = self.new(f"BitwiseAnd %i32 {value} %mask")
            value = self.new(f"ConvertSToF %{matrix.type} {few}")
        elif matrix.type != "i32":
            value = self.new(f"{'SConvert' if matrix.type == 'i64' else 'UConvert'} %{matrix.type} {value}")
        self.lines.append(f"OpStore {address} {value} Aligned {KINDS[matrix.type](0).itemsize}")

    def beside(self, column: str) -> str:
        """The column itself, or one near it."""
        by = self.choices.one_of([0, 0, 0, 1, -1, 2, 4, -3])
        return column if by == 0 else self.add(column, self.constant(by))

    def read(self, counter: str, column: str) -> str:
        matrix = self.choices.one_of(self.matrices)
        if matrix.written:
            return self.load(matrix, self.own(matrix, column, self.second and self.choices.chance(40)))
        match self.choices.one_of(["row", "row", "row", "vector", "column", "other"]):
            case "row":
                return self.load(matrix, self.address(matrix, "%i", self.beside(column)))
            case "vector":
                return self.load(matrix, self.address(matrix, self.constant(0), self.beside(column)))
            case "other":
                return self.load(matrix, self.address(matrix, "%j", column))
        # Down a column: rows are as many as there are work-items, and some more.
        row = self.new(f"BitwiseAnd %i32 {counter} {self.constant(7)}")
        return self.load(matrix, self.address(matrix, row, self.choices.one_of(["%place", "%place", column])))

    def own(self, matrix: Matrix, column: str, moved: bool) -> str:
        """The address of an element that no other work-item touches."""
        if self.elements:
            return self.address(matrix, "%i", "%place")
        return self.address(matrix, "%i", self.beside(column), moved)

    def put(self, column: str) -> None:
        written = [each for each in self.matrices if each.written]
        matrix = self.choices.one_of(written)
        address = self.own(matrix, column, self.second and self.choices.chance(25))
        if self.choices.chance(25):
            holds = self.condition()
            self.when(holds, lambda: self.store(matrix, address, self.number()))
        elif self.choices.chance(30):
            self.store(matrix, address, self.add(self.load(matrix, address), self.number()))
        else:
            self.store(matrix, address, self.number())

    def put_turned(self, counter: str) -> None:
        """At the place of the work-item in a column, which no other one has."""
        place = self.add(self.new(f"IMul %i32 {counter} %items"), "%i")
        there = self.new(f"InBoundsPtrAccessChain %global_i32 %turned {self.new(f'SConvert %i64 {place}')}")
        self.lines.append(f"OpStore {there} {self.number()} Aligned 4")

    # Loops

    def limit(self) -> str:
        """How far a row goes: as far as all, or each work-item on its own."""
        if self.choices.chance(75):
            return "%length"
        few = self.new(f"BitwiseAnd %i32 {self.number()} {self.constant(7)}")
        return self.new(f"ExtInst %i32 %cl s_min {few} %length")

    def walk(self, depth: int = 0) -> None:
        step = self.choices.one_of(STEPS)
        first, last = self.constant(self.choices.one_of(STARTS)), self.limit()
        if step < 0:
            first, last = self.new(f"ISub %i32 {last} {self.constant(1)}"), first
        sums = self.choices.weighted([(4, 1), (3, 2), (2, 0), (1, 4), (1, 9), (1, 20)]) if not depth else 1
        kept = len(self.values)

        def goes_on(carried: Sequence[str]) -> str:
            return self.new(f"{'SLessThan' if step > 0 else 'SGreaterThanEqual'} %bool {carried[0]} {last}")

        def turn(carried: Sequence[str]) -> list[str]:
            counter, totals = carried[0], list(carried[1:])
            column = self.add(counter, "%first")
            self.values += [counter, *totals[:1]]
            for _ in range(self.choices.number(1, 4)):
                self.step(counter, column, depth)
            found = self.read(counter, column)
            self.values.append(found)
            totals = [
                self.add(total, found if place == 0 else self.read(counter, column) if place < 6 else self.number())
                for place, total in enumerate(totals)
            ]
            del self.values[kept:]
            return [self.add(counter, self.constant(step)), *totals]

        carried = [("i32", first), *(("i32", self.number()) for _ in range(sums))]
        self.values += self.loop_of(carried, goes_on, turn, rotated=self.choices.chance(60))[1:]

    def step(self, counter: str, column: str, depth: int) -> None:
        options = [(4, "read"), (3, "value"), (3, "put"), (1, "turned"), (0 if depth else 1, "walk"), (1, "when")]
        match self.choices.weighted(options):
            case "read":
                self.values.append(self.read(counter, column))
            case "value":
                self.values.append(self.value())
            case "put":
                self.put(column)
            case "turned" if depth == 0 and not self.elements:
                self.put_turned(counter)
            case "walk":
                self.walk(depth + 1)
            case "when":
                holds = self.condition()
                self.values.append(self.guarded(holds, lambda: self.read(counter, column), self.number(), "i32"))

    def write(self) -> None:
        def inside() -> None:
            for _ in range(self.choices.one_of([1, 1, 2])):
                self.walk()
            total = self.values[-1]
            for each in self.values[1:-1]:
                total = self.new(f"BitwiseXor %i32 {self.new(f'IMul %i32 {total} {self.constant(3)}')} {each}")
            place = self.add(self.new("IMul %i32 %i %first"), "%j")
            there = self.new(f"InBoundsPtrAccessChain %global_i32 %sums {self.new(f'SConvert %i64 {place}')}")
            self.lines.append(f"OpStore {there} {total} Aligned 4")

        if self.choices.chance(50):
            self.when(self.new("SLessThan %bool %i %items"), inside)
        else:
            inside()

    # The kernel

    def text(self) -> str:
        used = sorted({each.type for each in self.matrices} - {"i32", "f32"})
        numbers = [0, 1, 2, 3, 4, 5, 7]
        parameters = [(each.name, f"%global_{each.type}") for each in self.matrices]
        parameters += [("%sums", "%global_i32"), ("%turned", "%global_i32")]
        parameters += [(f"%{each}", "%i32") for each in ("length", "pitch", "items", "shift")]
        lines = [
            PROLOGUE,
            'OpEntryPoint Kernel %main "main" %gid',
            "OpExecutionMode %main ContractionOff",
            "OpDecorate %gid BuiltIn GlobalInvocationId",
            TYPES,
            *(f"%global_{each} = OpTypePointer CrossWorkgroup %{each}" for each in used),
            *(f"%n{each} = OpConstant %i32 {each}" for each in numbers),
            *(f"%m{each} = OpConstant %i32 {(1 << 32) - each}" for each in (1, 2, 3)),
            "%mask = OpConstant %i32 0xFFFF",
            f"%first = OpConstant %i32 {ROOM}",
            "%gid = OpVariable %input_v3i64 Input",
            f"%main_type = OpTypeFunction %void {' '.join(type_ for _, type_ in parameters)}",
            "%main = OpFunction %void None %main_type",
            *(f"{name} = OpFunctionParameter {type_}" for name, type_ in parameters),
            "%entry = OpLabel",
            "%ids = OpLoad %v3i64 %gid",
            "%g = OpCompositeExtract %i64 %ids 0",
            "%h = OpCompositeExtract %i64 %ids 1",
            f"%i = OpUConvert %i32 {'%g' if self.rows_first else '%h'}",
            f"%j = OpUConvert %i32 {'%h' if self.rows_first else '%g'}",
            "%place = OpIAdd %i32 %j %first",
            "%widepitch = OpSConvert %i64 %pitch",
            "OpBranch %start",
            "%start = OpLabel",
            *self.lines,
            "OpReturn",
            "OpFunctionEnd",
        ]
        return "\n".join(lines)

    def program(self) -> Program:
        size = (self.items, self.columns) if self.rows_first else (self.columns, self.items)
        rows = -(-self.items // 8) * 8 + 8
        random = np.random.default_rng(self.count)
        made = [random.integers(-99, 99, rows * self.pitch).astype(KINDS[each.type]) for each in self.matrices]
        turned = np.zeros(self.items * (self.length + 4), np.int32)
        shift = self.choices.one_of([0, 1, -1, 2, 3])
        numbers = [np.int32(each) for each in (self.length, self.pitch, self.items, shift)]
        arguments: list[Any] = [*made, np.zeros(rows * 8, np.int32), turned, *numbers]
        group = (1, self.items) if not self.rows_first else (self.items, 1)
        return Program(self.text(), arguments, [], Shape((*size, 1), (*group, 1), (0, 0, 0), 0))


@st.composite
def row_walks(draw: DrawFn) -> Program:
    writer = Writer(Choices(draw))
    writer.write()
    return writer.program()
