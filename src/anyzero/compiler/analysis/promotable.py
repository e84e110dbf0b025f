"""Promotable private variables: all accesses move scalars at constant offsets."""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import signed_offset
from anyzero.compiler.ir import SIZES, Body, Op, Variable
from anyzero.lazy_dataclass import dataclass, field

MOST = 1024
"""Scalars of one variable; larger ones stay in memory."""
ROUNDS = 16


@dataclass(slots=True, eq=False)
class Place:
    """A scalar that lies in a variable."""

    variable: Variable
    offset: int
    type: str
    mixed: bool = False
    """Is it an integer that some accesses read or write only in part?"""

    @property
    def size(self) -> int:
        return SIZES[self.type]


@dataclass(slots=True, eq=False)
class Copy:
    """A copy of a constant size; a side is None where it is no promotable variable."""

    op: Op
    to: tuple[Variable, int] | None
    from_: tuple[Variable, int] | None
    size: int


@dataclass(slots=True)
class Places:
    addresses: dict[Op, tuple[Variable, int]] = field(default_factory=dict)
    of: dict[Variable, dict[int, Place]] = field(default_factory=dict)
    """Every promotable variable, with the scalar that each of its bytes belongs to."""

    def at(self, pointer: Op) -> tuple[Variable, int] | None:
        """Addresses into those variables, with variable and offset."""
        found = self.addresses.get(pointer)
        return found if found is not None and found[0] in self.of else None

    def within(self, variable: Variable, offset: int, size: int) -> list[Place]:
        """The scalars in a range, in order."""
        of = self.of[variable]
        return list(dict.fromkeys(of[byte] for byte in range(offset, offset + size) if byte in of))


def places(body: Body) -> Places:
    """Finds promotable variables; the result is valid until the body changes."""
    found = _Search()
    found.everything(body)
    return found.settled()


class _Search:
    def __init__(self) -> None:
        self.addresses: dict[Op, tuple[Variable, int]] = {}
        self.candidates: set[Variable] = set()
        self.lost: set[Variable] = set()
        self.touched: dict[Variable, dict[tuple[int, str], None]] = {}
        self.copies: list[Op] = []

    def everything(self, body: Body) -> None:
        for block in body.blocks:
            for op in block.ops:
                if op.name == "variable":
                    if op.info.space == "private":
                        self.addresses[op] = op.info, 0
                        self.candidates.add(op.info)
                elif op.args:
                    self.uses(op)
        for block in body.blocks:
            for phi in block.phis:
                for arg in phi.args:
                    self.lose(arg)

    def lose(self, op: Op) -> None:
        """The address escapes, so its variable stays in memory."""
        found = self.addresses.get(op)
        if found is not None:
            self.lost.add(found[0])

    def uses(self, op: Op) -> None:
        addresses, first = self.addresses, op.args[0]
        if op.name == "offset":
            if first in addresses:
                if op.args[1].name == "const":
                    variable, before = addresses[first]
                    addresses[op] = variable, before + signed_offset(op.args[1])
                else:
                    self.lose(first)
            return
        if op.name == "load" and not op.info.volatile:
            if first in addresses:
                self.moves(*addresses[first], op.type, op.info.count)
            return
        rest = op.args
        if op.name == "store" and not op.info.volatile:
            if first in addresses:
                self.moves(*addresses[first], op.args[1].type, op.info.count)
            rest = op.args[1:]
        elif op.name == "copy" and not op.info.volatile and op.args[2].name == "const":
            if first in addresses or op.args[1] in addresses:
                self.copies.append(op)
            return
        for arg in rest:
            if arg in addresses:
                self.lose(arg)

    def moves(self, variable: Variable, offset: int, type_: str, count: int) -> None:
        if offset < 0 or offset + count * SIZES[type_] > variable.size or count > MOST:
            self.lost.add(variable)
            return
        touched = self.touched.setdefault(variable, {})
        for index in range(count):
            touched[offset + index * SIZES[type_], type_] = None

    def settled(self) -> Places:
        """Drops variables whose scalars overlap, until no two overlap."""
        for _ in range(ROUNDS):
            kept = self.candidates - self.lost
            attempt = _Attempt(self, kept)
            attempt.run()
            if not attempt.conflicts:
                made = Places(self.addresses)
                made.of = {variable: attempt.owner.get(variable, {}) for variable in kept}
                return made
            self.lost |= attempt.conflicts
        return Places(self.addresses)


