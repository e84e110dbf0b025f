"""Uniformity: how a value differs between the lanes of a vector (uniform, strided, varying), and divergent branches.

A value is uniform (the same number in all lanes), strided (a constant apart from lane to lane) or varying. The analysis
is optimistic: every value counts as uniform until an operand or a branch shows otherwise, so loops reach the best fixed
point.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from anyzero.compiler.analysis.joins import Joins, Known
from anyzero.compiler.analysis.known_bits import bitwise_stride, low_zeros
from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.dominators import Dominators, dominators, order
from anyzero.compiler.ir import SIZES, Block, Body, Collective, Op
from anyzero.compiler.operations import ALWAYS_UNIFORM, INTEGER, NEVER_UNIFORM, STRIDED
from anyzero.lazy_dataclass import dataclass, field
from anyzero.lazy_namedtuple import NamedTuple


class Shape(NamedTuple):
    stride: int | None
    """The difference between neighbouring lanes, modulo the type's range; None: varying."""
    exact: bool = True
    """Does a lane's value follow from lane 0's? Not that of a number that was widened from 32 bits and could wrap
    around between two lanes; but lanes on both sides of such a gap cannot both point into one buffer of less than 4
    GiB.
    """

    @property
    def uniform(self) -> bool:
        return self.stride == 0

    @property
    def varying(self) -> bool:
        return self.stride is None


UNIFORM = Shape(0)
VARYING = Shape(None)

_BITWISE = INTEGER - {"add", "sub", "mul", "shl"}
_UNIFORM_IDS = {"group_id", "global_size", "group_size", "group_count", "global_offset", "work_dim"}
_UNIFORM_IDS |= {"sub_group_size", "sub_group_max_size", "sub_group_count", "sub_group_id"}
_LOW_HALVES = {(1 << 31) - 1, (1 << 32) - 1}
_UNIFORM_COLLECTIVES = {"reduce", "broadcast", "broadcast_first", "any", "all", "all_equal", "ballot"}


@dataclass(slots=True, eq=False)
class Shapes:
    of: dict[Op, Shape] = field(default_factory=dict)
    divergent: set[Block] = field(default_factory=set)
    """Blocks that end in a divergent branch."""
    divergent_loops: set[Loop] = field(default_factory=set)
    """Loops that lanes may leave in different iterations or by different exits."""
    joins: set[Block] = field(default_factory=set)
    """Joins of divergent branches."""

    def __getitem__(self, op: Op) -> Shape:
        return self.of.get(op, UNIFORM)


class Flow:
    """The acyclic flow graph of a body: a latch's successors are the exits of its loop."""

    def __init__(self, body: Body, loops: Loops, immediate: Dominators[Block]) -> None:
        self.loops = loops
        self.immediate = immediate
        self.sink = Block(-1)
        self.forward: dict[Block, list[Block]] = {}
        for block in body.blocks:
            self.forward[block] = [each for each in block.successors if each.number > block.number]
        for loop in loops.all:
            for latch in loop.latches:
                targets = [target for _, target in loop.exits] or [self.sink]
                self.forward[latch] = list(dict.fromkeys([*self.forward[latch], *targets]))
        backward: dict[Block, list[Block]] = {block: [] for block in [*body.blocks, self.sink]}
        for block, targets in self.forward.items():
            for target in targets or [self.sink]:
                backward[target].append(block)
        self.backward = backward
        known = self.forward
        self.order = order(body.blocks[0], lambda block: [each for each in known[block] if each is not self.sink])
        self.place = {block: place for place, block in enumerate(self.order)}
        self.post = dominators(self.sink, lambda block: backward[block])

    def post_dominates(self, later: Block, earlier: Block) -> bool:
        return self.post.dominates(later, earlier)

    @cached_property
    def joins(self) -> Joins:
        return Joins(self.order, self.forward, self.immediate, self.post)

    def anchor(self, block: Block) -> Block:
        """The nearest dominator that is in no loop that this block is not in."""
        above = self.immediate[block]
        while True:
            # A block outside of one loop may still be inside of another one, which this block comes after.
            left = next((loop for loop in reversed(self.loops.around(above)) if block not in loop), None)
            if left is None:
                return above
            above = self.immediate[left.header]


def analyse(body: Body, flow: Flow, lanes: int, linear: bool = False, flat: bool = False) -> Shapes:
    shapes = Shapes()
    if lanes == 1:
        return shapes
    Finding(body, flow, shapes, lanes, linear, flat).run()
    return shapes


