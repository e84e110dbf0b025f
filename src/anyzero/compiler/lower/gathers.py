"""Gathers and scatters, or scalar accesses lane by lane where the target has none.

Contiguous components are combined up to the widest integer, because a lane's access costs the same for any size.
"""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, Access
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower import transposition
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.lane_counts import count_access
from anyzero.compiler.lower.scalarize import whole_or_part
from anyzero.compiler.lower.transposition import WORD
from anyzero.layouts.container import CounterKind
from anyzero.layouts.kernel import GRID_OFFSETS

MOST_WRITTEN_OUT = 32
"""The most lanes whose scalar loads are unrolled."""

LARGEST = 8
"""The most bytes of combined components."""

ZEROS = 24
"""Bytes of a launch's offset."""


def whole_type(element: str) -> str:
    """The integer type of a pointer: masked accesses take no vectors of pointers."""
    return "i64" if element == "ptr" else element


def typed(e: Emitter, value: Value, element: str) -> Value:
    return e.b.cast("inttoptr", value, "ptr") if element == "ptr" else value


def untyped(e: Emitter, value: Value) -> Value:
    return e.b.cast("ptrtoint", value, "i64") if value.type.element == "ptr" else value


def aligned(access: Access, size: int) -> int:
    """The alignment of every component."""
    return min(access.alignment, size) if access.alignment else size


def together(size: int, count: int) -> int:
    """The number of contiguous components that fit into one integer."""
    many = 1
    while count % (many * 2) == 0 and size * many * 2 <= LARGEST:
        many *= 2
    return many


def gather(e: Emitter, pointers: Value, element: str, access: Access) -> list[Value]:
    size = SIZES[element]
    # Words are taken apart by more code than the first stage is to have.
    if transposition.rows_fit(e, access, size) and (size >= WORD or not e.choices.options.one_version):
        mask = e.mask
        assert mask is not None
        count_access(e, CounterKind.GATHER)
        safe = e.b.select(mask, pointers, idle_address(e, size * access.count))
        whole, many = words(element, access.count)
        found = transposition.rows(e, lambda lane: e.b.lane(safe, lane), whole, many, aligned(access, size))
        return [typed(e, each, element) for each in parts_of(e, found, element)]
    many = together(size, access.count)
    if many == 1:
        return [
            gather_one(e, e.moved(pointers, place * size), element, aligned(access, size))
            for place in range(access.count)
        ]
    found = []
    for first in range(0, access.count, many):
        joined = gather_one(e, e.moved(pointers, first * size), f"i{8 * size * many}", aligned(access, size * many))
        found += [piece(e, joined, element, place) for place in range(many)]
    return found


