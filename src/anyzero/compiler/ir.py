"""The compiler's own form of a kernel: one function, every call inlined, every value a scalar.

SPIR-V's vectors and structures are split into scalars. Composites remain in memory accesses only, which move several
neighbouring components: their results are the `parts` of one operation. Pointers are addresses that byte offsets are
added to. The number of lanes is not part of the form; it is chosen later.

The vocabulary, `name(arguments) info`; `operations.py` has the facts about each:

    const            bits
    undef
    argument         offset in the arguments
    argument_address offset (uniform address of a structure passed by value)
    local_argument   offset in the arguments: the address of the local memory whose place in the block is the argument
    builtin          (name, dimension), i64: global_id local_id group_id global_size group_size group_count
                     global_offset work_dim sub_group_size sub_group_max_size sub_group_count sub_group_id
                     sub_group_local_id
    variable         Variable: its address; private ones have one for each work-item
    add sub mul udiv sdiv urem srem and or xor shl lshr ashr fadd fsub fmul fdiv frem fneg
                     the first four of the floats: None, or rtz rtp rtn
    icmp fcmp        LLVM's predicate
    select(condition, then, otherwise)
    cast             trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp bitcast ptrtoint inttoptr; floats to
                     integers also with .sat; rounding conversions also with .rte .rtz .rtp .rtn
    intrinsic        bitreverse ctpop …: LLVM's name without "llvm."
    math             (OpenCL.std's name, components); several results are parts
    offset(pointer, bytes as i64)
    load(pointer)    Access; store(pointer, components…) Access; copy(to, from, bytes as i64) Access
    part(operation)  index
    atomic(pointer, operands…) Atomic
    fence            scope
    barrier          "group" or "sub_group"; later also Combine, or "joint" where regions end without waiting, or
                     "piece" where a long body is cut; its flags name the memories that it orders: local global
    group(operands…) Collective; its flags are "converged" where all lanes of a sub-group have to reach it
    group_copy(to, from, elements, stride) Access: once for the whole group; its count is an element's bytes, its space
                     that of `to`; the stride, in elements, belongs to the side that is global memory
    image_read(image, [sampler], coordinates…, [lod]) ImageAccess → 4 parts
    image_write(image, coordinates…, 4 components) ImageAccess
    image_query(image) what; handle_query(handle) is the same of a bindless handle, which may be invalid if unused
    sampler          (addressing, normalized, filter): a constant one
    printf(format, values…)
    fault            kind, see FAULTS
    function         (module, id): its address
    call(pointer, operands…)  Signature; several results are parts
    parameter        index; result(values…): parameters and results of a function that is called by its address
    space_of(pointer) i32: 0 global, 1 local, 2 private
    phi(a value for each predecessor)

Written by transformations that come after the translation:

    read  Slot       write(value)  Slot: a place that holds one value for each lane of a vector
    pack(float, float) float2: two values of each lane in one vector; unpack(float2) index: one of them
    entry_mask       i1
    any(mask)        i1, one for the whole vector; with "active", of a condition: inactive lanes do not count
    mask_and(mask, condition) mask_andn(mask, condition) mask_or(mask, mask)
    prefetch(pointer) bytes of each lane that are read some time later
    resident(pointer, [elements, [stride]]) Reach: the kernel ends where that memory is not resident
    bounds           (word of the arguments, "begin" or "size"): of the memory that a pointer among them leads to
    bounds_of(pointer) → 2 parts, begin and size, which the engine looks up
    check(begin, size) Check: the access that follows is reported, and not done, if it is out of these bounds
    note(pointer, [bytes as i64 | stored components…]) Note: tells the engine of the access that follows
    meet             Meet: tells the engine which lanes reach the operation that follows
    count            words: counts the lanes that run the block, for the source lines of these words
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from anyzero.compiler.operations import BLOCK_WRITES, OPERATIONS, PURE
from anyzero.layouts.kernel import CheckedAccess, CheckedMemory, FaultKind
from anyzero.lazy_dataclass import dataclass, field

Space = Literal["private", "local", "global", "constant", "generic", "code"]

SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8, "ptr": 8, "float2": 8}
"""Bytes of each type in memory. Integers of other widths are gone once the translation is done."""

PAIR = "float2"
"""Two floats of each lane in one vector: lane 0's, then lane 1's. Values of this type differ from lane to lane."""

WIDTHS = {name: size * 8 for name, size in SIZES.items()} | {f"i{bits}": bits for bits in range(1, 129)}
"""Bits of each type."""

FAULTS = {each.name.lower().replace("_", " "): each.value for each in FaultKind}
"""The engine's numbers of faults."""


