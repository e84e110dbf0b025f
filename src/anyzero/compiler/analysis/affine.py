"""Affine forms of integers: multiples of ids and arguments plus a constant.

A loop's counter that only takes a few known values counts as a constant that lies between two bounds. Forms hold
modulo the type's range; the caller makes sure that a number did not wrap around, see `Form.narrow`.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.analysis.trip_count import counted
from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import SIZES, Block, Op
from anyzero.lazy_dataclass import dataclass, field

Leaf = tuple[str, object]
"""("builtin", (name, dimension)) or ("argument", (place, type))."""

LARGEST_FACTOR = 16
LARGEST_GROUP = 1024
"""The factor of a group's id: the work-items of a group."""
LARGEST = 1 << 40
TURNS = 64
IDS = ("global_id", "local_id", "group_id")

Size = tuple[int, int, int]


@dataclass(slots=True, frozen=True)
class Form:
    terms: tuple[tuple[Leaf, int], ...] = ()
    low: int = 0
    high: int = 0
    """Bounds of the constant part."""
    narrow: tuple[tuple[Form, int, int], ...] = ()
    """Sums with the bounds that each must lie between; outside of them, a sum wrapped around before it was widened."""

    def plus(self, other: Form, times: int = 1) -> Form | None:
        found = dict(self.terms)
        for leaf, factor in other.terms:
            found[leaf] = found.get(leaf, 0) + times * factor
        terms = tuple((leaf, factor) for leaf, factor in found.items() if factor)
        low, high = sorted((times * other.low, times * other.high))
        made = Form(terms, self.low + low, self.high + high, (*self.narrow, *other.narrow))
        large = any(abs(factor) > _largest(leaf) for leaf, factor in terms)
        return None if large or max(abs(made.low), abs(made.high)) > LARGEST or len(terms) > 4 else made

    @property
    def reduced(self) -> Form:
        """The same 32-bit number with the least constant: `id + 0xffffffff` is `id - 1`."""
        beyond = (self.low + (1 << 31)) >> 32 << 32
        return Form(self.terms, self.low - beyond, self.high - beyond, self.narrow) if beyond else self

    @property
    def ids(self) -> list[tuple[Leaf, int]]:
        return [(leaf, factor) for leaf, factor in self.terms if _is_id(leaf)]

    @property
    def within(self) -> bool:
        """Are all its ids local ids, so that it describes a place within a group?"""
        return all(_is_id(leaf, ("local_id",)) for leaf, _ in self.ids)

    @property
    def bounded(self) -> bool:
        """Is an argument, or a size, part of it?"""
        return len(self.ids) < len(self.terms)


def _largest(leaf: Leaf) -> int:
    return LARGEST_GROUP if _is_id(leaf, ("group_id",)) else LARGEST_FACTOR


def _is_id(leaf: Leaf, names: tuple[str, ...] = IDS) -> bool:
    kind, what = leaf
    return kind == "builtin" and isinstance(what, tuple) and what[0] in names


