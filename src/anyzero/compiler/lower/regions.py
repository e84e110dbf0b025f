"""Writes a region as an LLVM function: one vector of work-items from one barrier to the next."""

from __future__ import annotations

from collections.abc import Callable, Container

from anyzero.compiler.analysis.memory_dependence import memory_dependent
from anyzero.compiler.analysis.rows import Rows
from anyzero.compiler.analysis.streaming_stores import Streams
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.dominators import dominators
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import SIZES, Block, Body, Masks, Op, Slot, Variable
from anyzero.compiler.llvm import I1, I32, I64, PTR, Builder, Type, Value
from anyzero.compiler.lower import (
    arithmetic,
    atomics,
    bounds,
    calls,
    groups,
    images,
    lane_counts,
    memory,
    notes,
    residency,
    row_columns,
)
from anyzero.compiler.lower.emitter import Choices, Emitter, Frame
from anyzero.compiler.lower.full_mask import Elsewhere, Rounds
from anyzero.compiler.lower.handlers import together
from anyzero.compiler.lower.launch_invariants import LaunchInvariants, ValueNumbering
from anyzero.compiler.lower.lockstep_schedule import END, Schedule, answer
from anyzero.compiler.transform.regions import Region, ends_in_barrier
from anyzero.lazy_dataclass import dataclass, field, replace
from anyzero.lazy_namedtuple import NamedTuple

CHAPTERS = (arithmetic, atomics, bounds, calls, groups, images, lane_counts, memory, notes, residency)
HANDLERS = together(*(chapter.handles for chapter in CHAPTERS))
"""The handlers of the lowering to lanes of a CPU."""

PARAMETERS = (
    ("arguments", PTR), ("grid", PTR), ("worker", PTR), ("spill", PTR),
    ("global_x", I64), ("global_y", I64), ("global_z", I64),
    ("local_x", I64), ("local_y", I64), ("local_z", I64),
    ("group_x", I64), ("group_y", I64), ("group_z", I64),
    ("vector", I64), ("vectors", I64), ("stream", I64), ("whole", I1),
)  # fmt: skip
"""Parameters of every region, besides the mask: pointers, the ids of lane 0, and whether all lanes may be active, which
LLVM does not derive from the mask.
"""

DONE = -1
"""A region's result when the kernel ends; else it is the number of the next region."""


@dataclass(slots=True, eq=False)
class Storage:
    """Memory that each vector keeps across barriers."""

    slots: dict[Slot, int] = field(default_factory=dict)
    private: dict[Variable, int] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True, eq=False)
class Written:
    """Functions, with the declarations and constants that they need."""

    functions: list[str] = field(default_factory=list)
    declarations: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    routines: dict[str, Routine] = field(default_factory=dict)
    constants: dict[Variable, int] = field(default_factory=dict)
    check_sites: dict[str, int] = field(default_factory=dict)
    """Numbers of constants that describe checked accesses."""
    note_sites: dict[str, int] = field(default_factory=dict)
    """Numbers of constants that describe noted accesses."""
    counters: lane_counts.Counters = field(default_factory=dict)
    written_words: set[int] = field(default_factory=set)
    """Words of the arguments that noted stores go through."""
    called: set[tuple[int, int]] = field(default_factory=set)
    """Functions whose addresses are taken: module and id."""