@dataclass(slots=True, eq=False)
class Op:
    """An operation, and its result."""

    name: str
    type: str
    """LLVM's name of the scalar; empty where there is no result. The components' type where there are parts."""
    args: list[Op] = field(default_factory=list)
    info: Any = None
    flags: str = ""
    """LLVM's flags: fast-math ones, `nsw`, `nuw`, `exact`."""
    word: int = 0
    """The offset of its instruction in the SPIR-V module, in words, for messages."""
    block: Block | None = field(default=None, repr=False)

    @property
    def pure(self) -> bool:
        return self.name in PURE

    @property
    def may_write(self) -> bool:
        """May it change memory or an image? Slots do not count: only the kernel's own code accesses them."""
        if self.name == "group":
            return self.info.kind in BLOCK_WRITES
        return OPERATIONS[self.name].writes in ("memory", "image")

    def __repr__(self) -> str:
        return f"<{self.name} {self.type} {self.info if self.info is not None else ''}>"


@dataclass(slots=True, frozen=True)
class Access:
    """Properties of a memory access."""

    count: int = 1
    """Neighbouring components."""
    alignment: int = 1
    volatile: bool = False
    nontemporal: bool = False
    space: Space = "generic"


@dataclass(slots=True, frozen=True)
class Atomic:
    kind: str
    """load store exchange compare_exchange add sub and or xor smin smax umin umax fadd fmin fmax flag_set flag_clear

    compare_exchange has (pointer, value, comparator). increment and decrement are add and sub of 1.
    """
    scope: str
    """system device group sub_group item"""
    space: Space
    volatile: bool = False
    relaxed: bool = False
    """Does it order no other accesses?"""


@dataclass(slots=True, frozen=True)
class Collective:
    """A collective operation of a group or sub-group."""

    scope: str
    """group or sub_group"""
    kind: str
    """reduce inclusive exclusive (with `operation`); broadcast(value, index or 3 indices); broadcast_first any all
    all_equal elect ballot (4 parts of i32) inverse_ballot ballot_bit ballot_count ballot_inclusive ballot_exclusive
    ballot_lsb ballot_msb shuffle(value, lane) shuffle_xor(value, mask) shuffle_up(value, by) shuffle_down(value, by)
    shuffle_rotate(value, by) intel_shuffle_up(previous, current, by) intel_shuffle_down(current, next, by)
    block_read(pointer) → parts block_write(pointer, components…)
    image_block_read(image, byte in the row, row) → parts image_block_write(image, byte, row, components…)
    """
    operation: str = ""
    """add mul smin smax umin umax fadd fmul fmin fmax and or xor logical_and logical_or logical_xor"""
    cluster: int = 0
    """The cluster size, where it is not the whole group or sub-group."""
    count: int = 1


@dataclass(slots=True, frozen=True)
class ImageAccess:
    kind: int
    """Of the texels: 0 float, 1 signed, 2 unsigned; halves are converted by casts."""
    coordinates: int
    float_coordinates: bool = False
    sampler: bool = False
    lod: bool = False


@dataclass(slots=True, frozen=True)
class Reach:
    """The extent of a memory access, for residency checks."""

    bytes: int
    """Bytes of each lane, or of each element where the number of elements is an operand."""
    rows: int = 0
    """Rows of a sub-group's block access, from the address of the first lane on."""


@dataclass(slots=True, frozen=True, eq=False)
class Check:
    """An access that is compared with bounds."""

    access: Op
    kind: CheckedAccess
    element: int
    """Bytes of a component."""
    count: int
    """Components side by side."""
    alignment: int
    """The alignment that the access assumes."""
    memory: CheckedMemory
    name: str = ""
    """Of the variable."""
    interleaved: bool = False
    """Is it a private array whose elements of all lanes lie side by side?"""
    operand: int = 0
    """The index of the pointer operand. A copy has a check for each pointer, without a number of components."""
    flags: int = 0
    """CheckFlag: what is known of an image access."""


