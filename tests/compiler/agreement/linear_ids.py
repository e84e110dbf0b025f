"""Random kernels of linear ids: one id numbers all elements, and is divided by lengths of rows and layers.

No work-item reads what another one writes: each has its own elements, or counts in any order.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.id_lengths import (
    COMPARISONS,
    CONSTANTS,
    FACTORS,
    ROOM,
    TABLE,
    WIDTH,
    Known,
    Launch,
    Lengths,
)
from tests.compiler.samples import PROLOGUE, TYPES


class Writer(Lengths):
    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self.atomic = choices.one_of(["AtomicIAdd", "AtomicSMax", "AtomicOr", "AtomicUMin", "AtomicXor"])
        """One for all: different ones would depend on their order."""
        self.id = self.make_id()
        self.index = self.low(*self.id)
        self.divided: list[tuple[str, str]] = [self.id]
        """Numbers that can be divided again: ids, and what is left of them."""
        self.pairs: list[tuple[str, str, Known]] = []
        """Columns and rows of the id itself, and their length."""
        self.turned = False
        self.values = [self.index]

    # Values

    def division(self) -> str:
        """Of an id, by a length: quotients, remainders, both in a form of compilers, or rounded down as in Python."""
        value, type_ = self.choices.one_of(self.divided[:1] * 4 + self.divided[-3:])
        by = self.divisor(type_)
        kind = self.choices.one_of(["Div", "Mod", "pair", "rest", "floor"])
        sign = "S" if self.choices.chance(60) else "U"
        rest = "SRem" if sign == "S" else "UMod"

        def quotient() -> str:
            return self.new(f"{sign}Div %{type_} {value} {by.name}")

        def remainder() -> str:
            return self.new(f"{rest} %{type_} {value} {by.name}")

        def inside() -> str:
            if kind == "Div":
                return quotient()
            if kind == "Mod":
                return remainder()
            if kind == "rest":
                return self.new(f"ISub %{type_} {value} {self.new(f'IMul %{type_} {quotient()} {by.name}')}")
            if kind == "floor":
                zero = "%c0" if type_ == "i32" else "%l0"
                left = remainder()
                signs = self.new(f"SLessThan %bool {self.new(f'BitwiseXor %{type_} {left} {by.name}')} {zero}")
                down = self.new(f"LogicalAnd %bool {signs} {self.new(f'INotEqual %bool {left} {zero}')}")
                below = self.new(f"ISub %{type_} {quotient()} {'%c1' if type_ == 'i32' else '%l1'}")
                return self.new(f"Select %{type_} {down} {below} {quotient()}")
            row, column = quotient(), remainder()
            found = self.low(column, type_), self.low(row, type_)
            self.values += found
            if (value, type_) == self.id:
                self.pairs.append((*found, by))
            return row

        if 0 not in by.values:
            found = inside()
        else:
            if kind == "pair":
                kind = "Mod"
            zero = "%c0" if type_ == "i32" else "%l0"
            holds = self.new(f"{self.choices.one_of(['INotEqual', 'SGreaterThan'])} %bool {by.name} {zero}")
            found = self.guarded(holds, inside, value, type_)
        self.divided.append((found, type_))
        return self.low(found, type_)

    def number(self) -> str:
        if self.choices.chance(20):
            return self.constant()
        return self.choices.one_of(self.values[-5:] + self.values[:2])

    def constant(self) -> str:
        return f"%k{self.choices.number(0, len(CONSTANTS) - 1)}"

    def uniform(self) -> str:
        """A bound of columns or rows."""
        factors = self.choices.one_of([("w",), ("h",), ("n",), ("m",), ("w", "h")])
        return self.known(factors, "i32").name

    def condition(self) -> str:
        kind = self.choices.one_of(["bound", "edge", "numbers"])
        if kind == "bound":
            return self.in_bounds()
        pair = [self.number(), self.uniform() if kind == "edge" else self.number()]
        if self.choices.chance(25):
            pair.reverse()
        return self.new(f"{self.choices.one_of(COMPARISONS)} %bool {pair[0]} {pair[1]}")

    def in_bounds(self) -> str:
        """Is the id one of an element?"""
        type_ = self.choices.one_of(["i32", "i64"])
        value, its = self.id
        if its != type_:
            name = "UConvert" if type_ == "i32" or self.choices.chance(50) else "SConvert"
            value = self.new(f"{name} %{type_} {value}")
        limit = self.known(self.bound if self.choices.chance(85) else self.choices.one_of([("w", "h"), ("n",)]), type_)
        how = self.choices.one_of(COMPARISONS[:2] * 3 + COMPARISONS[2:4])
        if self.choices.chance(30):
            swapped = how.replace("Less", "Greater")
            return self.new(f"{swapped} %bool {limit.name} {value}")
        return self.new(f"{how} %bool {value} {limit.name}")

    def value(self) -> str:
        options = [(6, "division"), (3, "sum"), (2, "held"), (1, "select"), (4, "load"), (1, "array"), (1, "vector")]
        match self.choices.weighted(options):
            case "division":
                return self.division()
            case "sum":
                name = self.choices.one_of(["IAdd", "ISub", "IMul", "BitwiseAnd", "BitwiseXor"])
                other = self.uniform() if self.choices.chance(30) else self.number()
                return self.new(f"{name} %i32 {self.number()} {other}")
            case "held":
                name = self.choices.one_of(["s_max", "s_min", "u_min", "u_max"])
                return self.new(f"ExtInst %i32 %cl {name} {self.number()} {self.uniform()}")
            case "select":
                return self.new(f"Select %i32 {self.condition()} {self.number()} {self.number()}")
            case "array":
                return self.array()
            case "vector":
                return self.vector()
        return self.load()

    def held(self, value: str, last: int) -> str:
        """Within a table, and mostly a neighbour's place."""
        moved = value
        if self.choices.chance(60):
            moved = self.new(f"IAdd %i32 {value} {self.constant()}")
        clamped = self.new(f"ExtInst %i32 %cl s_clamp {moved} %c0 %c{last}")
        return self.new(f"SConvert %i64 {clamped}")

    def load(self) -> str:
        there = self.new(f"InBoundsPtrAccessChain %global_i32 %table {self.held(self.number(), TABLE - 1)}")
        return self.new(f"Load %i32 {there} Aligned 4")

    def array(self) -> str:
        """An element of a private array that was written before."""
        for value in (self.number(), self.number()):
            place = self.new(f"BitwiseAnd %i32 {self.number()} %c3")
            there = self.new(f"InBoundsAccessChain %private_i32 %array {place}")
            self.lines.append(f"OpStore {there} {value} Aligned 4")
        place = self.new(f"BitwiseAnd %i32 {self.number()} %c3")
        there = self.new(f"InBoundsAccessChain %private_i32 %array {place}")
        return self.new(f"Load %i32 {there} Aligned 4")

    def vector(self) -> str:
        """Two neighbours, of which a vector at the id's own place is made."""
        pairs = self.new("Bitcast %global_v2i32 %table")
        there = self.new(f"InBoundsPtrAccessChain %global_v2i32 {pairs} {self.held(self.number(), 31)}")
        loaded = self.new(f"Load %v2i32 {there} Aligned 8")
        made = self.new(f"CompositeConstruct %v2i32 {self.number()} {self.number()}")
        both = self.new(f"IAdd %v2i32 {loaded} {made}")
        own = self.new(f"InBoundsPtrAccessChain %global_v2i32 %vectors {self.wide_index()}")
        self.lines.append(f"OpStore {own} {both} Aligned 8")
        return self.new(f"CompositeExtract %i32 {both} {self.choices.number(0, 1)}")

    def wide_index(self) -> str:
        value, type_ = self.id
        return value if type_ == "i64" else self.new(f"{'US'[self.choices.chance(50)]}Convert %i64 {value}")

    # Statements

    def statements(self, depth: int = 0) -> None:
        for _ in range(self.choices.number(1, 4)):
            deep = depth >= 2
            options = [(6, "value"), (3, "store"), (0 if deep else 2, "if"), (0 if deep else 2, "loop"), (1, "atomic")]
            match self.choices.weighted([*options, (2, "transposed")]):
                case "value":
                    self.values.append(self.value())
                case "store":
                    self.store()
                case "if":
                    self.branch(depth)
                case "loop":
                    self.loop(depth)
                case "atomic":
                    self.count_it()
                case "transposed":
                    self.transposed()

    def store(self) -> None:
        there = self.new(f"InBoundsPtrAccessChain %global_i32 %out {self.wide_index()}")
        value = self.number()
        if self.choices.chance(30) and all(launch.height == 1 for launch in self.launches):
            value = self.new(f"IAdd %i32 {self.new(f'Load %i32 {there} Aligned 4')} {value}")
        self.lines.append(f"OpStore {there} {value} Aligned 4")

    def count_it(self) -> None:
        there = self.new(f"InBoundsPtrAccessChain %global_i32 %counts {self.held(self.number(), TABLE - 1)}")
        self.lines.append(f"%a{self.count} = Op{self.atomic} %i32 {there} %c1 %c0 {self.number()}")

    def transposed(self) -> None:
        """A store at a place that no other work-item has: columns of so many rows, one matrix for all of the kernel."""
        if self.turned or not self.pairs:
            return
        self.turned = True
        column, row, length = self.choices.one_of(self.pairs)
        height = self.known(self.choices.one_of([("h",), ("w",), ()]), "i32")
        place = self.new(f"IAdd %i32 {self.new(f'IMul %i32 {column} {height.name}')} {row}")

        def write() -> str:
            there = self.new(f"InBoundsPtrAccessChain %global_i32 %turned {self.new(f'SConvert %i64 {place}')}")
            self.lines.append(f"OpStore {there} {self.number()} Aligned 4")
            return "%c0"

        if all(map(self.fits, length.values, height.values, self.launches)):
            write()
            return
        holds = self.new(f"ULessThan %bool {row} {height.name}")
        for value, limit in ((column, "%c32"), (row, "%c32"), (height.name, "%c32")):
            holds = self.new(f"LogicalAnd %bool {holds} {self.new(f'ULessThan %bool {value} {limit}')}")
        self.guarded(holds, write, "%c1", "i32")

    @staticmethod
    def fits(length: int, height: int, launch: Launch) -> bool:
        last = launch.size + launch.offset - 1
        return 0 < length < 512 and last // length < height and (min(length, last + 1) - 1) * height + height <= ROOM

    def branch(self, depth: int) -> None:
        condition, other = self.condition(), self.number()
        kept = len(self.values), len(self.divided), len(self.pairs)

        def inside() -> str:
            self.statements(depth + 1)
            return self.values[-1]

        # What is known inside is not known behind it.
        value = self.guarded(condition, inside, other, "i32")
        self.forget(kept)
        self.values.append(value)

    def forget(self, kept: tuple[int, int, int]) -> None:
        del self.values[kept[0] :], self.divided[kept[1] :], self.pairs[kept[2] :]

    def loop(self, depth: int) -> None:
        """A sum along a row or column."""
        turns = f"%c{self.choices.number(1, 3)}"
        if self.choices.chance(60):
            turns = self.new(f"ExtInst %i32 %cl s_clamp {self.uniform()} %c0 %c5")
        self.count += 1
        name, before = self.count, self.label
        self.lines.append(f"OpBranch %head{name}")
        self.begin(f"%head{name}")
        self.lines += [f"%j{name} = OpPhi %i32 %c0 {before} %next{name} %turn{name}"]
        self.lines += [f"%sum{name} = OpPhi %i32 %c0 {before} %more{name} %turn{name}"]
        self.lines += [f"%again{name} = OpSLessThan %bool %j{name} {turns}"]
        self.lines += [f"OpBranchConditional %again{name} %body{name} %out{name}"]
        self.begin(f"%body{name}")
        kept = len(self.values), len(self.divided), len(self.pairs)
        product = self.new(f"IMul %i32 {self.number()} {self.uniform()}")
        self.values += [f"%j{name}", self.new(f"IAdd %i32 {product} %j{name}")]
        self.values.append(self.load())
        if self.choices.chance(40):
            self.statements(depth + 1)
        last = self.values[-1]
        self.lines.append(f"OpBranch %turn{name}")
        self.begin(f"%turn{name}")
        self.lines += [f"%more{name} = OpIAdd %i32 %sum{name} {last}", f"%next{name} = OpIAdd %i32 %j{name} %c1"]
        self.lines += [f"OpBranch %head{name}"]
        self.forget(kept)
        self.begin(f"%out{name}")
        self.values.append(f"%sum{name}")

    def leave(self) -> None:
        """Work-items beyond the bound end here."""
        condition = self.in_bounds()
        for _ in range(self.choices.one_of([0, 0, 0, 1])):
            condition = self.new(f"LogicalAnd %bool {condition} {self.in_bounds()}")
        self.count += 1
        label = f"%going{self.count}"
        if self.choices.chance(50):
            self.lines.append(f"OpBranchConditional {condition} {label} %leave")
        else:
            not_ = self.new(f"LogicalNot %bool {condition}")
            self.lines.append(f"OpBranchConditional {not_} %leave {label}")
        self.begin(label)

    def write(self) -> None:
        bounds = self.choices.one_of([[0], [0], [], [1], [0, 1]])
        for part in range(2):
            if part in bounds:
                self.leave()
            self.values.append(self.division())
            self.statements()
        self.store()

    def text(self) -> str:
        pairs = {f"%c{each}": ("i32", each) for each in [5, 10, 16, 31, 32, 40, 63, 64, 80, 128]}
        pairs |= {f"%l{each}": ("i64", each) for each in [7, 10, 16, 40, 64, 80, 128]}
        pairs |= {f"%k{place}": ("i32", each % (1 << 32)) for place, each in enumerate(CONSTANTS)}
        parameters = [("%out", "%global_i32"), *((f"%{each}", f"%{self.types[each]}") for each in FACTORS)]
        parameters += [(f"%{each}", "%global_i32") for each in ("table", "counts", "turned")]
        parameters += [("%vectors", "%global_v2i32")]
        inputs = {"gid": "GlobalInvocationId", "gids": "WorkgroupId", "lids": "LocalInvocationId"}
        inputs["sizes"] = "WorkgroupSize"
        grouped = any("%group" in line for line in self.lines)
        inputs = inputs if grouped else {"gid": inputs["gid"]}
        names = {"gid": "g", "gids": "group", "lids": "local", "sizes": "group_size"}
        first = []
        for each in inputs:
            first += [f"%{each}v = OpLoad %v3i64 %{each}", f"%{names[each]} = OpCompositeExtract %i64 %{each}v 0"]
        lines = [
            PROLOGUE,
            f'OpEntryPoint Kernel %main "main" {" ".join(f"%{each}" for each in inputs)}',
            "OpExecutionMode %main ContractionOff",
            *(f"OpDecorate %{each} BuiltIn {name}" for each, name in inputs.items()),
            *self.decorations,
            TYPES,
            "%global_v2i32 = OpTypePointer CrossWorkgroup %v2i32",
            *(f"{name} = OpConstant %{type_} {value}" for name, (type_, value) in pairs.items()),
            "%array_size = OpConstant %i32 4",
            "%four = OpTypeArray %i32 %array_size",
            "%private_four = OpTypePointer Function %four",
            *(f"%{each} = OpVariable %input_v3i64 Input" for each in inputs),
            f"%main_type = OpTypeFunction %void {' '.join(type_ for _, type_ in parameters)}",
            "%main = OpFunction %void None %main_type",
            *(f"{name} = OpFunctionParameter {type_}" for name, type_ in parameters),
            "%entry = OpLabel",
            "%array = OpVariable %private_four Function",
            *first,
            *(f"%clear{each} = OpInBoundsAccessChain %private_i32 %array %c{each}" for each in range(4)),
            *(f"OpStore %clear{each} %c{each} Aligned 4" for each in range(4)),
            "OpBranch %start",
            "%start = OpLabel",
            *self.lines,
            "OpBranch %leave",
            "%leave = OpLabel",
            "OpReturn",
            "OpFunctionEnd",
        ]
        return "\n".join(lines)

    def program(self, text: str, launch: Launch) -> Program:
        kinds = {"i32": np.uint32, "i64": np.uint64}
        given = [kinds[self.types[each]](launch.numbers[each] % (1 << WIDTH[self.types[each]])) for each in FACTORS]
        buffers = [np.arange(100, 100 + TABLE, dtype=np.int32), np.full(TABLE, 9, np.int32), np.zeros(ROOM, np.int32)]
        arguments: list[Any] = [np.ones(ROOM, np.int32), *given, *buffers, np.zeros(2 * ROOM, np.int32)]
        size = (launch.size, launch.height, 1)
        group = gcd(launch.size, 32)
        return Program(text, arguments, [], Shape(size, (group, 1, 1), (launch.offset, 0, 0), 0))


@st.composite
def linear_ids(draw: DrawFn) -> list[Program]:
    """Launches of one kernel."""
    writer = Writer(Choices(draw))
    writer.write()
    text = writer.text()
    return [writer.program(text, launch) for launch in writer.launches]
