"""Random kernels that have one right answer: SPIR-V, arguments and a launch, for hypothesis to choose and to shrink.

Chapters register what they know to write: `expressions`, `memory`, `walks`, `flow`, `graphs`,
`groups`. A kernel may read its
inputs, has parts of the outputs to itself, and meets the other work-items only where all of them come; so nothing
depends on who runs first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.compiler.agreement import flow, graphs, groups, memory, walks
from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.expressions import any_type, leaf, value
from tests.compiler.agreement.function import Callee, Code, Shape
from tests.compiler.agreement.statements import statements
from tests.compiler.agreement.storage import Array, Buffer, Output, Place
from tests.compiler.agreement.writer import FLOATS, INTEGERS, WIDTH, Value, Writer, length, scalar, size

CHAPTERS = (flow, graphs, groups, memory, walks)
"""Importing them fills the tables of statements and expressions."""

BUDGET = 160
ITEMS = 96

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class LocalBytes:
    """An argument in local memory."""

    size: int


@dataclass(frozen=True, slots=True)
class Program:
    text: str
    arguments: list[Any] = field(repr=False)
    """Arrays, numbers, and LocalBytes."""
    floats: list[int]
    """Arguments in which one NaN is as good as another."""
    shape: Shape

    def fresh(self) -> list[Any]:
        """Arguments that nothing was written to yet."""
        return [each.copy() if isinstance(each, np.ndarray) else each for each in self.arguments]


@st.composite
def programs(draw: DrawFn, sub_groups: bool = False, budget: int = BUDGET) -> Program:
    """`budget` is about how many instructions there are; what is begun is finished."""
    return _Kernel(Choices(draw), sub_groups, budget).program()


class _Kernel:
    def __init__(self, draw: Choices, sub_groups: bool, budget: int) -> None:
        self.draw = draw
        self.budget = budget
        self.writer = Writer()
        self.shape = _shape(draw, sub_groups)
        self.arguments: list[Any] = []
        self.floats: list[int] = []
        self.parameters: list[tuple[str, str]] = []
        """Ids of their types, and their own."""

    def program(self) -> Program:
        callees: list[Callee] = []
        for _ in range(self.draw.one_of((0, 0, 1, 2))):
            callees.append(self._function(list(callees)))
        if callees and self.draw.chance(40):
            # With a twin that takes and gives the same, it can be called by its address.
            callees.append(self._function([], callees[-1]))
        code = Code(self.draw, self.writer, self.shape, self.budget, kernel=True, callees=callees)
        self._outputs(code)
        self._inputs(code)
        self._others(code)
        self._ids(code)
        memory.first_slots(code)
        self._first_values(code)
        _variables(code)
        statements(code, 3, 3 + self.budget // 20)
        _everything(code)
        code.line("OpReturn")
        types = [type_ for type_, _ in self.parameters]
        self.writer.functions += [
            f"%main = OpFunction %void None {self.writer.function_type('void', types)}",
            *(f"{id_} = OpFunctionParameter {type_}" for type_, id_ in self.parameters),
            "%entry = OpLabel",
            *code.variables,
            *code.lines,
            "OpFunctionEnd",
        ]
        return Program(self.writer.text("%main"), self.arguments, self.floats, self.shape)

    def _function(self, callees: list[Callee], like: Callee | None = None) -> Callee:
        writer = self.writer
        result = like.result if like else any_type(Code(self.draw, writer, self.shape, 0), vectors=False)
        name, entry = writer.name("function"), writer.name("entry")
        kinds = ("i32", result, "f32", "i64", "*i32")
        parameters = like.parameters if like else [self.draw.one_of(kinds) for _ in range(self.draw.number(1, 3))]
        code = Code(self.draw, writer, self.shape, self.budget // 4, result, label=entry, callees=callees)
        code.uniform, code.depth = False, 1
        ids, types = [], []
        for parameter in parameters:
            id_ = writer.name("p")
            if parameter[0] == "*":
                types.append(writer.pointer("Function", parameter[1:]))
                code.places.append(Place(id_, parameter[1:], False))
            else:
                types.append(writer.type(parameter))
                code.values.append(Value(id_, parameter))
            ids.append(id_)
        _variables(code)
        statements(code, 1, 3)
        code.line(f"OpReturnValue {value(code, result, 2).id}")
        writer.functions += [
            f"{name} = OpFunction {writer.type(result)} None {writer.function_type(result, types)}",
            *(f"{id_} = OpFunctionParameter {type_}" for type_, id_ in zip(types, ids, strict=True)),
            f"{entry} = OpLabel",
            *code.variables,
            *code.lines,
            "OpFunctionEnd",
        ]
        return Callee(name, result, parameters)

    def _parameter(self, type_: str, argument: Any, hint: str, floats: bool = False) -> str:
        id_ = self.writer.name(hint)
        self.parameters.append((type_, id_))
        if floats:
            self.floats.append(len(self.arguments))
        self.arguments.append(argument)
        return id_

    def _outputs(self, code: Code) -> None:
        layouts = ("rows", "columns", "rows32", "reversed", "reversed32", "scattered", "grid", "grid32", "columns32")
        for _ in range(self.draw.number(1, 3)):
            type_, members, packed = self._element(code)
            slots = self.draw.one_of((1, 2, 3, 4))
            bytes_ = _bytes_of(type_, members, packed)
            # Scattered slots are numbered up to the next power of two.
            count = (1 << (self.shape.items - 1).bit_length() if self.shape.items > 1 else 8) * slots
            array = np.zeros(max(count, 8 * slots) * bytes_, np.uint8)
            pointer = self.writer.pointer("CrossWorkgroup", type_)
            floats = not members and scalar(type_)[0] == "f"
            held = array.view(_dtype(scalar(type_))) if floats else array
            id_ = self._parameter(pointer, held, "out", floats)
            code.outputs.append(Output(id_, type_, slots, self.draw.one_of(layouts), members, packed))

    def _element(self, code: Code) -> tuple[str, tuple[str, ...], bool]:
        if self.draw.chance(15):
            members = tuple(self.draw.one_of(("i32", "i8", "i64", "i16", "v2i32", "v4i8")) for _ in range(3))
            packed = self.draw.chance(40)
            return self.writer.struct(members, packed), members, packed
        return any_type(code), (), False

    def _inputs(self, code: Code) -> None:
        for number in range(self.draw.number(1, 4)):
            type_, members, packed = self._element(code)
            wide = self.draw.chance(8) and not members and size(type_) <= 4
            count = 65536 if wide else 256
            held = _contents(number, type_, count * _bytes_of(type_, members, packed))
            id_ = self._parameter(self.writer.pointer("CrossWorkgroup", type_), held, "in")
            code.inputs.append(Buffer(id_, type_, count, members=members, packed=packed))
        for _ in range(self.draw.one_of((0, 0, 0, 1, 2))):
            type_ = any_type(code, vectors=False)
            array = self.writer.array(type_, 16)
            parts = [code.const(type_, (at * 37 + 11) % 101 - 50).id for at in range(16)]
            initial = self.writer.composite(array, parts)
            id_ = self.writer.variable(self.writer.name("table"), "UniformConstant", array, initial)
            code.inputs.append(Buffer(id_, type_, 16, "UniformConstant"))

    def _others(self, code: Code) -> None:
        for type_ in (("i32", "i64", "f32", "v4i32", "i16", "f64"))[: self.draw.number(0, 6)]:
            number = self.draw.one_of((0, 1, 3, 7, 100, -5))
            given = np.full(length(type_), number, _dtype(scalar(type_)))
            argument = given[0] if length(type_) == 1 else given
            code.values.append(Value(self._parameter(self.writer.type(type_), argument, "value"), type_, True))
        for _ in range(self.draw.one_of((0, 1, 2))):
            type_ = self.draw.one_of(("i32", "i64"))
            pointer = self.writer.pointer("CrossWorkgroup", type_)
            id_ = self._parameter(pointer, _contents(77, type_, 8 * size(type_)), "counter")
            code.counters.append(Buffer(id_, type_, 8))
        for number in range(self.draw.one_of((0, 1, 2))):
            type_ = any_type(code, vectors=False)
            items = self.shape.group_items
            if self.draw.chance(40):
                pointer = self.writer.pointer("Workgroup", type_)
                id_ = self._parameter(pointer, LocalBytes(items * size(type_)), "local")
                code.locals.append(Buffer(id_, type_, items, "argument"))
            else:
                array = self.writer.array(type_, items)
                id_ = self.writer.variable(f"%shared{number}", "Workgroup", array)
                code.locals.append(Buffer(id_, type_, items, "variable"))

    def _ids(self, code: Code) -> None:
        # Kernels that ask for nothing but global ids are run in another way.
        flat = not code.locals and not self.shape.sub_group and self.draw.chance(50)
        self._id(code, "linear", "GlobalLinearId")
        self._three(code, "global", "GlobalInvocationId", uniform=False)
        if not flat:
            self._three(code, "local", "LocalInvocationId", uniform=False)
            self._three(code, "group", "WorkgroupId", uniform=True)
            self._id(code, "local_linear", "LocalInvocationIndex")
        if self.shape.sub_group:
            found = code.load("i32", self.writer.builtin("SubgroupLocalInvocationId", "i32"))
            code.ids["lane"] = code.op("UConvert", "i64", found)

    def _first_values(self, code: Code) -> None:
        """Something of every type that differs between work-items, and something that does not."""
        numbers = code.op("IMul", "i64", code.ids["linear"], code.const("i64", 37))
        for type_ in (*INTEGERS, *FLOATS):
            memory.converted(code, numbers, type_)
        code.budget = self.budget

    def _three(self, code: Code, name: str, which: str, uniform: bool) -> None:
        found = code.load("v3i64", self.writer.builtin(which, "v3i64"))
        for at, axis in enumerate("xyz"):
            code.ids[f"{name}_{axis}"] = code.keep(
                code.emit("CompositeExtract", "i64", found.id, str(at), uniform=uniform)
            )

    def _id(self, code: Code, name: str, which: str) -> None:
        code.ids[name] = code.keep(code.load("i64", self.writer.builtin(which, "i64")))


def _shape(draw: Choices, sub_groups: bool) -> Shape:
    dimensions = draw.one_of((1, 1, 2, 3))
    group = [draw.one_of((1, 5, 8, 16, 17, 20, 33, 48)), draw.one_of((1, 2, 3)), draw.one_of((1, 2))]
    group = [*group[:dimensions], 1, 1, 1][:3]
    if sub_groups and draw.chance(50):
        group[0] = 32
    counts = [draw.number(1, 3) if axis < dimensions else 1 for axis in range(3)]
    while np.prod(group) * np.prod(counts) > ITEMS:
        axis = max(range(3), key=lambda each: counts[each])
        if counts[axis] > 1:
            counts[axis] -= 1
        else:
            group[0] = max(group[0] // 2, 1)
    offsets = (0, 0, 1, 7, 100, (1 << 31) - 8, (1 << 32) - 5)
    offset = [draw.one_of(offsets) if axis < dimensions else 0 for axis in range(3)]
    sizes = [each * count for each, count in zip(group, counts, strict=True)]
    lanes = draw.one_of((16, 8, 32, 4)) if sub_groups else 0
    return Shape(tuple(sizes), tuple(group), tuple(offset), lanes)  # type: ignore[arg-type]


def _variables(code: Code) -> None:
    """Private memory, with something in it."""
    writer = code.writer
    types = [any_type(code) for _ in range(code.draw.number(1, 4))]
    for type_ in ["i32", *types]:
        uniform = code.kernel and code.draw.chance(25)
        id_ = writer.name("variable")
        code.variables.append(f"{id_} = OpVariable {writer.pointer('Function', type_)} Function")
        code.store(id_, leaf(code, type_, uniform))
        code.places.append(Place(id_, type_, uniform))
    for _ in range(code.draw.one_of((0, 0, 1, 2))):
        type_ = any_type(code, vectors=False)
        count = code.draw.one_of((4, 8, 2, 16))
        array = writer.array(type_, count)
        initial = writer.composite(array, [leaf_constant(code, type_, at) for at in range(count)])
        id_ = writer.name("array")
        code.variables.append(f"{id_} = OpVariable {writer.pointer('Function', array)} Function {initial}")
        code.arrays.append(Array(id_, type_, count))


def leaf_constant(code: Code, type_: str, at: int) -> str:
    return code.const(type_, at * 3 + 1).id


def _everything(code: Code) -> None:
    """Whatever is left in private memory becomes a result."""
    for at, place in enumerate(code.places):
        outputs = [each for each in code.outputs if not each.members]
        if outputs:
            output = outputs[at % len(outputs)]
            which = at // len(outputs) % output.slots
            found = memory.converted(code, code.load(place.type, place.id), output.type)
            opcode = "FAdd" if scalar(output.type)[0] == "f" else "IAdd"
            pointer = memory.slot(code, output, which)
            code.store(pointer, code.op(opcode, output.type, code.load(output.type, pointer), found))


def _dtype(type_: str) -> Any:
    return np.dtype({"i": "i", "f": "f"}[type_[0]] + str(WIDTH[type_] // 8))


def _bytes_of(type_: str, members: tuple[str, ...], packed: bool) -> int:
    if not members:
        return size(type_)
    if packed:
        return sum(size(each) for each in members)
    at = 0
    for each in members:
        at = -(-at // size(each)) * size(each) + size(each)
    most = max(size(each) for each in members)
    return -(-at // most) * most


def _contents(seed: int, type_: str, count: int) -> Numbers:
    """Bytes to start with: small numbers, any numbers, and special ones."""
    numbers = np.random.default_rng(seed)
    if type_[0] == "s" or scalar(type_)[0] == "i":
        data = numbers.integers(0, 256, count, np.uint8)
        if type_[0] != "s":
            some = data.view(_dtype(scalar(type_)))
            small = numbers.random(some.size) < 0.5
            some[small] = numbers.integers(-8, 9, int(small.sum()))
        return data
    dtype = _dtype(scalar(type_))
    floats = numbers.normal(0, 100, count // dtype.itemsize)
    floats[::3] = np.rint(floats[::3])
    special = [0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan"), 1e-30, -1e30]
    with np.errstate(over="ignore"):
        found = floats.astype(dtype)
        found[5::17] = np.resize(np.array(special).astype(dtype), found[5::17].size)
    return found.view(np.uint8)


__all__ = ["LocalBytes", "Program", "programs"]