class Finding:
    def __init__(self, body: Body, flow: Flow, shapes: Shapes, lanes: int, linear: bool, flat: bool) -> None:
        self.lanes = lanes
        self.flat = flat
        """Do vectors end where the low half of a global id would wrap around?"""
        self.linear = linear
        """Do vectors continue from one row into the next? Then ids are not strided."""
        self.body = body
        self.flow = flow
        self.shapes = shapes
        self.known: dict[Op, Shape] = shapes.of

        self.exits = {loop: loop.exits for loop in flow.loops.all}
        self.fronts: Known = {}
        self.headers: set[Block] = set()
        """Loop-carried values of divergent loops."""
        self.last: dict[Block, list[Loop]] = {}
        """Loops by the last of their blocks, inner ones first."""
        for loop in reversed(flow.loops.all):
            self.last.setdefault(max(loop.blocks, key=lambda block: block.number), []).append(loop)

    def run(self) -> None:
        """Iterates to a fixed point, in reverse post-order: all definitions but loop-carried ones come before their
        uses. So a round is the last one if it leaves the phis of loop headers as they were, and has found no divergence
        that concerns earlier blocks.
        """
        blocks = self.body.blocks
        headers = [block for block in blocks if any(each.number >= block.number for each in block.predecessors)]
        changed = True
        while changed:
            changed = self._round()
            for block in headers:
                for op in block.phis:
                    changed |= self._set(op, self._phi(op, block))

    def _round(self) -> bool:
        """True if a new divergence concerns blocks that came before it."""
        late = False
        for block in self.body.blocks:
            for op in block.phis:
                self._set(op, self._phi(op, block))
            for op in block.ops:
                self._set(op, self._shape(op, block))
            late |= self._branch(block)
            for loop in self.last.get(block, ()):
                late |= self._leave(loop, block)
        return late

    # Values

    def _set(self, op: Op, shape: Shape | None) -> bool:
        old = self.known.get(op)
        if shape is None or old == shape:
            return False
        if old is not None:
            if old.varying:
                return False
            if old.stride != shape.stride:
                # Shapes only go down the lattice: a stride that changed once would go on changing.
                shape = VARYING
            elif not old.exact:
                return False
        self.known[op] = shape
        return True

    def _argument(self, op: Op, block: Block) -> Shape | None:
        """The value's shape at a use in `block`; None while unknown."""
        if op.block is None:
            return UNIFORM
        shape = self.known.get(op)
        if op.block is not block and self.shapes.divergent_loops and shape is not None and not shape.varying:
            for loop in self.flow.loops.around(op.block):
                if block not in loop and loop in self.shapes.divergent_loops:
                    return VARYING
        return shape

    def _phi(self, op: Op, block: Block) -> Shape | None:
        found = [shape for shape in (self._argument(each, block) for each in op.args) if shape is not None]
        if not found:
            return None
        if any(shape.varying for shape in found) or len({shape.stride for shape in found}) > 1:
            return VARYING
        if block in self.shapes.joins and any(each is not op.args[0] for each in op.args):
            return VARYING
        return Shape(found[0].stride, all(shape.exact for shape in found))

    def _shape(self, op: Op, block: Block) -> Shape | None:
        name = op.name
        if name in ALWAYS_UNIFORM:
            return UNIFORM
        if name == "builtin":
            which, dimension = op.info
            if which in _UNIFORM_IDS:
                return UNIFORM
            if self.linear and which in ("global_id", "local_id"):
                return VARYING
            if which == "sub_group_local_id" or (which in ("global_id", "local_id") and dimension == 0):
                return Shape(1)
            return UNIFORM if which in ("global_id", "local_id") else VARYING
        if name == "variable":
            return Shape(op.info.element or op.info.size) if op.info.space == "private" else UNIFORM
        if name == "read":
            return op.info.shape  # type: ignore[no-any-return]
        if name in NEVER_UNIFORM:
            return VARYING
        known: list[Shape] = []
        uniform = True
        for each in op.args:
            shape = self._argument(each, block)
            if shape is None:
                return None
            known.append(shape)
            if shape.stride != 0:
                uniform = False
        if name == "group":
            return self._collective(op.info, known)
        if uniform:
            return UNIFORM
        if name in STRIDED and op.type not in ("i1", "half", "float", "double"):
            found = self._arithmetic(op, known)
            # Two gaps may lie at different lanes, so they do not cancel each other.
            return VARYING if found.uniform and not found.exact else found
        return VARYING

    def _collective(self, what: Collective, given: list[Shape]) -> Shape:
        if what.kind in _UNIFORM_COLLECTIVES and not what.cluster:
            return UNIFORM
        if what.kind in ("shuffle", "ballot_bit", "inverse_ballot") and given[-1].uniform and what.kind == "shuffle":
            return UNIFORM
        return VARYING

    def _arithmetic(self, op: Op, given: list[Shape]) -> Shape:
        strides = [shape.stride for shape in given]
        exact = all(shape.exact for shape in given)
        modulus = 1 << (SIZES[op.type] * 8)

        def wrapped(stride: int) -> int:
            stride %= modulus
            return stride - modulus if stride >= modulus // 2 else stride

        name = op.name
        if name == "select":
            if strides[0] == 0 and strides[1] == strides[2] and strides[1] is not None:
                return Shape(strides[1], exact)
            return VARYING
        if any(stride is None for stride in strides):
            return VARYING
        first = strides[0] or 0
        if name == "cast":
            return self._cast(op, first, exact)
        second = strides[1] or 0
        if name in ("add", "offset"):
            return Shape(wrapped(first + second), exact)
        if name == "sub":
            return Shape(wrapped(first - second), exact)
        if name == "mul":
            for one, other in ((0, 1), (1, 0)):
                if op.args[one].name == "const" and strides[other] is not None:
                    return Shape(wrapped(op.args[one].info * (strides[other] or 0)), exact)
            return VARYING
        if name == "shl" and op.args[1].name == "const":
            return Shape(wrapped(first << (op.args[1].info % (SIZES[op.type] * 8))), exact)
        if name == "or" and second == 0 and op.args[1].name == "const":
            # Clang writes x * 4 + 1 as an or; no lane has the low bits.
            low = low_zeros(op.args[0])
            if op.args[1].info < 1 << low:
                return Shape(first, exact)
        if name == "xor" and op.args[1].name == "const" and op.args[1].info == modulus - 1:
            # Clang writes n - 1 - x as n + ~x.
            return Shape(wrapped(-first), exact)
        if name == "and" and self.flat and _is_low_half(op):
            return Shape(first)
        if name in _BITWISE and exact:
            return Shape(bitwise_stride(op, strides, self.lanes))
        return VARYING

    def _cast(self, op: Op, stride: int, exact: bool) -> Shape:
        kind = op.info
        source = op.args[0].type
        if kind in ("ptrtoint", "inttoptr", "bitcast") and source != op.type and SIZES[source] == SIZES[op.type]:
            return Shape(stride, exact) if op.type not in ("half", "float", "double") and source[0] in "ip" else VARYING
        if kind == "trunc":
            modulus = 1 << (SIZES[op.type] * 8)
            stride %= modulus
            return Shape(stride - modulus if stride >= modulus // 2 else stride, exact)
        # A number that wraps around more than once within a vector may come back to the same buffer.
        if kind in ("sext", "zext") and source == "i32" and abs(stride) * self.lanes < 1 << 31:
            return Shape(stride, exact and cannot_wrap(op.args[0], self.flat))
        return VARYING

    # Control flow

    def _branch(self, block: Block) -> bool:
        """Marks a divergent branch; True if it is new and a join of it comes before it."""
        shapes = self.shapes
        if block.condition is None or block in shapes.divergent:
            return False
        found = self._argument(block.condition, block)
        if found is None or found.uniform:
            return False
        shapes.divergent.add(block)
        edges = [(block, target) for target in block.successors]
        return self.flow.joins.of(edges, shapes.joins.add, self.fronts) <= block.number

    def _leave(self, loop: Loop, last: Block) -> bool:
        """Marks a divergent loop; True if it is new and has an exit before its last block."""
        shapes = self.shapes
        if loop in shapes.divergent_loops or not self._parts(loop):
            return False
        shapes.divergent_loops.add(loop)
        self.headers.add(loop.header)
        self.flow.joins.of(self.exits[loop], shapes.joins.add, self.fronts)
        return any(target.number < last.number for _, target in self.exits[loop])

    def _parts(self, loop: Loop) -> bool:
        """Is there an exit that only some of the lanes that diverged in the loop may take?"""
        shapes, place, post = self.shapes, self.flow.place, self.flow.post
        sources = {source for source, _ in self.exits[loop]}
        if not sources.isdisjoint(shapes.divergent):
            return True
        headers = self.headers
        apart = [block for block in loop.blocks if block in shapes.divergent or block in headers]
        if not apart:
            return False
        order = sorted(place[block] for block in apart)
        positions = sorted(post.span(block)[0] for block in apart)
        for source in sources:
            first, stop = post.span(source)
            # The source post-dominates these.
            sure = bisect_left(positions, stop) - bisect_left(positions, first) - (source in headers)
            if bisect_left(order, place[source]) != sure:
                return True
        return False


def _is_low_half(op: Op) -> bool:
    """Is it a global id without its upper bits? Clang extends an `int` so that it knows not to be negative. Vectors
    that end where the low half would wrap around end where 31 bits of it would.
    """
    id_, mask = op.args
    return mask.name == "const" and mask.info in _LOW_HALVES and id_.name == "builtin" and id_.info == ("global_id", 0)


def cannot_wrap(op: Op, flat: bool) -> bool:
    """Is a narrow strided value known not to wrap around between two lanes of a vector?

    Local ids are small, so their low halves do not; those of global ids do not where vectors end there.
    """
    if op.name != "cast" or op.info != "trunc":
        return False
    source = op.args[0]
    return source.name == "builtin" and (flat or source.info[0] != "global_id")