def words(element: str, count: int) -> tuple[str, int]:
    """The type and number of the elements that are transposed: those of less than a word are joined to words."""
    size = SIZES[element]
    return (whole_type(element), count) if size >= WORD else (f"i{8 * WORD}", count * size // WORD)


def parts_of(e: Emitter, words: list[Value], element: str) -> list[Value]:
    """Components of words that were loaded."""
    many = max(WORD // SIZES[element], 1)
    return words if many == 1 else [piece(e, word, element, place) for word in words for place in range(many)]


def words_of(e: Emitter, values: list[Value]) -> list[Value]:
    """Words of components that are to be stored."""
    size = SIZES[values[0].type.element]
    many = max(WORD // size, 1)
    if many == 1:
        return [untyped(e, value) for value in values]
    return [joined_parts(e, values[first : first + many], size) for first in range(0, len(values), many)]


def piece(e: Emitter, joined: Value, element: str, place: int) -> Value:
    bits = 8 * SIZES[element]
    narrow = e.b.cast("trunc", joined.lshr(place * bits) if place else joined, f"i{bits}")
    return e.b.bitcast(narrow, element)


def idle_address(e: Emitter, size: int) -> Value:
    """Where inactive lanes load so many bytes: accessible memory, and zeros where they fit, as most launches have no
    offset. Sizes of a launch would be denormal floats, of which a division takes a hundred cycles.
    """
    place = GRID_OFFSETS["global_offset"]
    return e.b.spread(e.moved(e.frame.grid, place if size <= ZEROS else 0), e.lanes)


def gather_one(e: Emitter, pointers: Value, element: str, alignment: int) -> Value:
    b, lanes = e.b, e.lanes
    mask = e.mask
    assert mask is not None
    count_access(e, CounterKind.GATHER)
    whole = Type(whole_type(element), lanes)
    if _by_intrinsic(e, mask) and whole.bits >= 32:
        name = f"llvm.masked.gather.{whole.mangled}.v{lanes}p0"
        b.intrinsics.setdefault(name, f"declare {whole} @{name}(<{lanes} x ptr>, <{lanes} x i1>, {whole})")
        found = b.op(
            "call",
            whole,
            f"{whole} @{name}(<{lanes} x ptr> align {alignment} %s, {mask.type} %s, {whole} poison)",
            pointers,
            mask,
            kind="reads",
        )
        return typed(e, found, element)
    if lanes > MOST_WRITTEN_OUT:
        return typed(e, _picked(e, pointers, whole, alignment), element)
    # Inactive lanes load from an address that is always valid.
    safe = b.select(mask, pointers, idle_address(e, whole.bits // 8))
    found = b.poison(whole)
    for place in range(lanes):
        one = b.load(Type(whole.element), b.lane(safe, place), align=alignment)
        found = b.with_lane(found, place, one)
    return typed(e, found, element)


def _by_intrinsic(e: Emitter, mask: Value) -> bool:
    """Is LLVM's own expansion better? Without hardware gathers it is if LLVM knows that all lanes are active, as it
    does for constant masks; otherwise it emits a branch for each lane.
    """
    if e.choices.gathers or e.choices.options.gathers is False or e.choices.target.register < 32:
        return e.choices.gathers
    op = e.mask_op
    return not mask.text.startswith("%") or (op is not None and op.name == "entry_mask")


def _picked(e: Emitter, pointers: Value, whole: Type, alignment: int) -> Value:
    """A loop over the lanes: unrolled, so many lanes would be too much code."""

    def one(_: Value, address: Value) -> list[Value]:
        return [e.b.load(Type(whole.element), address, align=alignment)]

    return e.for_each_lane([pointers], [Type(whole.element)], one)[0]


def scatter(e: Emitter, pointers: Value, values: list[Value], access: Access) -> None:
    size = SIZES[values[0].type.element]
    if not transposition.fits(e, access, size) or e.choices.options.one_version:
        _scatter(e, pointers, values, access)
        return
    known, all_here, some, join = whole_or_part(e)
    e.start(all_here)
    count_access(e, CounterKind.SCATTER)
    transposition.store(e, lambda lane: e.b.lane(pointers, lane), words_of(e, values), aligned(access, size))
    e.b.jump(join)
    e.start(some)
    e.remember(known)
    _scatter(e, pointers, values, access)
    e.b.jump(join)
    e.start(join)
    e.forget_since(known)


def _scatter(e: Emitter, pointers: Value, values: list[Value], access: Access) -> None:
    size = SIZES[values[0].type.element]
    many = together(size, len(values))
    for first in range(0, len(values), many):
        group = values[first : first + many]
        joined = untyped(e, group[0]) if many == 1 else joined_parts(e, group, size)
        _scatter_one(e, e.moved(pointers, first * size), joined, aligned(access, size * many))


def joined_parts(e: Emitter, values: list[Value], size: int) -> Value:
    """Packs contiguous components into one integer, the first lowest."""
    b = e.b
    joined: Value | None = None
    for place, value in enumerate(values):
        # Poison in one component must not spread to the others.
        some = b.freeze(value)
        wide = b.cast("zext", b.bitcast(some, f"i{8 * size}"), f"i{8 * size * len(values)}")
        joined = wide if joined is None else joined | wide.shl(place * 8 * size)
    assert joined is not None
    return joined


def _scatter_one(e: Emitter, pointers: Value, value: Value, alignment: int) -> None:
    b, lanes = e.b, e.lanes
    mask = e.mask
    assert mask is not None
    count_access(e, CounterKind.SCATTER)
    if not e.choices.scatters or value.type.bits < 32:

        def put(_: Value, address: Value, value: Value) -> list[Value]:
            b.store(value, address, align=alignment)
            return []

        e.for_each_lane([pointers, value], [], put)
        return
    name = f"llvm.masked.scatter.{value.type.mangled}.v{lanes}p0"
    b.intrinsics.setdefault(name, f"declare void @{name}({value.type}, <{lanes} x ptr>, <{lanes} x i1>)")
    b.line(f"call void @{name}({value.typed}, <{lanes} x ptr> align {alignment} {pointers.text}, {mask.typed})")
