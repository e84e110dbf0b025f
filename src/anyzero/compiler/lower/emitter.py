"""Writes operations as LLVM IR, once for a whole vector of work-items.

A uniform value is one scalar. A strided value is the scalar of lane 0, and a vector on demand. A varying value is a
vector. Chapters (`arithmetic.py`, `memory.py`, …) register a handler for each kind of operation.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING

from anyzero.compiler.analysis.aliases import NOTHING_KNOWN, Unaliased
from anyzero.compiler.analysis.rows import Rows
from anyzero.compiler.analysis.uniformity import Shape, Shapes
from anyzero.compiler.compiled import Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import PAIR, Block, Masks, Op, Slot, Variable
from anyzero.compiler.llvm import I1, I64, PTR, Builder, Type, Value
from anyzero.compiler.lower.handlers import Handler
from anyzero.compiler.lower.line_marks import LineMarks
from anyzero.compiler.lower.masking import Masking
from anyzero.compiler.operations import ORDERS
from anyzero.compiler.targets.cpu import Target, cache_bytes
from anyzero.layouts.container import CounterKind
from anyzero.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from anyzero.compiler.builtins.routine import Routine
    from anyzero.compiler.transform.grid_stride import Bound


STRAIGHT = 2
"""Vectors of a row that are unrolled where the size of groups is known."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Parameters of the lowering, for one kernel on one target."""

    lanes: int
    target: Target
    options: Options
    linear: bool = False
    """Lanes are neighbours by the work-items' linear numbers, across the ends of rows."""
    filled: bool = False
    """Does this code only run groups whose rows whole vectors fill?"""
    flat: bool = False
    """Do vectors run across groups along rows, and end where the low half of an id would wrap around?"""
    group_size: tuple[int, int, int] | None = None
    """The group size of every launch, where the kernel requires one."""
    likely: tuple[int, int, int] | None = None
    """The likely group size, which has a version of its own; where none is required."""
    rows: int = 1
    """How many rows of work-items may run at once."""
    sub_group: int = 0
    """How many work-items a sub-group has, where it is several vectors; 0 where it is one."""
    narrow: bool = False
    """Are registers of 512 bits avoided?"""
    from_zero: bool = False
    """Do global ids begin with zero, whatever the launch's offset is?"""
    grid_stride: Bound | None = None
    """The bound of the grid-stride loop that the loops over blocks do."""
    slow_masks: bool = False
    """Are masked accesses slow, so that a version without them pays?"""
    mask: str = "i1"
    """The element type of masks between blocks. Where the processor has no mask registers, LLVM would pack the bits of
    an `i1` that lives longer than a block into bytes, and unpack them at each use.
    """
    prefix: str = ""
    """The prefix of all symbols."""
    args_bytes: int = 0
    """The size of the block of arguments, if known."""
    unaliased: Unaliased = NOTHING_KNOWN
    """The arguments whose memory is separate in every launch that runs this code."""
    debug: LineMarks | None = None
    """Collects the source places of instructions, where the module has them."""

    @property
    def gathers(self) -> bool:
        """May loads be gathers of the processor?"""
        return self.target.gathers if self.options.gathers is None else self.options.gathers

    @property
    def scatters(self) -> bool:
        """May stores be scatters, which LLVM writes out lane by lane where the processor has none?"""
        return self.target.register > 16 if self.options.gathers is None else self.options.gathers

    def kept(self, element: str) -> str:
        """The element type of masks beside vectors of such elements, between blocks."""
        return self.mask if element == "i1" else element

    @property
    def whole_vectors(self) -> bool:
        """Is the group size known, and do whole vectors fill its rows?"""
        size = self.group_size
        return size is not None and not self.flat and not self.linear and size[0] % self.lanes == 0

    @property
    def straight(self) -> bool:
        """Is there code for groups whose rows are a vector or two, so that LLVM knows the local ids of its lanes?"""
        size = self.group_size or self.likely
        return size is not None and size[0] % self.lanes == 0 and size[0] <= STRAIGHT * self.lanes

    @property
    def cache_bytes(self) -> int:
        """The assumed size of the caches."""
        return cache_bytes() if self.options.cache_bytes is None else self.options.cache_bytes


