"""Merges accesses of neighbouring elements into one: `a[2 * i]` and `a[2 * i + 1]` become a load of two components.

Its lanes are contiguous, where each of the two would skip every other element. Members of a structure whose lanes lie
far apart become accesses of sixteen bytes. A load joins the first one of its group, stores the last one; what lies in
between must not touch their memory.
"""

from __future__ import annotations

from anyzero.compiler.analysis.aliases import Aliases
from anyzero.compiler.analysis.distances import Address, Key, address_of, bytes_of
from anyzero.compiler.analysis.uniformity import VARYING, Shapes
from anyzero.compiler.ir import SIZES, Block, Body, Op
from anyzero.compiler.operations import REMOVABLE
from anyzero.compiler.transform.blocks import substitute
from anyzero.lazy_dataclass import dataclass, field, replace

__all__ = ["merge_accesses"]

MOST_APART = 4
"""Elements from lane to lane, up to which interleaved components are shuffled apart."""
WIDEST = 128
"""Elements of all lanes."""
ROW = 16
"""Bytes that a lane accesses at once where lanes lie far apart."""
LINE = 64
"""Bytes from an access to an earlier one that it may join."""
_SPACES = ("global", "constant", "local")


def merge_accesses(body: Body, shapes: Shapes, lanes: int, aliases: Aliases, local: bool = True) -> bool:
    """True if any were merged; accesses of local memory only if `local` says so."""
    groups = [group for block in body.blocks for group in _groups(block, shapes, aliases)]
    if not local:
        groups = [group for group in groups if next(iter(group.order)).info.space != "local"]
    instead: dict[Op, Op] = {}
    merged = False
    for group in groups:
        for run in _runs(group, shapes, lanes):
            merged = True
            if group.loads:
                instead |= _load(body, shapes, run)
            else:
                _store(run)
    if instead:
        substitute(body, instead)
    return merged


def may_merge_more(body: Body, aliases: Aliases) -> bool:
    """May an access join an earlier one if those in between are known to be of other memory?"""
    return any(_passes(block, aliases) for block in body.blocks)


def _passes(block: Block, aliases: Aliases) -> bool:
    earlier: dict[tuple[str, Key], tuple[int, bool]] = {}
    """Of loads and stores: the last constant, and has one of the other kind come since?"""
    for op in block.ops:
        if op.name not in ("load", "store"):
            if op.name not in REMOVABLE:
                earlier = {}
            continue
        address = address_of(op.args[0])
        root, terms = address.key
        for at, (constant, _) in earlier.items():
            if at[0] != op.name and aliases.separate(at[1][0], root):
                earlier[at] = constant, True
        last, passed = earlier.get((op.name, address.key), (0, False))
        if passed and abs(address.constant - last) <= LINE:
            return True
        # Without terms it is the same element for all work-items.
        if terms and op.info.count == 1 and not op.info.volatile:
            earlier[op.name, address.key] = address.constant, False
    return False


@dataclass(slots=True, eq=False)
class _Group:
    """Accesses of one kind and type in a block, a constant distance apart."""

    key: Key
    type: str
    loads: bool
    members: dict[int, list[Op]] = field(default_factory=dict)
    """By their constants. Several loads may have the same."""
    passed: list[range] = field(default_factory=list)
    """Bytes that stores between these loads write."""
    order: dict[Op, int] = field(default_factory=dict)

    def add(self, constant: int, op: Op) -> None:
        self.order[op] = len(self.order)
        self.members.setdefault(constant, []).append(op)


def _groups(block: Block, shapes: Shapes, aliases: Aliases) -> list[_Group]:
    found: list[_Group] = []
    loads: dict[tuple[Key, str], _Group] = {}
    stores: dict[tuple[Key, str], _Group] = {}
    for op in block.ops:
        if op.name not in ("load", "store"):
            if op.name not in REMOVABLE:
                loads, stores = {}, {}
            continue
        address = address_of(op.args[0])
        if op.name == "store":
            # Only a store that lies a constant distance from the loads of a group, or leads to other memory, is known
            # not to meet them.
            loads = {
                at: each for at, each in loads.items() if at[0] == address.key or _separate(each, address, aliases)
            }
            _pass(loads, address, [_bytes(op, address)])
        stores = {at: each for at, each in stores.items() if not _may_meet(each, address, op, aliases)}
        if not _fit(op, shapes):
            continue
        type_ = op.type if op.name == "load" else op.args[1].type
        at, open_ = (address.key, type_), loads if op.name == "load" else stores
        joined = open_.get(at)
        if joined is None or any(_overlap(_bytes(op, address), each) for each in joined.passed):
            joined = open_[at] = _Group(address.key, type_, op.name == "load")
            found.append(joined)
        joined.add(address.constant, op)
        if op.name == "store":
            # The stores before move here, too, and later loads must not join a load in front of them.
            _pass(loads, address, [range(constant, constant + SIZES[type_]) for constant in joined.members])
    return [group for group in found if len(group.members) > 1]


def _pass(loads: dict[tuple[Key, str], _Group], address: Address, written: list[range]) -> None:
    for (key, _), group in loads.items():
        if key == address.key:
            group.passed += written


