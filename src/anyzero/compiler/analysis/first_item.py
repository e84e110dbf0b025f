"""Arguments whose memory the first work-item of a launch touches: the one whose ids are all 0.

Check mode looks for commands that race, and for reads by the host that come too early. The memory that a kernel
accesses through its arguments is not known before it runs, but the path of one work-item often is: all ids are
constants there, and a branch on `0 < n` is taken where the argument `n` is positive. The analysis follows that path
and records accesses at exactly the address that an argument holds. The path ends at the first branch that depends on
anything else.

Where a branch is the same for all work-items (x, 0, 0), or compares x with an argument `n`, those with x < n follow the
first one. With each value, the path has the step by which it grows from one of them to the next, if it is always the
same. A store whose address moves by its own size writes a run of bytes without gaps.
"""

from __future__ import annotations

from collections.abc import Mapping

from anyzero.compiler import folding
from anyzero.compiler.folding import width
from anyzero.compiler.ir import WIDTHS, Block, Body, Op
from anyzero.compiler.operations import DIVISIONS
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["FirstItem", "first_item"]

_MOST_OPERATIONS = 4000
_MOST_STEP = 64
_MOST_BEGIN = 4096
"""Values that begin and grow by no more do not reach 2**31 in MOST_LEADING_ITEMS work-items."""
_IDS = frozenset({"global_id", "local_id", "group_id", "global_offset", "sub_group_id", "sub_group_local_id"})
_BINARY = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr"}) | DIVISIONS
_INTEGER_CASTS = ("trunc", "zext", "sext")
_POINTER_CASTS = ("bitcast", "ptrtoint", "inttoptr")
_ZERO_IS_LESS = {"slt": True, "ult": True, "sge": False, "uge": False}
"""Comparisons of 0 with a positive number."""
_IS_GREATER_THAN_ZERO = {"sgt": True, "ugt": True, "sle": False, "ule": False}


@dataclass(slots=True, frozen=True)
class _Pointer:
    """The address in an argument, and bytes that were added to it."""

    argument: int
    displacement: int = 0


_Value = int | _Pointer | None


@dataclass(slots=True, frozen=True)
class FirstItem:
    """Offsets in the block of arguments."""

    reads: frozenset[int] = frozenset()
    """Pointers whose first byte is read."""
    writes: frozenset[int] = frozenset()
    positive: frozenset[int] = frozenset()
    """Numbers that must be positive for that."""
    leading: Mapping[int, int] = field(default_factory=dict)
    """Pointers to which each work-item (x, 0, 0) writes so many bytes, right behind those of the one before."""
    limits: Mapping[int, int] = field(default_factory=dict)
    """Numbers that x must be below for that, with their bytes."""


def first_item(body: Body) -> FirstItem:
    path = _Path()
    block: Block | None = body.blocks[0]
    before: Block | None = None
    while block is not None and path.left > 0:
        before, block = block, path.follow(block, before)
    reads, writes, positive = (frozenset(each) for each in (path.reads, path.writes, path.positive))
    return FirstItem(reads, writes, positive, path.leading, path.limits)