@dataclass(slots=True, eq=False)
class Frame:
    """The inputs of a region: names of LLVM values of the function that it is written in."""

    arguments: Value
    grid: Value
    worker: Value
    mask: Value | None
    """The mask of lanes with a work-item; None where there is one lane."""
    ids: dict[tuple[str, int], Value] = field(default_factory=dict)
    """global_id, local_id, group_id of lane 0, and numbers of sub-groups."""
    spill: Value | None = None
    """Memory of this vector that outlives barriers."""
    spilled: dict[Slot, int] = field(default_factory=dict)
    shared: dict[Slot, Value] = field(default_factory=dict)
    """Group-uniform slots: addresses of the values that a region starts with."""
    private: dict[Variable, int] = field(default_factory=dict)
    """Private variables that live in the memory of the vector, with their places."""
    given: dict[str, Value] = field(default_factory=dict)
    """All of the above that an indirectly called function needs, by name."""
    context: Value | None = None
    """The block with these in such a function."""
    rows: Value | None = None
    """Its parameters, and then its results."""


@dataclass(slots=True, eq=False)
class _View:
    """The values that are available in one of several rows."""

    frame: Frame
    scalars: MutableMapping[Op, Value]
    vectors: MutableMapping[Op, Value]
    parts: MutableMapping[Op, list[Value]]
    cache: MutableMapping[object, Value] = field(default_factory=dict)


