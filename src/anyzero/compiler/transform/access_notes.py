"""Notes of accesses and of barriers, for check mode: from notes of accesses the engine finds races and uninitialized
reads, from notes of barriers those that some work-items miss.

A note precedes its access. It names the memory that is accessed, as far as it is known, and says whether atomic
operations of the work-item may order the access with those of other work-items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from anyzero.compiler.analysis.uniformity import UNIFORM, Shapes
from anyzero.compiler.ir import Access, Block, Body, Combine, Meet, Note, Op
from anyzero.compiler.transform.bounds_checks import ACCESSES, WORD, element_bytes, root
from anyzero.layouts.kernel import CHECKED_WORDS, CheckedAccess, CheckedMemory, NoteFlag
from anyzero.lazy_dataclass import dataclass, field
from anyzero.lazy_namedtuple import NamedTuple

LARGEST_GRANULE = 16
_SHARED = {"local": CheckedMemory.LOCAL, "global": CheckedMemory.VARIABLE}
"""Variables that work-items share."""
_FORWARDS = frozenset({"phi", "select", "part", "cast"})


class _Kernel(NamedTuple):
    granule: int
    sub_groups: bool
    """Are there barriers of sub-groups?"""


def note_accesses(body: Body, shapes: Shapes, called: bool = False) -> None:
    """Puts a `note` in front of each access of memory that work-items share. `called` says that the body is a function
    that is called by its address.
    """
    sub_groups = any(op.name == "barrier" and op.info == "sub_group" for op in body.ops)
    kernel = _Kernel(1 if called else _granule(body), sub_groups)
    order = _order(body)
    moved = moved_loads(body)
    for block in body.blocks:
        ops: list[Op] = []
        for index, op in enumerate(block.ops):
            flags = order.flags(block, index) | (NoteFlag.MOVED if op in moved else 0)
            for note in _notes(op, flags, kernel):
                note.block, note.word = block, op.word
                shapes.of[note] = UNIFORM
                ops.append(note)
            ops.append(op)
        block.ops = ops


def note_meetings(body: Body, shapes: Shapes) -> None:
    """Puts a `meet` in front of barriers of a group, and of collectives that need all lanes of a sub-group."""
    for block in body.blocks:
        ops: list[Op] = []
        for op in block.ops:
            what = _meeting(op)
            if what is not None:
                meet = Op("meet", "", [], what, word=op.word, block=block)
                shapes.of[meet] = UNIFORM
                ops.append(meet)
            ops.append(op)
        block.ops = ops


_SPOKEN: Final = {"inclusive": "inclusive scan", "exclusive": "exclusive scan"}


def _meeting(op: Op) -> Meet | None:
    if op.name == "barrier":
        if isinstance(op.info, Combine):
            return Meet(True, "a collective operation of the group")
        return Meet(True, "a barrier") if op.info == "group" else None
    if op.name == "group" and op.flags == "converged":
        return Meet(False, f"the sub-group's operation {_SPOKEN.get(op.info.kind, op.info.kind)}")
    return None


def _notes(op: Op, flags: int, kernel: _Kernel) -> list[Op]:
    if op.name in ACCESSES:
        count = 1 if op.name == "atomic" else op.info.count
        values = op.args[1:] if op.name == "store" else []
        kind = ACCESSES[op.name]
        if op.name == "atomic":
            # A store reads nothing that could be uninitialized.
            flags |= {"load": NoteFlag.ONLY_LOADS, "store": NoteFlag.MOVED}.get(op.info.kind, 0)
        return _note(op.args[0], values, kind, element_bytes(op), count, op.info.space, flags, kernel, access=op)
    if op.name == "copy":
        to, source, size = op.args
        kinds = (to, CheckedAccess.STORE, op.info.space), (source, CheckedAccess.LOAD, "generic")
        return [
            note
            for pointer, kind, space in kinds
            for note in _note(pointer, [size], kind, 1, 0, space, flags | NoteFlag.MOVED, kernel)
        ]
    if op.name == "group_copy":
        to, source, elements, stride = op.args
        local = op.info.space == "local"
        sides = (
            (to, CheckedAccess.STORE, [] if local else [stride], op.info.space),
            (source, CheckedAccess.LOAD, [stride] if local else [], "global" if local else "local"),
        )
        return [
            note
            for pointer, kind, more, space in sides
            for note in _note(pointer, [elements, *more], kind, op.info.count, 0, space, flags, kernel, once=True)
        ]
    return []


def _note(
    pointer: Op,
    more: list[Op],
    kind: CheckedAccess,
    element: int,
    count: int,
    space: str,
    flags: int,
    kernel: _Kernel,
    once: bool = False,
    access: Op | None = None,
) -> list[Op]:
    if space in ("private", "constant", "code"):
        return []
    begin = root(pointer)
    memory, name, argument = CheckedMemory.GLOBAL, "", None
    if begin.name == "variable":
        if begin.info.space not in _SHARED:
            return []
        memory, name = _SHARED[begin.info.space], begin.info.name
    elif begin.name == "local_argument":
        memory = CheckedMemory.LOCAL_ARGUMENT
    elif begin.name in ("argument_address", "undef", "const", "function"):
        return []
    elif space == "local":
        memory = CheckedMemory.LOCAL
    else:
        source = begin.args[0] if begin.name == "cast" and begin.info == "inttoptr" else begin
        if source.name == "argument" and source.info % WORD == 0 and source.info < CHECKED_WORDS * WORD:
            argument = source.info // WORD
        elif space != "global":
            flags |= NoteFlag.GENERIC
    note = Note(
        *(kind, element, count, memory, name, flags, kernel.granule, argument, once),
        sub_groups=kernel.sub_groups,
        access=access,
    )
    return [Op("note", "", [pointer, *more], note)]


def _granule(body: Body) -> int:
    """The largest power of two whose multiples all accesses begin and end at; 1 where called functions may access
    memory.
    """
    found = LARGEST_GRANULE
    for op in body.ops:
        if op.name == "call" or (op.name == "copy" and op.args[2].name != "const"):
            return 1
        if op.name == "copy":
            found = min(found, _lowest_bit(op.args[2].info or 1), max(op.info.alignment, 1))
        if op.name == "group_copy":
            found = min(found, _lowest_bit(op.info.count), op.info.alignment)
        elif op.name in ACCESSES and op.info.space not in ("private", "constant", "code"):
            size = element_bytes(op)
            if op.name == "atomic":
                found = min(found, size)
            else:
                access: Access = op.info
                found = min(found, _lowest_bit(size * access.count), max(access.alignment, 1))
    return found


def _lowest_bit(number: int) -> int:
    return number & -number


def moved_loads(body: Body) -> set[Op]:
    """Reads of memory and of images whose values are only stored elsewhere."""
    users: dict[Op, list[Op]] = {}
    decides: set[Op] = set()
    for block in body.blocks:
        for op in block.everything:
            for arg in op.args:
                users.setdefault(arg, []).append(op)
        if block.condition is not None:
            decides.add(block.condition)

    def only_stored(value: Op, seen: set[Op]) -> bool:
        if value in decides:
            return False
        seen.add(value)
        for user in users.get(value, ()):
            if user in seen:
                continue
            decided_by = user.name == "select" and user.args[0] is value
            if value in _stored_by(user):
                continue
            if user.name not in _FORWARDS or decided_by or not only_stored(user, seen):
                return False
        return True

    return {op for op in body.ops if _reads(op) and op in users and only_stored(op, set())}


def _reads(op: Op) -> bool:
    return op.name in ("load", "image_read") or (op.name == "group" and op.info.kind == "image_block_read")


def _stored_by(op: Op) -> list[Op]:
    """The values that an operation stores, unless they decide about the place, too."""
    if op.name == "store":
        places, values = op.args[:1], op.args[1:]
    elif op.name == "image_write":
        first = 1 + op.info.coordinates
        places, values = op.args[:first], op.args[first:]
    elif op.name == "group" and op.info.kind == "image_block_write":
        places, values = op.args[:3], op.args[3:]
    else:
        return []
    return [each for each in values if each not in places]


@dataclass(slots=True)
class _Order:
    """The places that an atomic operation of the same work-item may precede or follow."""

    acquires: dict[Block, int] = field(default_factory=dict)
    """The first one of each block."""
    releases: dict[Block, int] = field(default_factory=dict)
    """The last one of each block."""
    behind: set[Block] = field(default_factory=set)
    """Blocks with an acquire on some path to their beginning."""
    ahead: set[Block] = field(default_factory=set)
    """Blocks with a release on some path from their end."""

    def flags(self, block: Block, index: int) -> int:
        after = block in self.behind or self.acquires.get(block, index) < index
        before = block in self.ahead or self.releases.get(block, index) > index
        return (NoteFlag.AFTER_ACQUIRE if after else 0) | (NoteFlag.BEFORE_RELEASE if before else 0)


def _order(body: Body) -> _Order:
    found = _Order()
    looked_at = _looked_at(body)
    for block in body.blocks:
        for index, op in enumerate(block.ops):
            if op.name == "atomic":
                if op in looked_at:
                    found.acquires.setdefault(block, index)
                if op.info.kind != "load":
                    found.releases[block] = index
            elif op.name == "call":
                found.acquires.setdefault(block, index)
                found.releases[block] = index
    found.behind = _reached(found.acquires, lambda block: block.successors)
    found.ahead = _reached(found.releases, lambda block: block.predecessors)
    return found


def _looked_at(body: Body) -> set[Op]:
    """Atomic operations whose result is stored or decides a branch: work-items may synchronise through it. A result
    that is only used as an index orders nothing.
    """
    found: set[Op] = set()
    waiting = [block.condition for block in body.blocks if block.condition is not None]
    waiting += [value for op in body.ops if op.name == "store" for value in op.args[1:]]
    seen = set(waiting)
    while waiting:
        op = waiting.pop()
        if op.name == "atomic":
            found.add(op)
        elif op.pure or op.name == "group":
            for arg in op.args:
                if arg not in seen:
                    seen.add(arg)
                    waiting.append(arg)
    return found


def _reached(starts: Iterable[Block], onward: Callable[[Block], list[Block]]) -> set[Block]:
    found: set[Block] = set()
    waiting = [block for start in starts for block in onward(start)]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += onward(block)
    return found