def _fit(op: Op, shapes: Shapes) -> bool:
    access = op.info
    plain = access.count == 1 and not access.volatile and not access.nontemporal and access.space in _SPACES
    return plain and not shapes[op.args[0]].uniform and (op.type if op.name == "load" else op.args[1].type) != "ptr"


def _bytes(op: Op, address: Address) -> range:
    return range(address.constant, address.constant + bytes_of(op))


def _overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop


def _separate(group: _Group, address: Address, aliases: Aliases) -> bool:
    return aliases.separate(group.key[0], address.key[0])


def _may_meet(group: _Group, address: Address, op: Op, aliases: Aliases) -> bool:
    if group.key != address.key:
        return not _separate(group, address, aliases)
    touched, size = _bytes(op, address), SIZES[group.type]
    return any(_overlap(range(constant, constant + size), touched) for constant in group.members)


def _runs(group: _Group, shapes: Shapes, lanes: int) -> list[list[tuple[int, Op]]]:
    """Members that are one access: constants with operations, in the order of their addresses. A constant that several
    loads have comes several times.
    """
    size = SIZES[group.type]
    constants = sorted(group.members)
    first = next(iter(group.order))
    stride = shapes[first.args[0]].stride
    if stride is not None and 0 < stride <= MOST_APART * size and stride % size == 0:
        if lanes * stride // size > WIDEST:
            return []
        pieces = _windows(constants, size, stride, group.loads)
    elif size < 4 or (first.info.space == "local" and not (stride is None and group.loads)):
        # Local arrays may stay in registers, which accesses of several components would prevent.
        return []
    else:
        pieces = _pieces(constants, size)
    return [[(constant, op) for constant in piece for op in group.members[constant]] for piece in pieces]


def _windows(constants: list[int], size: int, stride: int, loads: bool) -> list[list[int]]:
    """Constants that lie less than a stride apart. Loads may leave elements out, stores must not."""
    found: list[list[int]] = [[]]
    for constant in constants:
        last = found[-1]
        near = last and constant - last[0] <= stride - size and (constant - last[0]) % size == 0
        if not near or not (loads or constant == last[-1] + size):
            found.append(last := [])
        last.append(constant)
    return [each for each in found if len(each) > 1]


def _pieces(constants: list[int], size: int) -> list[list[int]]:
    """Rows of sixteen bytes without gaps."""
    found, many = [], ROW // size
    at = 0
    while at + many <= len(constants):
        piece = constants[at : at + many]
        if piece[-1] - piece[0] == ROW - size and all(each - piece[0] == size * k for k, each in enumerate(piece)):
            found.append(piece)
            at += many
        else:
            at += 1
    return found


def _load(body: Body, shapes: Shapes, run: list[tuple[int, Op]]) -> dict[Op, Op]:
    """Puts the merged load in the place of the first one."""
    block = run[0][1].block
    assert block is not None
    ops = {op for _, op in run}
    place, first = next((place, op) for place, op in enumerate(block.ops) if op in ops)
    lowest, size = run[0][0], SIZES[first.type]
    made: list[Op] = []
    address = _moved(body, shapes, first, lowest - next(constant for constant, op in run if op is first), made)
    access = replace(first.info, count=(run[-1][0] - lowest) // size + 1, alignment=_alignment(run, size))
    load = Op("load", first.type, [address], access, first.flags, first.word, block=block)
    made.append(load)
    parts: dict[int, Op] = {}
    for constant, op in run:
        index = (constant - lowest) // size
        if index not in parts:
            parts[index] = Op("part", op.type, [load], index, word=op.word, block=block)
            made.append(parts[index])
            shapes.of[parts[index]] = VARYING
    shapes.of[load] = VARYING
    block.ops[place : place + 1] = made
    block.ops = [op for op in block.ops if op not in ops]
    return {op: parts[(constant - lowest) // size] for constant, op in run}


def _store(run: list[tuple[int, Op]]) -> None:
    """Puts the merged store in the place of the last one."""
    block = run[0][1].block
    assert block is not None
    ops = {op for _, op in run}
    place, last = next((place, op) for place, op in reversed(list(enumerate(block.ops))) if op in ops)
    access = replace(last.info, count=len(run), alignment=_alignment(run, SIZES[last.args[1].type]))
    given = [run[0][1].args[0], *(op.args[1] for _, op in run)]
    block.ops[place] = Op("store", last.type, given, access, last.flags, last.word, block=block)
    block.ops = [op for op in block.ops if op not in ops]


def _alignment(run: list[tuple[int, Op]], size: int) -> int:
    return min([size, *(int(op.info.alignment) for _, op in run)])


def _moved(body: Body, shapes: Shapes, op: Op, by: int, made: list[Op]) -> Op:
    pointer = op.args[0]
    if not by:
        return pointer
    moved = Op("offset", "ptr", [pointer, body.const("i64", by & (1 << 64) - 1)], word=op.word, block=op.block)
    shapes.of[moved] = shapes[pointer]
    made.append(moved)
    return moved
