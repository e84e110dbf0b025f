"""Scalarization: code unrolled lane by lane for full masks.

Addresses are not extracted from vectors of pointers: their varying part is often a narrow index, of which a scalar
register holds several, and addressing modes add base, index and scale for free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import SIZES, Op
from anyzero.compiler.llvm import I64, Type, Value
from anyzero.compiler.lower import prefix_masks
from anyzero.compiler.lower.emitter import Emitter

PIECE = 8
"""Bytes that are extracted from a vector at once."""

ROUND = 16
"""Lanes that are unrolled; more of them are a loop. Processors predict store-to-load dependences only for a limited
number of instructions: 32 increments of one counter may take eight times as long as twice 16.
"""


def whole_or_part(e: Emitter) -> tuple[MutableMapping[object, Value], str, str, str]:
    """Branches on a full mask; returns the available values, and the labels of both sides and of the end."""
    op = e.mask_op
    assert op is not None
    number = prefix_masks.count(e, op)
    if number is None:
        # LLVM knows that the remainder of a row is shorter than a vector, and drops the code for whole vectors there.
        every = e.all(e.vector(op)) & e.frame.given["whole"]
    else:
        every = e.b.compare("eq", number, e.lanes) & e.all_exist()
    known = e.known
    all_here, some, join = e.label(), e.label(), e.label()
    e.b.branch(every, all_here, some)
    return known, all_here, some, join


Body = Callable[..., Value | None]


def written_out(
    e: Emitter, operands: list[Op], result: str, body: Body, otherwise: Callable[[], list[Value]]
) -> Value | None:
    """`body(*scalars)` for each lane under a full mask, else `otherwise`; `result` is the type of their results, or
    empty.
    """
    b = e.b
    vectors = {leaf: e.vector(leaf) for each in operands for leaf in _leaves(e.shapes, each)}
    known, all_here, some, join = whole_or_part(e)
    e.start(all_here)
    work = _round if e.lanes <= ROUND else _rounds
    whole, whole_end = work(e, operands, vectors, b.constant(0, I64), result, body), e.last_label()
    b.jump(join)
    e.start(some)
    e.remember(known)
    part, part_end = otherwise(), e.last_label()
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    if whole is None:
        return None
    return b.phi((whole, whole_end), (part[0], part_end))


def _rounds(
    e: Emitter, operands: list[Op], vectors: dict[Op, Value], start: Value, result: str, body: Body
) -> Value | None:
    b = e.b
    places = {leaf: e.allocate(vector.type) for leaf, vector in vectors.items()}
    counter = e.allocate(I64)
    out = Type(result, e.lanes) if result else None
    found = e.allocate(out) if out else None
    for leaf, place in places.items():
        b.store(vectors[leaf], place)
    b.store(start, counter)
    head, done = e.label(), e.label()
    b.jump(head)
    e.start(head)
    first = b.load(I64, counter)
    left = {leaf: b.load(vectors[leaf].type, place) for leaf, place in places.items()}
    now = {leaf: b.shuffle(vector, None, range(ROUND)) for leaf, vector in left.items()}
    made = _round(e, operands, now, first, result, body)
    if made is not None and found is not None:
        to = e.moved(found, first * SIZES[result])
        b.store(made, to, align=SIZES[result])
    for leaf, vector in left.items():
        # The lanes of the next iteration are shifted to the front.
        moved = b.shuffle(vector, None, [*range(ROUND, e.lanes), *(-1 for _ in range(ROUND))])
        b.store(moved, places[leaf])
    after = first + ROUND
    b.store(after, counter)
    b.branch(b.compare("ult", after, e.lanes), head, done)
    e.start(done)
    return b.load(out, found) if found is not None and out is not None else None


def _round(
    e: Emitter, operands: list[Op], vectors: dict[Op, Value], first: Value, result: str, body: Body
) -> Value | None:
    lanes = _Lanes(e, vectors, first)
    count = min(e.lanes, ROUND)
    found = e.b.poison(Type(result, count)) if result else None
    for lane in range(count):
        one = body(*(lanes.of(each, lane) for each in operands))
        if found is not None:
            assert one is not None
            found = e.b.with_lane(found, lane, one)
    return found


def has_narrow_index(pointer: Op, shapes: Shapes) -> bool:
    """Does an address differ between lanes by one number of at most four bytes?"""
    varying = list(_leaves(shapes, pointer))
    return len(varying) == 1 and SIZES[varying[0].type] < PIECE


def _scalars(shapes: Shapes, op: Op) -> list[Op] | None:
    """The operands that a lane's scalar is recomputed from; None where it is extracted from the vector."""
    if not shapes[op].varying:
        return []
    if op.name == "offset":
        return op.args
    if op.name == "cast" and op.info in ("zext", "sext") and op.args[0].type != "i1":
        return op.args
    if op.name in ("mul", "shl", "add") and op.type == "i64" and op.args[1].name == "const":
        return op.args
    return None


def _leaves(shapes: Shapes, op: Op) -> Iterator[Op]:
    inner = _scalars(shapes, op)
    if inner is None:
        yield op
    for each in inner or []:
        yield from _leaves(shapes, each)


class _Lanes:
    """Scalars of single lanes, computed from uniform values and extracted ones."""

    def __init__(self, e: Emitter, vectors: dict[Op, Value], first: Value) -> None:
        self.e = e
        self.vectors = vectors
        self.first = first
        self._pieces: dict[tuple[Op, int], Value] = {}

    def of(self, op: Op, lane: int) -> Value:
        e, b = self.e, self.e.b
        inner = _scalars(e.shapes, op)
        if inner is None:
            return self._taken(op, lane)
        if not inner:
            return e.lane_of(op, self.first + lane)
        values = [self.of(each, lane) for each in inner]
        if op.name == "offset":
            return e.moved(*values)
        if op.name == "cast":
            return b.cast(op.info, values[0], op.type)
        return b.binary(op.name, *values)

    def _taken(self, op: Op, lane: int) -> Value:
        """Extracts several narrow numbers at once, and separates them by shifts."""
        b, vector = self.e.b, self.vectors[op]
        size = SIZES[op.type]
        each = PIECE // size
        if vector.type.is_float or each == 1 or vector.type.lanes % each:
            return b.lane(vector, lane)
        key = op, lane // each
        piece = self._pieces.get(key)
        if piece is None:
            pieces = Type("i64", vector.type.lanes // each)
            whole = b.reinterpret(vector, pieces)
            # Hidden from LLVM, which would extract each number by itself, which is slower.
            piece = b.op("call", I64, 'i64 asm "", "=r,0"(i64 %s)', b.lane(whole, lane // each), kind="effect")
            self._pieces[key] = piece
        place = lane % each
        return b.cast("trunc", piece.lshr(place * 8 * size) if place else piece, op.type)