@dataclass(slots=True)
class Forms:
    loops: Loops
    immediate: Dominators[Block]
    group: Size | None = None
    """The size of groups, for questions about a whole group; the group's own id then counts as a leaf, too."""
    known: dict[Op, Form | None] = field(default_factory=dict)
    answers: dict[Op, bool] = field(default_factory=dict)
    """Comparisons that are assumed to have a fixed outcome."""

    def of(self, op: Op) -> Form | None:
        if op.name == "const":
            value = _signed(op)
            return Form((), value, value) if abs(value) <= LARGEST else None
        if op not in self.known:
            self.known[op] = None
            found = self._find(op)
            self.known[op] = found.reduced if found is not None and op.type == "i32" else found
        return self.known[op]

    def _find(self, op: Op) -> Form | None:
        if op.type not in ("i32", "i64"):
            return None
        if op.name == "builtin":
            ids = IDS if self.group is not None else IDS[:2]
            simple = op.info[0] in (*ids, "global_size", "group_size")
            return Form(((("builtin", tuple(op.info)), 1),)) if simple else None
        if op.name == "argument":
            return Form(((("argument", (op.info, op.type)), 1),))
        if op.name == "phi":
            return self._counter(op)
        if op.name == "select" and op.args[0] in self.answers:
            return self.of(op.args[1 if self.answers[op.args[0]] else 2])
        if op.name == "cast":
            return self._cast(op)
        if op.name in ("add", "sub"):
            first, second = (self.of(arg) for arg in op.args)
            return None if first is None or second is None else first.plus(second, 1 if op.name == "add" else -1)
        if op.name in ("mul", "shl") and op.args[1].name == "const":
            factor = _signed(op.args[1])
            factor = factor if op.name == "mul" else 1 << min(factor % 64, 32)
            inner = self.of(op.args[0])
            most = LARGEST_FACTOR if self.group is None else LARGEST_GROUP
            return None if inner is None or abs(factor) > most else Form().plus(inner, factor)
        return None

    def _cast(self, op: Op) -> Form | None:
        inner, source = self.of(op.args[0]), op.args[0].type
        if inner is None or source not in ("i32", "i64"):
            return None
        if op.info == "trunc":
            return inner
        if op.info in ("sext", "zext"):
            least = 0 if op.info == "zext" else -(1 << 31)
            return Form(inner.terms, inner.low, inner.high, (*inner.narrow, (inner, least, (1 << 31) - 1)))
        return None

    def range(self, op: Op) -> tuple[int, int] | None:
        """The bounds of a value in every group, where it is computed from local ids and constants alone."""
        form = self.of(op)
        if form is None or self.group is None or form.narrow:
            return None
        low, high = form.low, form.high
        for leaf, factor in form.terms:
            if not _is_id(leaf, ("local_id",)):
                return None
            assert isinstance(leaf[1], tuple)
            last = factor * (self.group[leaf[1][1]] - 1)
            low, high = low + min(last, 0), high + max(last, 0)
        return (low, high) if max(abs(low), abs(high)) < 1 << 30 else None

    def _counter(self, phi: Op) -> Form | None:
        """A loop's counter, from its first value to its last."""
        loop = next((each for each in self.loops.all if each.header is phi.block), None)
        if loop is not None and self.group is not None and (made := self._from_local_id(phi, loop)) is not None:
            return made
        found = counted(loop, self.immediate, TURNS) if loop is not None else None
        if loop is None or found is None:
            return None
        start = phi.args[loop.header.predecessors.index(found.before)]
        step = phi.args[loop.header.predecessors.index(found.latch)]
        if start.name != "const" or step.name != "add" or step.args[0] is not phi or step.args[1].name != "const":
            return None
        first, by = _signed(start), _signed(step.args[1])
        low, high = sorted((first, first + by * found.iterations))
        return Form((), low, high) if max(abs(low), abs(high)) < 1 << 30 else None

    def _from_local_id(self, phi: Op, loop: Loop) -> Form | None:
        """A counter that begins with a local id and ends before a constant, as where a group fills a tile."""
        before = [block for block in loop.header.predecessors if block not in loop.blocks]
        if len(before) != 1 or len(loop.latches) != 1:
            return None
        latch = loop.latches[0]
        start, step = (phi.args[loop.header.predecessors.index(block)] for block in (before[0], latch))
        if step.name != "add" or step.args[0] is not phi or step.args[1].name != "const":
            return None
        if not 0 < _signed(step.args[1]) < 1 << 30:
            return None
        first = self.range(start)
        test = latch.condition
        if first is None or test is None or test.name != "icmp" or latch.successors[0] is not loop.header:
            return None
        if test.info != "slt" or test.args[0] is not step or test.args[1].name != "const":
            return None
        high = max(first[1], _signed(test.args[1]) - 1)
        return Form((), first[0], high) if high < 1 << 30 else None


def _signed(op: Op) -> int:
    bits = SIZES[op.type] * 8
    value = int(op.info)
    return value - (1 << bits) if value >> (bits - 1) else value
