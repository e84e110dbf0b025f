"""Promotion of private memory to SSA values (mem2reg), element by element of arrays and structures (SROA).

A variable that is only accessed at constant offsets is split into its scalars. A load becomes the value that was stored
last; at joins, a phi of the stored values where the scalar is live.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import known_space
from anyzero.compiler.analysis.liveness import live_in
from anyzero.compiler.analysis.promotable import Place, Places, places
from anyzero.compiler.builder import Builder
from anyzero.compiler.dominators import dominators, tree
from anyzero.compiler.ir import SIZES, Access, Block, Body, Op, Space, Variable
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.phis import remove_trivial_phis
from anyzero.compiler.transform.simplify import simplify
from anyzero.compiler.transform.speculate_loads import speculate_loads
from anyzero.lazy_dataclass import replace

ROUNDS = 8
"""Rounds: a variable that holds a pointer has to be promoted before the variable that it points to."""
WORK = 20_000_000
"""Most steps of placing phis. Only crafted bodies take more; their variables stay in memory."""

BATCH = 1024
"""Scalars whose liveness is found at once: a mask of each block has as many bits."""

_MOVES = frozenset({"load", "store", "copy"})


def mem2reg(body: Body) -> None:
    simplify(body)
    for _ in range(ROUNDS):
        speculate_loads(body)
        found = places(body)
        if not found.of:
            return
        phis = _Meetings(body, found).phis()
        if phis is None:
            return
        _Renaming(body, found, phis).everything()
        remove_trivial_phis(body)
        simplify(body)
        dce(body)


def _touched(op: Op, found: Places) -> tuple[list[Place], list[Place]]:
    """The scalars that an operation reads, and those that it writes; a partial write does both."""
    if op.name == "copy":
        to, from_ = found.at(op.args[0]), found.at(op.args[1])
        size = op.args[2].info
        return found.within(*from_, size) if from_ else [], found.within(*to, size) if to else []
    at = found.at(op.args[0])
    if at is None:
        return [], []
    type_ = op.type if op.name == "load" else op.args[1].type
    places = [place for place, _ in _components(found, at, op.info.count, type_)]
    if op.name == "load":
        return places, []
    return [place for place in places if place.size != SIZES[type_]], places


def _components(found: Places, at: tuple[Variable, int], count: int, type_: str) -> list[tuple[Place, int]]:
    """The scalars of an access, and its offset in each."""
    variable, offset = at
    of, size = found.of[variable], SIZES[type_]
    places = [of[offset + index * size] for index in range(count)]
    return [(place, offset + index * size - place.offset) for index, place in enumerate(places)]


class _Meetings:
    """Places of phis: the iterated dominance frontier of the stores, where the scalar is live (pruned SSA)."""

    def __init__(self, body: Body, found: Places) -> None:
        self.body = body
        self.found = found
        self.stored: dict[Place, set[Block]] = {}
        self.asked: dict[Place, set[Block]] = {}
        """Blocks with an upward-exposed read of a scalar."""
        self.work = 0

    def phis(self) -> dict[Block, list[Place]] | None:
        """The scalars with a phi in each block; None beyond the limit of steps."""
        self._scan()
        frontiers = self._frontiers()
        met: dict[Block, list[Place]] = {}
        places = [place for place in self.stored if place in self.asked]
        for first in range(0, len(places), BATCH):
            batch = places[first : first + BATCH]
            live = self._live(batch)
            for at, place in enumerate(batch):
                waiting, there = list(self.stored[place]), set()
                while waiting:
                    for block in frontiers.get(waiting.pop(), ()):
                        self.work += 1
                        if block not in there and live.get(block, 0) >> at & 1:
                            there.add(block)
                            met.setdefault(block, []).append(place)
                            waiting.append(block)
                if self.work > WORK:
                    return None
        return met

    def _scan(self) -> None:
        for block in self.body.blocks:
            for op in block.ops:
                if op.name not in _MOVES:
                    continue
                reads, writes = _touched(op, self.found)
                for place in reads:
                    if block not in self.stored.get(place, ()):
                        self.asked.setdefault(place, set()).add(block)
                for place in writes:
                    self.stored.setdefault(place, set()).add(block)

    def _live(self, batch: list[Place]) -> dict[Block, int]:
        """The scalars of a batch that are live where each block begins, a bit for each."""
        self.work += len(self.body.blocks)
        reads: dict[Block, int] = {}
        writes: dict[Block, int] = {}
        for at, place in enumerate(batch):
            for blocks, masks in ((self.asked[place], reads), (self.stored[place], writes)):
                for block in blocks:
                    masks[block] = masks.get(block, 0) | 1 << at
        return live_in(self.body.blocks, reads, writes)

    def _frontiers(self) -> dict[Block, list[Block]]:
        above = dominators(self.body.blocks[0], lambda block: block.successors)
        frontiers: dict[Block, list[Block]] = {}
        for block in self.body.blocks:
            if len(block.predecessors) < 2:
                continue
            seen: set[Block] = set()
            for runner in block.predecessors:
                while runner is not above[block] and runner not in seen:
                    self.work += 1
                    seen.add(runner)
                    frontiers.setdefault(runner, []).append(block)
                    runner = above[runner]
            if self.work > WORK:
                break
        return frontiers


class _Renaming:
    """Renames: walks the dominator tree with the current values of the scalars."""

    def __init__(self, body: Body, found: Places, met: dict[Block, list[Place]]) -> None:
        self.body = body
        self.found = found
        self.met = met
        self.b = Builder(body)
        self.now: dict[Place, Op] = {}
        self.instead: dict[Op, Op] = {}
        self.loaded: dict[Op, list[Op]] = {}
        """The components of loads that have several."""
        self.phis: dict[Block, list[tuple[Place, Op]]] = {}
        self.undefined: dict[str, Op] = {}

    def everything(self) -> None:
        entry = self.body.blocks[0]
        for block, together in self.met.items():
            self.phis[block] = [(place, self._phi(block, place.type)) for place in together]
        order = {block: {parent: at for at, parent in enumerate(block.predecessors)} for block in self.phis}
        below = tree(entry, dominators(entry, lambda block: block.successors))
        # A block to enter, or the values to restore when one is left.
        stack: list[Block | dict[Place, Op | None]] = [entry]
        while stack:
            step = stack.pop()
            if isinstance(step, dict):
                self._restore(step)
                continue
            before: dict[Place, Op | None] = {}
            self._block(step, before)
            for target in step.successors:
                for place, phi in self.phis.get(target, ()):
                    phi.args[order[target][step]] = self._value(place)
            stack.append(before)
            stack += below[step]
        entry.ops[:0] = self.undefined.values()
        substitute(self.body, self.instead)

    def _restore(self, before: dict[Place, Op | None]) -> None:
        for place, value in before.items():
            if value is None:
                self.now.pop(place, None)
            else:
                self.now[place] = value

    def _phi(self, block: Block, type_: str) -> Op:
        phi = self.b.phi(type_, block)
        phi.args = [self._undef(type_)] * len(block.predecessors)
        return phi

    def _undef(self, type_: str) -> Op:
        if type_ not in self.undefined:
            self.undefined[type_] = Op("undef", type_, block=self.body.blocks[0])
        return self.undefined[type_]

    def _value(self, place: Place) -> Op:
        found = self.now.get(place)
        if found is not None:
            return found
        # A partly written value must not begin undefined: different parts could see different values.
        return self.b.const(place.type, 0) if place.mixed else self._undef(place.type)

    def _read(self, place: Place, inside: int, type_: str) -> Op:
        b, whole = self.b, self._value(place)
        if place.size == SIZES[type_]:
            return self._as(whole, type_)
        moved = b.lshr(whole, b.const(place.type, inside * 8))
        return b.from_integer(b.cast("trunc", moved, f"i{SIZES[type_] * 8}"), type_)

    def _write(self, place: Place, inside: int, value: Op, before: dict[Place, Op | None]) -> None:
        b, value = self.b, self._final(value)
        size = SIZES[value.type]
        if size != place.size:
            mask = ((1 << size * 8) - 1) << inside * 8
            moved = b.shl(b.cast("zext", b.as_integer(value), place.type), b.const(place.type, inside * 8))
            value = b.or_(b.and_(self._value(place), b.const(place.type, ~mask)), moved)
        self._set(place, value, before)

    def _set(self, place: Place, value: Op, before: dict[Place, Op | None]) -> None:
        before.setdefault(place, self.now.get(place))
        self.now[place] = self._as(value, place.type)

    def _final(self, op: Op) -> Op:
        while op in self.instead:
            op = self.instead[op]
        return op

    def _as(self, value: Op, type_: str) -> Op:
        """A bit cast."""
        return value if value.type == type_ else self.b.from_integer(self.b.as_integer(value), type_)

    def _block(self, block: Block, before: dict[Place, Op | None]) -> None:
        for place, phi in self.phis.get(block, ()):
            self._set(place, phi, before)
        ops, block.ops = block.ops, []
        self.b.block = block
        for op in ops:
            if op.name == "part" and op.args[0] in self.loaded:
                self.instead[op] = self.loaded[op.args[0]][op.info]
                continue
            if op.name not in _MOVES or not self._moves(op, before):
                block.ops.append(op)

    def _moves(self, op: Op, before: dict[Place, Op | None]) -> bool:
        """Removes the operation if it accesses promoted scalars."""
        found, b = self.found, self.b
        b.word = op.word
        at = found.at(op.args[0])
        if op.name == "load":
            if at is None:
                return False
            components = _components(found, at, op.info.count, op.type)
            values = [self._read(place, inside, op.type) for place, inside in components]
            if op.info.count == 1:
                self.instead[op] = values[0]
            else:
                self.loaded[op] = values
        elif op.name == "store":
            if at is None:
                return False
            components = _components(found, at, op.info.count, op.args[1].type)
            for (place, inside), value in zip(components, op.args[1:], strict=True):
                self._write(place, inside, value, before)
        else:
            source = found.at(op.args[1])
            if at is None and source is None:
                return False
            self._copy(op, at, source, before)
        return True

    def _copy(
        self,
        op: Op,
        to: tuple[Variable, int] | None,
        from_: tuple[Variable, int] | None,
        before: dict[Place, Op | None],
    ) -> None:
        """Copies scalar by scalar; all are read before the first is written."""
        found, b, size = self.found, self.b, op.args[2].info
        variable, begin = to or from_ or (None, 0)
        assert variable is not None
        scalars = [(place.offset - begin, place.type) for place in found.within(variable, begin, size)]
        values = []
        for inside, type_ in scalars:
            if from_ is not None:
                place = found.of[from_[0]][from_[1] + inside]
                values.append(self._read(place, from_[1] + inside - place.offset, type_))
            else:
                pointer = self._final(op.args[1])
                access = _part_of(op.info, inside, known_space(pointer) or "generic")
                values += b.load(b.offset(pointer, inside), type_, access)
        for (inside, _), value in zip(scalars, values, strict=True):
            if to is not None:
                place = found.of[to[0]][to[1] + inside]
                self._write(place, to[1] + inside - place.offset, value, before)
            else:
                pointer = self._final(op.args[0])
                access = _part_of(op.info, inside, known_space(pointer) or op.info.space)
                b.store(b.offset(pointer, inside), [value], access)


def _part_of(access: Access, inside: int, space: Space) -> Access:
    alignment = min(access.alignment, inside & -inside) if inside else access.alignment
    return replace(access, count=1, alignment=alignment, space=space)