class _Attempt:
    """Copies spread scalars: a variable has those of every variable that it is copied to or from."""

    def __init__(self, search: _Search, kept: set[Variable]) -> None:
        self.search = search
        self.kept = kept
        self.of: dict[Variable, dict[int, Place]] = {}
        self.owner: dict[Variable, dict[int, Place]] = {}
        """By byte."""
        self.conflicts: set[Variable] = set()
        self.copies: dict[Variable, list[Copy]] = {}
        self.waiting: list[Place] = []

    def run(self) -> None:
        for op in self.search.copies:
            self.note(op)
        for variable, touched in self.search.touched.items():
            if variable in self.kept:
                for offset, type_ in touched:
                    self.add(variable, offset, type_)
        self.spread()
        if not self.conflicts:
            self.fill()

    def note(self, op: Op) -> None:
        sides = [self.search.addresses.get(arg) for arg in op.args[:2]]
        to, from_ = (side if side is not None and side[0] in self.kept else None for side in sides)
        copy = Copy(op, to, from_, op.args[2].info)
        for side in (to, from_):
            if side is not None:
                variable, offset = side
                if offset < 0 or offset + copy.size > variable.size:
                    self.conflicts.add(variable)
                self.copies.setdefault(variable, []).append(copy)

    def add(self, variable: Variable, offset: int, type_: str) -> None:
        of = self.of.setdefault(variable, {})
        owner = self.owner.setdefault(variable, {})
        size = SIZES[type_]
        there = of.get(offset)
        if there is not None and there.size == size:
            return
        others = {owner[byte] for byte in range(offset, offset + size) if byte in owner}
        if not others:
            self.put(Place(variable, offset, type_))
        else:
            self.mix(variable, offset, size, others)

    def put(self, place: Place) -> None:
        of, owner = self.of[place.variable], self.owner[place.variable]
        if len(of) >= MOST:
            self.conflicts.add(place.variable)
            return
        of[place.offset] = place
        for byte in range(place.offset, place.offset + place.size):
            owner[byte] = place
        self.waiting.append(place)

    def mix(self, variable: Variable, offset: int, size: int, others: set[Place]) -> None:
        """Accesses that overlap see parts of one integer, if one is wide enough for all of them."""
        begin = min(offset, *(other.offset for other in others))
        end = max(offset + size, *(other.offset + other.size for other in others))
        for wide in (2, 4, 8):
            first = begin // wide * wide
            if end <= first + wide <= variable.size:
                break
        else:
            self.conflicts.add(variable)
            return
        of, owner = self.of[variable], self.owner[variable]
        others |= {owner[byte] for byte in range(first, first + wide) if byte in owner}
        if any(other.offset < first or other.offset + other.size > first + wide for other in others):
            self.conflicts.add(variable)
            return
        whole = next((other for other in others if other.size == wide), None)
        if whole is not None:
            whole.type, whole.mixed = f"i{wide * 8}", True
            return
        for other in others:
            del of[other.offset]
        self.put(Place(variable, first, f"i{wide * 8}", mixed=True))

    def spread(self) -> None:
        while self.waiting:
            place = self.waiting.pop()
            if self.of[place.variable].get(place.offset) is not place:
                continue
            for copy in self.copies.get(place.variable, ()):
                for here, there in ((copy.to, copy.from_), (copy.from_, copy.to)):
                    if here is None or here[0] is not place.variable:
                        continue
                    inside = place.offset - here[1]
                    if inside + place.size <= 0 or inside >= copy.size:
                        continue
                    if inside < 0 or inside + place.size > copy.size:
                        self.conflicts.add(place.variable)
                    elif there is not None:
                        self.add(there[0], there[1] + inside, place.type)

    def fill(self) -> None:
        """Bytes that are only copied through a variable, from memory to memory, need scalars as well."""
        for variable, copies in self.copies.items():
            if not any(copy.to is not None and copy.to[0] is variable for copy in copies):
                continue
            for copy in copies:
                if copy.from_ is not None and copy.from_[0] is variable and copy.to is None:
                    if all(self.elsewhere(each) for each in copies):
                        self.cover(variable, copy.from_[1], copy.size)
                    else:
                        self.conflicts.add(variable)
        self.spread()

    def elsewhere(self, copy: Copy) -> bool:
        """Is its other side outside private memory? A private variable may be promoted later, and show its scalars."""
        return all(arg not in self.search.addresses or self.is_kept(arg) for arg in copy.op.args[:2])

    def is_kept(self, address: Op) -> bool:
        return self.search.addresses[address][0] in self.kept

    def cover(self, variable: Variable, offset: int, size: int) -> None:
        if size > MOST * 8:
            self.conflicts.add(variable)
            return
        owner = self.owner.setdefault(variable, {})
        at, end = offset, offset + size
        while at < end:
            if at in owner:
                at += 1
                continue
            wide = 8
            while wide > 1 and (at % wide or at + wide > end or any(at + byte in owner for byte in range(wide))):
                wide //= 2
            self.add(variable, at, f"i{wide * 8}")
            at += wide