def lay_out(body: Body, regions: list[Region], choices: Choices, shared: Container[Slot] = ()) -> Storage:
    """Allocates slots that live across barriers, except group-uniform ones; private variables too where there are
    barriers or they are large.
    """
    storage = Storage()
    lanes = choices.lanes

    def place(size: int, alignment: int) -> int:
        at = -(-storage.size // alignment) * alignment
        storage.size = at + size
        return at

    width = max(lanes, 1)
    sizes: dict[Slot, tuple[int, int]] = {}
    for block in body.blocks:
        for op in block.ops:
            slot = op.info
            if op.name in ("read", "write") and slot.across and slot not in sizes and slot not in shared:
                whole = lanes > 1 and (slot.shape.varying or not slot.shape.exact)
                size = SIZES[choices.kept(slot.type)]
                sizes[slot] = (size * width, 64) if whole else (8, 8)
    # Vectors first, so that there is no padding between them.
    for slot, needs in sorted(sizes.items(), key=lambda each: -each[1][1]):
        storage.slots[slot] = place(*needs)
    private = [variable for variable in body.variables if variable.space == "private"]
    together = sum(variable.size * width for variable in private)
    asked = any(op.name == "space_of" for block in body.blocks for op in block.ops)
    if len(regions) > 1 or together > LARGEST_ON_STACK or asked:
        for variable in private:
            storage.private[variable] = place(max(variable.size, 1) * width, max(64, variable.alignment))
    storage.size = -(-storage.size // 128) * 128
    return storage


LARGEST_ON_STACK = 16 << 10


@dataclass(slots=True, eq=False)
class Ready:
    """A body that is cut into regions, with the results of the analyses."""

    body: Body
    regions: list[Region]
    shapes: Shapes
    masks: Masks
    storage: Storage
    used: set[Op]
    """Operations whose results are used."""
    streams: Streams
    crossing: set[Op]
    """Booleans that are used outside of their block, where masks are vectors."""
    memory_dependent: set[Op] | None = None
    """Values that depend on the contents of memory, where masks are vectors; None as long as no region is written."""
    schedule: Schedule | None = None
    """The lockstep schedule, where all vectors of a group take the same path."""
    rows: Rows | None = None
    """Operations that are repeated for each row, where several run at once."""
    pieces: bool = False
    """Are the regions outlined pieces of a long body, without barriers in between?"""
    starts: dict[Block, int] = field(default_factory=dict)
    """The numbers of regions by the blocks they start at; empty as long as no region is written."""
    elsewhere: Elsewhere | None = None
    """Values that are used outside of their block; None as long as no region is written."""
    planar: bool = False
    """Does the kernel read ids in more than one dimension, so that groups are likely to have several rows?"""

    def next(self, block: Block) -> int:
        """The number of the region behind the barrier that a block ends in."""
        if not self.starts:
            self.starts = {each.start: index for index, each in enumerate(self.regions)}
        return self.starts[block.successors[0]]


class Head(NamedTuple):
    """The head of an LLVM function; launch invariants are the last of its parameters."""

    name: str
    """With the return type before it."""
    parameters: str
    attributes: str


def write_region(
    number: int,
    ready: Ready,
    choices: Choices,
    out: Written,
    before: LaunchInvariants,
    rows: Rows | None = None,
    inline: bool = True,
    often: bool = True,
) -> None:
    """For one row of work-items, or for several at once: neighbours along the second dimension. `often` says that this
    code is not only for the edges.
    """
    lanes = choices.lanes if choices.lanes > 1 else 0
    # Vectors are passed in memory: a function that is not inlined computes invariants itself.
    b = ValueNumbering(before if inline else None)
    mask = Value(b, "%mask", Type("i1", lanes)) if lanes else None
    alone = " noalias" if _benefits_from_noalias(ready.regions[number], ready) else ""
    given = (f"{type_}{alone if name == 'spill' else ''} %{name}" for name, type_ in PARAMETERS)
    parameters = ", ".join(given) + (f", {mask.typed}" if mask else "")
    name = f"{choices.prefix}{'piece' if ready.pieces else 'region'}{number}"
    # A function that is not inlined does not see the caller's constant.
    every = Value(b, "splat (i1 true)", Type("i1", lanes)) if choices.filled or choices.whole_vectors else mask
    frames = [_frame(b, every, ready.storage)]
    lines: list[str] = []
    if rows is not None:
        name, parameters = f"{name}.rows", f"{parameters}, i64 %between"
        frames += [_row_frame(row, frames[0], lines) for row in range(1, rows.count)]
    if ready.schedule is not None:
        parameters += ", ptr %shared, ptr %next" + (", ptr %windows" if ready.schedule.tiles is not None else "")
    head = Head(f"internal i32 @{name}", parameters, f"{'alwaysinline' if inline else 'noinline'} #0 #1")

    def leave(e: Emitter, block: Block) -> None:
        if ends_in_barrier(block) is not None:
            e.put_back()
        e.b.line(f"ret i32 {DONE if ends_in_barrier(block) is None else ready.next(block)}")

    if ready.schedule is None:
        _write(head, lines, frames, ready.regions[number], leave, ready, choices, out, rows=rows, often=often)
    else:
        _write_lockstep(number, head, frames[0], ready, ready.schedule, choices, out)
    before.needs[name] = list(b.needs.values())


def write_pieces(ready: Ready, choices: Choices, out: Written, before: LaunchInvariants) -> None:
    """An outlined body as one region: a function that calls the pieces, each of which returns the next one."""
    given = list(PARAMETERS)
    if choices.lanes > 1:
        given.append(("mask", Type("i1", choices.lanes)))
    parameters = ", ".join(f"{type_} %{name}" for name, type_ in given)
    count = len(ready.regions)
    lines = [f"define internal i32 @{choices.prefix}region0({parameters}) noinline #0 #1 {{", "entry:"]
    lines += ["  br label %next", "next:"]
    incoming = ", ".join(["[ 0, %entry ]", *(f"[ %answer{index}, %piece{index} ]" for index in range(count))])
    lines += [f"  %number = phi i32 {incoming}", "  switch i32 %number, label %done ["]
    lines += [f"    i32 {index}, label %piece{index}" for index in range(count)]
    lines += ["  ]"]
    for index in range(count):
        write_region(index, ready, choices, out, before, inline=False)
        lines += [f"piece{index}:", f"  %answer{index} = call i32 @{choices.prefix}piece{index}({parameters})"]
        lines += ["  br label %next"]
    out.functions.append("\n".join([*lines, "done:", f"  ret i32 {DONE}", "}"]))
    before.needs[f"{choices.prefix}region0"] = []


def _benefits_from_noalias(region: Region, ready: Ready) -> bool:
    """Does noalias of the vectors' memory pay? LLVM then keeps loads across the stores of several vectors; its analysis
    takes time, so not every region gets it.
    """
    ops = [op for block in region.blocks for op in block.ops]
    if not any(op.name == "write" and op.info in ready.storage.slots for op in ops):
        return False
    return any(op.name == "load" and (ready.planar or ready.shapes[op.args[0]].uniform) for op in ops)


def _write_lockstep(
    number: int, head: Head, frame: Frame, ready: Ready, schedule: Schedule, choices: Choices, out: Written
) -> None:
    """A region that reads group-uniform slots from `shared`, and writes them to `next`."""
    b = frame.arguments.builder
    step = schedule.steps[number]
    lines = []
    used = {op.info for block in ready.regions[number].blocks for op in block.ops if op.name in ("read", "write")}
    for place in (place for slot, place in schedule.shared.items() if slot in used or slot in step.writes):
        lines += [f"  %{at}.{place} = getelementptr i8, ptr %{at}, i64 {place}" for at in ("shared", "next")]
    frame.shared = {slot: Value(b, f"%shared.{place}", PTR) for slot, place in schedule.shared.items()}
    if step.stops:
        lines += ["  %stopped = alloca i1", "  store i1 false, ptr %stopped"]

    def leave(e: Emitter, block: Block) -> None:
        if ends_in_barrier(block) is not None:
            e.put_back()
        for slot in step.writes:
            value, _ = e.slot(slot)
            assert value is not None
            now = b.load(Type(slot.type), value)
            b.store(now, Value(b, f"%next.{schedule.shared[slot]}", PTR))
        next_ = END if ends_in_barrier(block) is None else ready.next(block)
        if not step.stops:
            b.line(f"ret i32 {answer(next_, False)}")
            return
        stopped = b.load(I1, Value(b, "%stopped", PTR))
        b.line(f"ret {b.select(stopped, b.constant(answer(next_, True), I32), answer(next_, False)).typed}")

    _write(head, lines, [frame], ready.regions[number], leave, ready, choices, out, step.stops)


def write_function(symbol: str, ready: Ready, choices: Choices, out: Written) -> None:
    """A function that is called through a pointer, see `calls`."""
    lanes = choices.lanes if choices.lanes > 1 else 0
    if len(ready.regions) > 1:
        raise CompileError("a function that is called by its address waits at a barrier")
    b = ValueNumbering()
    lines = []
    for place, (name, type_) in enumerate(PARAMETERS):
        lines += [f"  %{name}.p = getelementptr i8, ptr %context, i64 {8 * place}"]
        lines += [f"  %{name} = load {type_}, ptr %{name}.p, align 8"]
    mask = None
    if lanes:
        mask = Value(b, "%mask", Type("i1", lanes))
        narrow = "%bits" if lanes == 64 else "%few"
        lines += [] if lanes == 64 else [f"  %few = trunc i64 %bits to i{lanes}"]
        lines += [f"  %mask = bitcast i{lanes} {narrow} to <{lanes} x i1>"]
    frame = _frame(b, mask, ready.storage)
    frame.context, frame.rows = Value(b, "%context", PTR), Value(b, "%rows", PTR)
    head = Head(f"void @{symbol}", "ptr %context, ptr %rows, i64 %bits", f"#0 #1 prefix i64 {calls.mark(lanes)}")
    _write(head, lines, [frame], ready.regions[0], lambda e, _: e.b.line("ret void"), ready, choices, out)


def _frame(b: Builder, mask: Value | None, storage: Storage) -> Frame:
    given = {name: Value(b, f"%{name}", type_) for name, type_ in PARAMETERS}
    frame = Frame(given["arguments"], given["grid"], given["worker"], mask, given=given)
    for what in ("global", "local", "group"):
        for dimension, axis in enumerate("xyz"):
            frame.ids[f"{what}_id", dimension] = given[f"{what}_{axis}"]
    frame.ids["sub_group_id", 0] = frame.ids["vector", 0] = given["vector"]
    frame.ids["sub_group_count", 0] = given["vectors"]
    frame.spill, frame.spilled, frame.private = given["spill"], storage.slots, storage.private
    return frame


def _row_frame(row: int, first: Frame, lines: list[str]) -> Frame:
    """The frame of a row, by its distance from the first; `between` is the distance between two rows' memory."""
    b = first.arguments.builder
    lines += [f"  %global_y.{row} = add i64 %global_y, {row}", f"  %local_y.{row} = add i64 %local_y, {row}"]
    lines += [
        f"  %far.{row} = mul i64 %between, {row}",
        f"  %spill.{row} = getelementptr i8, ptr %spill, i64 %far.{row}",
    ]
    ids = dict(first.ids)
    for what in ("global", "local"):
        ids[f"{what}_id", 1] = Value(b, f"%{what}_y.{row}", I64)
    return replace(first, ids=ids, spill=Value(b, f"%spill.{row}", PTR))


def _write(
    head: Head,
    start: list[str],
    frames: list[Frame],
    region: Region,
    leave: Callable[[Emitter, Block], None],
    ready: Ready,
    choices: Choices,
    out: Written,
    stops: Container[Block] = (),
    rows: Rows | None = None,
    often: bool = True,
) -> None:
    """`stops` are blocks that end the row when they skip the rest of the region."""
    b = frames[0].arguments.builder
    assert isinstance(b, ValueNumbering)
    e = Emitter(choices, ready.shapes, ready.masks, frames[0], b, HANDLERS)
    e.check_sites, e.note_sites = out.check_sites, out.note_sites
    e.counters = out.counters
    e.written_words, e.lockstep = out.written_words, ready.schedule is not None
    if ready.schedule is not None and ready.schedule.tiles is not None:
        e.windows = ready.schedule.tiles.windows
    e.used, e.constants, e.streams, e.crossing = ready.used, out.constants, ready.streams.stores, ready.crossing
    if ready.memory_dependent is None:
        ready.memory_dependent = set() if choices.mask == "i1" else memory_dependent(ready.body)
    e.memory_dependent = ready.memory_dependent
    if rows is not None:
        e.run_rows(rows, frames, row_columns.write_columns)
    e.keep(*_in_loops(region, ready.storage))
    if ready.elsewhere is None:
        ready.elsewhere = Elsewhere(ready.body, ready.masks)
    write_block = Rounds(e, ready.elsewhere, often).write_block if rows is None else e.write_block
    late = _late(region)
    for block in region.blocks:
        b.label(f"B{block.number}", block not in late)
        write_block(block)
        if ends_in_barrier(block) is not None or not block.successors:
            leave(e, block)
        elif len(block.successors) == 1:
            b.jump(f"B{block.successors[0].number}")
        else:
            assert block.condition is not None
            first, second = (f"B{each.number}" for each in block.successors)
            if block in stops:
                label = e.label()
                b.branch(e.scalar(block.condition), first, label)
                b.label(label)
                b.store(b.constant(1, I1), Value(b, "%stopped", PTR))
                b.jump(second)
            else:
                b.branch(e.scalar(block.condition), first, second)
    parameters = ", ".join([head.parameters, *(each.typed for each in b.needs.values())])
    first_line = f"define {head.name}({parameters}) {head.attributes} {{"
    lines = [first_line, "entry:", *start, *e.allocations, f"  br label %B{region.start.number}", *b.lines, "}"]
    out.functions.append("\n".join(lines))
    out.declarations.update(b.intrinsics)
    out.globals.update(e.globals)
    out.called |= e.functions
    _need(e.routines, out)


def _in_loops(region: Region, storage: Storage) -> tuple[dict[Slot, None], set[Slot]]:
    """Slots in memory that loops use, and slots that the region writes.

    Blocks are numbered in reverse post-order, so that a loop lies between its header and its latch.
    """
    blocks = region.blocks
    place = {block: index for index, block in enumerate(blocks)}
    turning = [0] * (len(blocks) + 1)
    for block in blocks:
        for target in block.successors if ends_in_barrier(block) is None else ():
            if place.get(target, len(place)) <= place[block]:
                turning[place[target]] += 1
                turning[place[block] + 1] -= 1
    looping: dict[Slot, None] = {}
    written: set[Slot] = set()
    depth = 0
    for block, change in zip(blocks, turning, strict=False):
        depth += change
        for op in block.ops:
            if op.name in ("read", "write") and op.info in storage.slots:
                if depth:
                    looping[op.info] = None
                if op.name == "write":
                    written.add(op.info)
    return looping, written


def _late(region: Region) -> set[Block]:
    """Blocks with a predecessor that is written after them and that they do not dominate."""
    place = {block: index for index, block in enumerate(region.blocks)}
    back = [
        (block, to) for block in region.blocks for to in block.successors if place.get(to, len(place)) <= place[block]
    ]
    if not back:
        return set()
    above = dominators(region.start, lambda block: [] if ends_in_barrier(block) else block.successors)

    def through(block: Block, header: Block) -> bool:
        while block is not header:
            higher = above.get(block)
            if higher is None or higher is block:
                return False
            block = higher
        return True

    return {to for block, to in back if not through(block, to)}


def _need(routines: dict[str, Routine], out: Written) -> None:
    for routine in routines.values():
        if routine.symbol not in out.routines:
            out.routines[routine.symbol] = routine
            out.declarations.update(routine.intrinsics)
            _need({each.symbol: each for each in routine.needs}, out)