@dataclass(slots=True)
class _Path:
    values: dict[Op, _Value] = field(default_factory=dict)
    steps: dict[Op, int] = field(default_factory=dict)
    """How known values grow from each work-item (x, 0, 0) to the next."""
    together: bool = True
    """Do the others behave as the first one so far?"""
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    positive: set[int] = field(default_factory=set)
    leading: dict[int, int] = field(default_factory=dict)
    limits: dict[int, int] = field(default_factory=dict)
    left: int = _MOST_OPERATIONS

    def follow(self, block: Block, before: Block | None) -> Block | None:
        """The block behind this one; None where the path ends or is not known."""
        if before is not None:
            came = block.predecessors.index(before)
            self.keep([(phi, self.value(phi.args[came]), self.step(phi.args[came])) for phi in block.phis])
        for op in block.ops:
            self.left -= 1
            if op.name in ("call", "fault"):
                return None
            self.keep([(op, self.result(op), self.grows(op))])
        if block.condition is None:
            return block.successors[0] if block.successors else None
        holds = self.value(block.condition)
        if holds is None:
            holds = self.if_positive(block.condition)
        elif self.step(block.condition) != 0:
            self.together = False
        return block.successors[0 if holds else 1] if isinstance(holds, int) else None

    def keep(self, results: list[tuple[Op, _Value, int | None]]) -> None:
        for op, value, step in results:
            self.values[op] = value
            if step is None or value is None:
                self.steps.pop(op, None)
            else:
                self.steps[op] = step

    def step(self, op: Op) -> int | None:
        return 0 if op.name == "const" else self.steps.get(op)

    def grows(self, op: Op) -> int | None:
        """The step of an operation's result, if its value is known; None where it is not always the same."""
        match op.name:
            case "argument":
                return 0
            case "builtin":
                name, dimension = op.info[0], op.info[1]
                along_x = dimension == 0 and name != "global_offset"
                return (1 if name == "global_id" else None) if along_x or name.startswith("sub_group") else 0
            case "select":
                chosen = self.value(op.args[0])
                return self.step(op.args[1 if chosen else 2]) if self.step(op.args[0]) == 0 else None
            case "cast":
                return self.step(op.args[0]) if self.keeps_step(op) else None
        steps = [step for step in map(self.step, op.args) if step is not None]
        if len(steps) != len(op.args):
            return None
        if not any(steps):
            return 0
        return self.combined(op, steps[0], steps[1]) if len(steps) == 2 else None

    def combined(self, op: Op, one: int, other: int) -> int | None:
        factor = self.value(op.args[1])
        match op.name:
            case "add" | "offset":
                return one + other
            case "sub":
                return one - other
            case "shl" if other == 0 and isinstance(factor, int) and factor <= _MOST_STEP:
                return one << factor
            case "mul" if other == 0 and isinstance(factor, int):
                return one * factor
            case "mul" if one == 0 and isinstance(first := self.value(op.args[0]), int):
                return other * first
        return None

    def keeps_step(self, op: Op) -> bool:
        """Cutting bits off changes no step modulo a power of two; where bits are added, no value may wrap around."""
        value, step = self.value(op.args[0]), self.step(op.args[0])
        if step == 0 or op.info in _POINTER_CASTS or op.info == "trunc":
            return True
        wide = WIDTHS.get(op.args[0].type, 0) >= 32
        small = step is not None and 0 <= step <= _MOST_STEP and isinstance(value, int) and value <= _MOST_BEGIN
        return wide and small

    def value(self, op: Op) -> _Value:
        if op.name == "const":
            value: int = op.info
            return value
        return self.values.get(op)

    def result(self, op: Op) -> _Value:
        match op.name:
            case "argument":
                return _Pointer(op.info) if op.type == "ptr" else None
            case "builtin":
                return 0 if op.info[0] in _IDS else None
            case "load":
                self.touch(op.args[0], self.reads)
            case "store":
                self.touch(op.args[0], self.writes)
                self.fill(op)
            case "select":
                chosen = self.value(op.args[0])
                return self.value(op.args[1 if chosen else 2]) if isinstance(chosen, int) else None
            case "offset":
                return self.moved(op)
            case "cast":
                return self.converted(op)
            case _:
                return self.computed(op)
        return None

    def touch(self, pointer: Op, found: set[int]) -> None:
        address = self.value(pointer)
        if isinstance(address, _Pointer) and address.displacement == 0:
            found.add(address.argument)

    def fill(self, store: Op) -> None:
        """A store by all of them; one that is volatile may be there for a host that polls."""
        pointer, *stored = store.args
        address = self.value(pointer)
        if not self.together or store.info.volatile or not isinstance(address, _Pointer) or address.displacement:
            return
        size = sum(WIDTHS.get(each.type, 0) for each in stored) // 8
        if size and self.step(pointer) == size:
            self.leading[address.argument] = size

    def moved(self, op: Op) -> _Value:
        pointer, bytes_ = self.value(op.args[0]), self.value(op.args[1])
        if not isinstance(pointer, _Pointer) or not isinstance(bytes_, int):
            return None
        return _Pointer(pointer.argument, pointer.displacement + folding.signed(bytes_, 64))

    def converted(self, op: Op) -> _Value:
        value = self.value(op.args[0])
        if isinstance(value, _Pointer):
            return value if op.info in _POINTER_CASTS else None
        if value is None or op.info not in _INTEGER_CASTS:
            return None
        made = folding.cast(op.info, value, op.args[0].type, op.type)
        return None if made is None else made & ((1 << WIDTHS[op.type]) - 1)

    def computed(self, op: Op) -> _Value:
        if op.name not in _BINARY and op.name != "icmp":
            return None
        one, other = (self.value(arg) for arg in op.args)
        if not isinstance(one, int) or not isinstance(other, int):
            return None
        bits = width(op.args[0].type)
        if op.name == "icmp":
            return int(folding.compared(op.info, bits, one, other))
        made = folding.binary(op.name, bits, one, other)
        return None if made is None else made & ((1 << bits) - 1)

    def if_positive(self, condition: Op) -> bool | None:
        """Does a comparison of 0 with an argument hold where the argument is positive?"""
        if condition.name != "icmp":
            return None
        for place, answers in ((1, _ZERO_IS_LESS), (0, _IS_GREATER_THAN_ZERO)):
            number = _argument(condition.args[place])
            compared = condition.args[1 - place]
            if number is None or self.value(compared) != 0 or condition.info not in answers:
                continue
            self.positive.add(number.info)
            step = self.step(compared)
            if step == 1:
                self.limits[number.info] = WIDTHS[number.type] // 8
            elif step != 0:
                self.together = False
            return answers[condition.info]
        return None


def _argument(op: Op) -> Op | None:
    """The argument that a value is, perhaps widened."""
    while op.name == "cast" and op.info in ("zext", "sext"):
        op = op.args[0]
    return op if op.name == "argument" and op.type.startswith("i") else None
