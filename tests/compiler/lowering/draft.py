"""Small bodies, written down operation by operation."""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.loops import Loops, find_loops
from anyzero.compiler.analysis.uniformity import Flow, Shape, Shapes, analyse
from anyzero.compiler.builder import Builder
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Access, Atomic, Block, Body, Collective, Op, Variable
from anyzero.compiler.lanes.passes import NUMBERING, PASSES
from anyzero.compiler.lanes.units import NumberingUnit
from anyzero.compiler.lanes.version_passes import VERSION
from anyzero.compiler.lanes.versions import BODIES
from anyzero.compiler.lanes.writing import module_text
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.regions import Written
from anyzero.compiler.passes import run
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify

LANES = 16
TARGET = cpu.target("haswell", "")
"""It gathers."""


class Draft(Builder):
    """A body that begins in its first block; `at` says where it goes on."""

    def __init__(self) -> None:
        super().__init__(Body("draft"))
        self.entry = self.block
        self.drafted = [self.block]

    def place(self, count: int = 1) -> list[Block]:
        """New blocks."""
        made = [self.new_block() for _ in range(count)]
        self.drafted += made
        return made

    def at(self, block: Block) -> None:
        self.block = block

    def done(self) -> Body:
        """The body, whole and numbered."""
        self.body.blocks = self.drafted
        number(self.body)
        check(self.body)
        return self.body

    # Things to compute with

    def id(self, what: str = "global_id", dimension: int = 0) -> Op:
        return self.emit("builtin", "i64", [], (what, dimension))

    def argument(self, type_: str = "i64", offset: int = 0) -> Op:
        return self.emit("argument", type_, [], offset)

    def variable(self, size: int, space: str = "private") -> Op:
        made = Variable(size, 4, space)  # type: ignore[arg-type]
        self.body.variables.append(made)
        return self.emit("variable", "ptr", [], made)

    def i64(self, value: int) -> Op:
        return self.const("i64", value)

    def below(self, value: Op, limit: int) -> Op:
        return self.icmp("slt", value, self.const(value.type, limit))

    def element(self, pointer: Op, index: Op, size: int = 4) -> Op:
        return self.offset(pointer, self.mul(index, self.i64(size)))

    def get(self, pointer: Op, type_: str = "i32", count: int = 1, alignment: int = 4) -> list[Op]:
        return self.load(pointer, type_, Access(count, alignment, space="global"))

    def put(self, pointer: Op, *values: Op, alignment: int = 4) -> None:
        self.store(pointer, list(values), Access(len(values), alignment, space="global"))

    def count_up(self, pointer: Op, by: Op) -> Op:
        return self.atomic(by.type, Atomic("add", "device", "global"), pointer, by)

    def barrier(self) -> None:
        self.emit("barrier", "", [], "group")

    def together(self, kind: str, value: Op, *more: Op, operation: str = "", scope: str = "group") -> Op:
        return self.group(value.type, Collective(scope, kind, operation), value, *more)

    # Shapes of flow

    def if_(self, condition: Op) -> tuple[Block, Block, Block]:
        """Then, else and where they meet, the last of which is up to the caller to reach."""
        then, otherwise, join = self.place(3)
        self.branch(condition, then, otherwise)
        return then, otherwise, join

    def joined(self, type_: str, join: Block, values: Iterable[Op]) -> Op:
        """A phi of blocks that lead to `join` in the order of the values."""
        phi = self.phi(type_, join)
        phi.args = list(values)
        return phi


def flow_of(body: Body) -> Flow:
    return loop_simplify(body)


def text_of_body(body: Body, choices: Choices, entry: str = "entry") -> str:
    """LLVM's module of a kernel that is this body, by the passes behind the choice of lanes."""
    unit = NumberingUnit("rows", entry, body, loop_simplify(body), choices, Written(), BODIES)
    run([each for each in PASSES if each.scope in (NUMBERING, VERSION)], unit)
    return module_text(unit.out, choices)


def loops_of(body: Body) -> Loops:
    return find_loops(body, dominators(body.blocks[0], lambda block: block.successors))


def shapes_of(body: Body, lanes: int = LANES) -> tuple[Shapes, Flow]:
    flow = loop_simplify(body)
    return analyse(body, flow, lanes), flow


def shape_of(draft: Draft, op: Op) -> Shape:
    """Of one value, in a body that ends here."""
    return shapes_of(draft.done())[0][op]


def check_with_slots(body: Body) -> None:
    """As `check`; undefined values are in no block, which is no mistake after the linearisation."""
    entry = body.blocks[0]
    nowhere = {arg: None for op in body.ops for arg in op.args if arg.name == "undef" and arg.block is None}
    for op in nowhere:
        op.block = entry
    entry.ops[:0] = nowhere
    check(body)
    del entry.ops[: len(nowhere)]


def names(block: Block) -> list[str]:
    return [op.name for op in block.ops]