class Emitter(Masking):
    def __init__(
        self,
        choices: Choices,
        shapes: Shapes,
        masks: Masks,
        frame: Frame,
        builder: Builder,
        handlers: Mapping[str, Handler],
    ) -> None:
        self.choices = choices
        self.lanes = choices.lanes if choices.lanes > 1 else 0
        self.shapes = shapes
        self.masks = masks
        self.frame = frame
        self.b = builder
        self.handlers = handlers
        self.scalars: MutableMapping[Op, Value] = {}
        self.vectors: MutableMapping[Op, Value] = {}
        self.parts: MutableMapping[Op, list[Value]] = {}
        self.routines: dict[str, Routine] = {}
        self.globals: dict[str, str] = {}
        """Definitions of constants that the code brings along, by name."""
        self.allocations: list[str] = []
        """Lines that belong to the function's first block."""
        self.block: Block | None = None
        self.labels = 0
        self._current = ""
        self.used: set[Op] = set()
        """Operations whose results are used."""
        self.streams: set[Op] = set()
        """Stores that may be non-temporal."""
        self.memory_dependent: set[Op] = set()
        """Values that depend on the contents of memory, where masks are vectors."""
        self.crossing = set()
        self._held = {}
        self.fronts: dict[str, int] = {}
        """The number of lanes of constant prefix masks."""
        self.checks: dict[tuple[Op, int], Op] = {}
        """The bounds checks of accesses, by the operand that is the pointer."""
        self.check_sites: dict[str, int] = {}
        """Numbers of constants that describe checked accesses."""
        self.windows: dict[Op, int] = {}
        """Accesses of arrays that are in registers, with the numbers of their windows."""
        self.lockstep = False
        """Do all vectors of a group take the same path from barrier to barrier?"""
        self.op: Op | None = None
        """The operation that is being written."""
        self.counters: dict[tuple[CounterKind, tuple[int, ...]], int] = {}
        """Numbers of counters for profiles, see `lane_counts`."""
        self.note_sites: dict[str, int] = {}
        """Numbers of constants that describe noted accesses."""
        self.written_words: set[int] = set()
        """Words of the arguments that noted stores go through."""
        self.check_place: Value | None = None
        self.check_room = 0
        """Memory that checks hand over to the engine."""
        self.private: dict[Variable, Value] = {}
        self.functions: set[tuple[int, int]] = set()
        """Functions whose addresses are taken: module and id."""
        self.constants: dict[Variable, int] = {}
        """Numbers of constants that the code brings along."""
        self._slots: dict[tuple[Slot, int], tuple[Value | None, Value | None]] = {}
        self.looping: dict[Slot, None] = {}
        """Slots that live across barriers and that loops use."""
        self.written: set[Slot] = set()
        self._kept: list[tuple[Value, Value, Type]] = []
        self._cache: MutableMapping[object, Value] = {}
        self.rows: Rows | None = None
        """Where several rows of work-items run at once."""
        self._views: list[_View] = []
        self._row = 0
        self._writes: tuple[Block | None, dict[Op, int]] = None, {}
        """For each operation of a block: the number of operations before it that may write memory."""

    def run_rows(self, rows: Rows, frames: list[Frame], columns: Handler) -> None:
        """From now on, operations of single rows are written once for each of the frames. `columns` writes accesses of
        all rows at once.
        """
        self.rows = rows
        self._write_columns = columns
        self._views = [_View(frames[0], self.scalars, self.vectors, self.parts)]
        for frame in frames:
            self._views.append(
                _View(frame, ChainMap({}, self.scalars), ChainMap({}, self.vectors), ChainMap({}, self.parts))
            )

    # Walking

    def write_block(self, block: Block) -> None:
        self.block = block
        self._cache = {}
        for view in self._views:
            view.cache = {}
        self.write(block.ops)

    def write(self, ops: list[Op]) -> None:
        debug = self.choices.debug
        for op in ops:
            written = len(self.b.lines)
            self.op = op
            handler = self.handlers.get(op.name)
            if handler is None:
                raise CompileError(f"{op.name} is not supported", offset=op.word)
            if self.rows is not None and op in self.rows.columns:
                self._write_columns(self, op)
            elif self.rows is not None and op in self.rows.each:
                for row in range(1, len(self._views)):
                    self._look(row)
                    handler(self, op)
                    self.hold(op)
                self._look(0)
            else:
                handler(self, op)
                self.hold(op)
            if debug is not None:
                debug.mark(self.b.lines, written, op)

    def _look(self, row: int) -> None:
        """Switches to the values of a row, counted from 1, or to those of all rows."""
        self._views[self._row].cache = self._cache
        self._row, view = row, self._views[row]
        self.frame, self._cache = view.frame, view.cache
        self.scalars, self.vectors, self.parts = view.scalars, view.vectors, view.parts

    @property
    def row_count(self) -> int:
        """How many rows run at once."""
        return len(self._views) - 1

    def in_rows(self, compute: Callable[[], Value], most: int | None = None) -> list[Value]:
        """The results of each row, or of the first ones."""
        found = []
        for row in range(1, 1 + (most or self.row_count)):
            self._look(row)
            found.append(compute())
        self._look(0)
        return found

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def start(self, label: str) -> None:
        """A new LLVM block inside of the current one; values that were computed before stay available."""
        self.b.label(label)
        self._current = label

    def last_label(self) -> str:
        """The label of the current LLVM block, after `start`."""
        return self._current

    def forget_since(self, kept: MutableMapping[object, Value]) -> None:
        """After code that may have been skipped: vectors that were made only there are no longer available."""
        self._cache = kept

    @property
    def known(self) -> MutableMapping[object, Value]:
        """A snapshot of the available values, for `forget_since`."""
        known = self._cache
        self._cache = ChainMap({}, known)
        return known

    def remember(self, kept: MutableMapping[object, Value]) -> None:
        """As `forget_since`, and a new snapshot for the code that follows."""
        self._cache = ChainMap({}, kept)

    def unwritten(self, load: Op, user: Op) -> bool:
        """Is memory unchanged between two operations of the current block?"""
        block = self.block
        assert block is not None
        if self._writes[0] is not block:
            count, writes = 0, {}
            for op in block.ops:
                count += op.may_write or op.name in ORDERS
                writes[op] = count
            self._writes = block, writes
        writes = self._writes[1]
        return load in writes and writes[load] == writes.get(user)

    # Values

    def shape(self, op: Op) -> Shape:
        return self.shapes[op]

    def type(self, op: Op, lanes: bool = False) -> Type:
        return Type(op.type, self.lanes if lanes else 0)

    def vector_type(self, element: str) -> Type:
        """The type of a vector of lanes. Pairs of floats take two elements for each lane."""
        return Type("float", 2 * self.lanes) if element == PAIR else Type(element, self.lanes)

    def scalar(self, op: Op) -> Value:
        """The value of all lanes, or of lane 0 of a strided one."""
        if op.name == "const":
            return self.b.bits(op.info, Type(op.type))
        if op.name == "undef":
            return self.b.zero(Type(op.type))
        found = self.scalars.get(op)
        if found is None:
            raise CompileError(f"{op.name} has no single value here", offset=op.word)
        return found

    def vector(self, op: Op) -> Value:
        """One value for each lane; the scalar itself where there is but one lane."""
        if not self.lanes:
            return self.scalar(op)
        found = self.vectors.get(op) or self._cache.get(op)
        if found is None:
            found = self._cache[op] = self._spread(op)
        return found

    def _spread(self, op: Op) -> Value:
        if op.name == "undef":
            return self.b.poison(Type(op.type, self.lanes))
        stride = self.shape(op).stride
        scalar = self.scalar(op)
        if not stride:
            return self.b.spread(scalar, self.lanes)
        return self.apart(scalar, stride)

    def apart(self, first: Value, stride: int) -> Value:
        """The vector of a strided value."""
        b, lanes = self.b, self.lanes
        steps = b.each([stride * lane for lane in range(lanes)], "i64" if first.type == PTR else first.type.element)
        if first.type == PTR:
            return b.element("i8", first, steps)
        return b.spread(first, lanes) + steps

    def value(self, op: Op) -> Value:
        """A scalar where the value is uniform, else a vector."""
        return self.scalar(op) if self.shape(op).uniform else self.vector(op)

    def put(self, op: Op, value: Value) -> None:
        if value.type.lanes:
            self.vectors[op] = value
        else:
            self.scalars[op] = value

    def elementwise(self, op: Op, compute: Callable[..., Value]) -> None:
        """The same operation on scalars or on vectors, by the shape."""
        shape = self.shape(op)
        if not shape.varying:
            self.scalars[op] = compute(*(self.scalar(each) for each in op.args))
        if self.lanes and (shape.varying or not shape.exact):
            self.vectors[op] = compute(*(self.vector(each) for each in op.args))

    # Lanes of strided values

    def lane_of(self, op: Op, lane: Value) -> Value:
        """One lane of a uniform or strided value, computed as in the lane itself, with its wrap-around."""
        shape = self.shape(op)
        b = self.b
        if shape.uniform:
            return self.scalar(op)
        if shape.exact and shape.stride is not None:
            scalar = self.scalar(op)
            if scalar.type == PTR:
                return self.moved(scalar, lane * shape.stride)
            return scalar + b.cast("trunc", lane * shape.stride, op.type)
        if op.name == "cast":
            inner = self.lane_of(op.args[0], lane)
            return b.cast(op.info, inner, op.type)
        if op.name == "offset":
            return self.moved(self.lane_of(op.args[0], lane), self.lane_of(op.args[1], lane))
        if op.name in ("add", "sub", "mul", "shl", "or", "xor", "and"):
            return b.binary(op.name, self.lane_of(op.args[0], lane), self.lane_of(op.args[1], lane))
        return b.lane(self.vector(op), lane)

    def moved(self, pointer: Value, by: Value | int) -> Value:
        b = self.b
        if isinstance(by, int):
            if by == 0:
                return pointer
            by = b.constant(by, I64)
        return b.element("i8", pointer, by)

    def base(self, pointer: Op) -> Value:
        """Lane 0's address of a strided pointer, also where lane 0 is inactive."""
        shape = self.shape(pointer)
        lane = None if shape.exact else self.first_lane()
        if lane is None or shape.stride is None:
            return self.scalar(pointer)
        there = self.lane_of(pointer, lane)
        return self.moved(there, lane * -shape.stride)

    # Memory of the function itself

    def allocate(self, type_: Type | str, alignment: int = 0) -> Value:
        name = f"%a{len(self.allocations)}"
        self.allocations.append(f"  {name} = alloca {type_}" + (f", align {alignment}" if alignment else ""))
        return Value(self.b, name, PTR)

    def number_of(self, constant: Variable) -> int:
        return self.constants.setdefault(constant, len(self.constants))

    def context(self) -> Value:
        """The block of ids that an indirectly called function gets."""
        if self.frame.context is not None:
            return self.frame.context
        block = self.allocate(f"[{8 * len(self.frame.given)} x i8]", 8)
        for place, value in enumerate(self.frame.given.values()):
            self.b.store(value, self.moved(block, place * 8), align=8)
        return block

    def slot(self, slot: Slot) -> tuple[Value | None, Value | None]:
        """The places of a slot's scalar and vector, as its shape needs them."""
        row = self._row if self.rows is not None and (slot in self.rows.slots or slot in self.frame.spilled) else 0
        # Values that are the same for all rows are read from the first row's memory.
        key = (slot, 1 if not row and slot in self.looping else row)
        found = self._slots.get(key)
        if found is None:
            shape = slot.shape if self.lanes else Shape(0)
            whole = bool(self.lanes) and (shape.varying or not shape.exact)
            single = not shape.varying
            if slot in self.frame.spilled:
                found = self._spilled(slot, whole)
            else:
                found = (
                    self.allocate(Type(slot.type)) if single else None,
                    self.allocate(self.vector_type(self.choices.kept(slot.type))) if whole else None,
                )
                if slot in self.frame.shared and found[0] is not None:
                    name = f"%shared{len(self._slots)}"
                    self.allocations.append(f"  {name} = load {Type(slot.type)}, {self.frame.shared[slot].typed}")
                    self.allocations.append(f"  store {Type(slot.type)} {name}, {found[0].typed}")
            self._slots[key] = found
        return found

    def _spilled(self, slot: Slot, whole: bool) -> tuple[Value | None, Value | None]:
        """Slots that live across barriers are in the vector's memory, but in registers inside of loops."""
        assert self.frame.spill is not None
        name = f"%spill{len(self._slots)}"
        type_ = self.vector_type(self.choices.kept(slot.type)) if whole else Type(slot.type)
        self.allocations.append(
            f"  {name} = getelementptr i8, {self.frame.spill.typed}, i64 {self.frame.spilled[slot]}"
        )
        address = Value(self.b, name, PTR)
        if slot in self.looping:
            place = self.allocate(type_)
            self.allocations.append(f"  {name}.first = load {type_}, {address.typed}")
            self.allocations.append(f"  store {type_} {name}.first, {place.typed}")
            if slot in self.written:
                self._kept.append((place, address, type_))
            address = place
        return (None, address) if whole else (address, None)

    def keep(self, looping: dict[Slot, None], written: set[Slot]) -> None:
        """Holds these slots in registers from here on; `written` are those that `put_back` has to store."""
        self.looping, self.written = looping, written
        for row in range(1, len(self._views)) if looping else ():
            self._look(row)
            for slot in looping:
                self.slot(slot)
            self._look(0)
        for slot in looping:
            self.slot(slot)

    def put_back(self) -> None:
        """Before a region ends and another follows."""
        for place, address, type_ in self._kept:
            value = self.b.load(type_, place)
            self.b.store(value, address)

    def for_each_lane(
        self, operands: list[Value], results: list[Type], body: Callable[..., list[Value]]
    ) -> list[Value]:
        """Runs scalar code for one lane after the other; vectors are passed through memory.

        `body(lane, *scalars)` gives the lane's results.
        """
        b = self.b
        mask = self.mask
        if mask is None:
            return body(b.constant(0, I64), *operands)
        lanes = self.lanes
        places: list[Value | None] = []
        for operand in operands:
            if operand.type.lanes:
                place = self.allocate(operand.type)
                b.store(operand, place)
                places.append(place)
            else:
                places.append(None)
        outs = [self.allocate(Type(result.element, lanes)) for result in results]
        counter = self.allocate(I64)
        b.store(self.bits(mask), counter)
        known = self.known
        head, done = self.label(), self.label()
        b.jump(head)
        self.start(head)
        left = b.load(I64, counter)
        lane = b.call("llvm.cttz.i64", I64, left, b.constant(1, I1))
        scalars = [
            operand if place is None else self._element(place, operand.type.element, lane)
            for operand, place in zip(operands, places, strict=True)
        ]
        found = body(lane, *scalars)
        for out, value in zip(outs, found, strict=True):
            address = b.element(memory_type(value.type.element), out, lane)
            if value.type == I1:
                raise CompileError("truth values of single lanes are kept as bytes")
            b.store(value, address)
        rest = left & (left - 1)
        b.store(rest, counter)
        more = b.compare("ne", rest, 0)
        b.branch(more, head, done)
        self.start(done)
        self.forget_since(known)
        return [b.load(Type(result.element, lanes), out) for result, out in zip(results, outs, strict=True)]

    def _element(self, place: Value, element: str, lane: Value) -> Value:
        b = self.b
        if element == "i1":
            raise CompileError("truth values of single lanes are kept as bytes")
        address = b.element(element, place, lane)
        return b.load(Type(element), address)


def memory_type(element: str) -> str:
    return "i8" if element == "i1" else element
