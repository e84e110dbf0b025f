"""A function of a random kernel while it is written: what can be used where it is written next."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.compiler.agreement.choices import Choices
from tests.compiler.agreement.storage import Array, Buffer, Output, Place
from tests.compiler.agreement.writer import Value, Writer, length, scalar, vector


@dataclass(slots=True, eq=False)
class Callee:
    """A function that can be called."""

    id: str
    result: str
    parameters: list[str]
    """Types; `*i32` is a pointer to a private one."""


@dataclass(slots=True, eq=False)
class Shape:
    """How many work-items there are."""

    global_size: tuple[int, int, int]
    group_size: tuple[int, int, int]
    offset: tuple[int, int, int]
    sub_group: int
    """Work-items of a sub-group; 0 where the kernel has none."""

    @property
    def items(self) -> int:
        return self.global_size[0] * self.global_size[1] * self.global_size[2]

    @property
    def group_items(self) -> int:
        return self.group_size[0] * self.group_size[1] * self.group_size[2]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop that is being written."""

    exit: str
    again: str
    """Where a turn ends."""
    uniform: bool
    """Do all work-items of a group take the same number of turns?"""
    carried: str
    """The type of a value that leaves the loop with each work-item."""
    skipped: bool = False
    """Are some work-items at the end of the turn already?"""
    edges: list[tuple[str, Value]] = field(default_factory=list)
    """Blocks that lead to the exit, with that value."""


@dataclass(slots=True, eq=False)
class Code:
    """Everything that the chapters of the generator look at and add to."""

    draw: Choices
    writer: Writer
    shape: Shape
    budget: int
    """Instructions that may still be written."""
    result: str = "void"
    kernel: bool = False
    lines: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    label: str = "%entry"
    uniform: bool = True
    """Do all work-items of a group come here together?"""
    values: list[Value] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    inputs: list[Buffer] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    counters: list[Buffer] = field(default_factory=list)
    """Memory for atomics whose results nobody looks at."""
    locals: list[Buffer] = field(default_factory=list)
    """Local memory, one element for each work-item of a group."""
    callees: list[Callee] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    ids: dict[str, Value] = field(default_factory=dict)
    """Places of the work-item, by what they are called; all i64."""
    depth: int = 0
    structured: bool = True
    """Is the set of work-items that arrive here together known?"""
    left: bool = False
    """May some work-items have returned already, and others not?"""

    def settle(self, uniform: bool) -> None:
        """Behind something that began where the flow was `uniform`."""
        self.uniform = uniform and not self.left and not any(loop.skipped for loop in self.loops)

    def emit(self, opcode: str, type_: str, *operands: str, uniform: bool = False) -> Value:
        self.budget -= 1
        id_ = self.writer.name()
        self.lines.append(f"{id_} = Op{opcode} {self.writer.type(type_)} {' '.join(operands)}")
        return Value(id_, type_, uniform)

    def keep(self, value: Value) -> Value:
        """Lets others use it too."""
        self.values.append(value)
        return value

    def op(self, opcode: str, type_: str, *operands: Value) -> Value:
        uniform = all(each.uniform for each in operands)
        return self.keep(self.emit(opcode, type_, *(each.id for each in operands), uniform=uniform))

    def library(self, name: str, type_: str, *operands: Value) -> Value:
        """An instruction of OpenCL.std."""
        uniform = all(each.uniform for each in operands)
        return self.keep(self.emit("ExtInst", type_, "%cl", name, *(each.id for each in operands), uniform=uniform))

    def const(self, type_: str, value: float) -> Value:
        if length(type_) > 1:
            part = self.const(scalar(type_), value)
            return Value(self.writer.composite(type_, [part.id] * length(type_)), type_, True)
        return Value(self.writer.const(type_, value), type_, True)

    def line(self, text: str) -> None:
        self.budget -= 1
        self.lines.append(text)

    def begin(self, label: str) -> None:
        self.lines.append(f"{label} = OpLabel")
        self.label = label

    def goto(self, label: str) -> None:
        self.lines.append(f"OpBranch {label}")

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        self.lines.append(f"OpBranchConditional {condition.id} {then} {otherwise}")

    def new_label(self, hint: str) -> str:
        return self.writer.name(hint)

    def pointer(self, storage: str, pointee: str, base: str, *indices: str, inside: str = "") -> str:
        """`inside` is what the access chain is called: `InBoundsPtr`, `Ptr`, `InBounds` or nothing."""
        id_ = self.writer.name("p")
        type_ = self.writer.pointer(storage, pointee)
        self.line(f"{id_} = Op{inside}AccessChain {type_} {base} {' '.join(indices)}")
        return id_

    def load(self, type_: str, pointer: str, alignment: int = 0, uniform: bool = False) -> Value:
        access = ["Aligned", str(alignment)] if alignment else []
        return self.emit("Load", type_, pointer, *access, uniform=uniform)

    def store(self, pointer: str, value: Value, alignment: int = 0) -> None:
        access = f" Aligned {alignment}" if alignment else ""
        self.line(f"OpStore {pointer} {value.id}{access}")

    def spread(self, value: Value, count: int) -> Value:
        """A vector of copies."""
        if count == 1:
            return value
        type_ = vector(value.type, count)
        return self.emit("CompositeConstruct", type_, *[value.id] * count, uniform=value.uniform)