@dataclass(slots=True, frozen=True, eq=False)
class Note:
    """An access that is noted for check mode."""

    kind: CheckedAccess
    element: int
    """Bytes of a component."""
    count: int
    """Components side by side; 0 where the number of bytes is an operand."""
    memory: CheckedMemory
    name: str
    """Of the variable."""
    flags: int
    """Flags of NoteFlag that do not depend on the pointer's stride."""
    granule: int
    """All accesses of the kernel begin and end at multiples of so many bytes."""
    argument: int | None = None
    """The word of the arguments that the pointer was made from; the engine says whether to note its accesses."""
    once: bool = False
    """Does the first work-item of the group do it for all?"""
    sub_groups: bool = False
    """Are there barriers of sub-groups?"""
    access: Op | None = None
    """The load, store or atomic operation, which may have a check of its bounds."""


@dataclass(slots=True, frozen=True)
class Meet:
    """A barrier or a collective operation."""

    group: bool
    """Is it of the whole group, or of a sub-group?"""
    name: str


@dataclass(slots=True, eq=False)
class Variable:
    """A variable or constant of the kernel, in memory."""

    size: int
    alignment: int
    space: Space
    name: str = ""
    offset: int = 0
    """The offset in local memory or in the module's block of globals, once laid out."""
    module: int = 0
    """The module whose block it is in: 0 the kernel's own, 1 … those that are linked to it."""
    image: bytes | None = None
    """Contents of a constant that lies in the code itself, or of local memory when a group begins; no bytes at all
    stand for zeros there.
    """
    functions: tuple[tuple[int, tuple[int, int]], ...] = ()
    """Offsets of function addresses in it: module and id of each."""
    addresses: tuple[tuple[int, Variable, int], ...] = ()
    """Offsets of other variables' addresses in it, with an addend."""
    element: int = 0
    """The element size of an interleaved private array."""
    extents: tuple[int, ...] = ()
    """The dimensions of a local array, the contiguous one last."""
    read_only: bool = False
    """Is it a constant of the program that lies in a module's block?"""
    of_thread: bool = False
    """Does it belong to the thread, and stay from group to group? Its space is `local`."""


@dataclass(slots=True, frozen=True)
class Signature:
    """The signature of a function that is called through a pointer; composites are flattened to scalars."""

    results: tuple[str, ...]
    """Empty without a result; with several, the types of the parts."""
    parameters: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Slot:
    """A place for a value of one type; its shape says whether lanes differ."""

    type: str
    name: str = ""
    shape: Any = None
    across: bool = False
    """Is it live across a barrier?"""
    memory: bool = False
    """Is it kept in memory between its uses?"""


@dataclass(slots=True, frozen=True, eq=False)
class Combine:
    """A reduction at a barrier: the vectors' slots are combined once all have written theirs."""

    kind: str
    """total: each slot then holds the reduction of all; before: the exclusive prefix before its vector; pick: the value
    in `source` of the work-item that `places` name.
    """
    operation: str
    slot: Slot
    source: Slot | None = None
    places: tuple[Slot, ...] = ()


@dataclass(slots=True, eq=False)
class Block:
    number: int
    phis: list[Op] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    predecessors: list[Block] = field(default_factory=list, repr=False)
    """In the order of the phis' arguments, each once."""
    condition: Op | None = None
    """The condition of a branch with two successors; the first is taken if it holds."""
    successors: list[Block] = field(default_factory=list, repr=False)
    """None: the work-item ends."""

    def append(self, op: Op) -> Op:
        op.block = self
        self.ops.append(op)
        return op

    def add_phi(self, op: Op) -> Op:
        op.block = self
        self.phis.append(op)
        return op

    @property
    def everything(self) -> Iterator[Op]:
        yield from self.phis
        yield from self.ops

    def __repr__(self) -> str:
        return f"<block {self.number}>"


@dataclass(slots=True, eq=False)
class Body:
    """A kernel, or a function that is called through a pointer."""

    name: str
    blocks: list[Block] = field(default_factory=list)
    """The entry first; every block after its dominators."""
    variables: list[Variable] = field(default_factory=list)
    constants: dict[tuple[str, int], Op] = field(default_factory=dict, repr=False)

    def const(self, type_: str, bits: int) -> Op:
        """Constants belong to no block; each exists once."""
        bits &= (1 << WIDTHS[type_]) - 1
        found = self.constants.get((type_, bits))
        if found is None:
            found = self.constants[type_, bits] = Op("const", type_, info=bits)
        return found

    @property
    def ops(self) -> Iterator[Op]:
        for block in self.blocks:
            yield from block.phis
            yield from block.ops


@dataclass(slots=True, eq=False)
class Masks:
    """The mask of each block: the lanes that run it. Linearisation makes them."""

    of: dict[Block, Op] = field(default_factory=dict)

    def __getitem__(self, block: Block) -> Op:
        return self.of[block]
