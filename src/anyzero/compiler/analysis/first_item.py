"""Arguments whose memory the first work-item of a launch touches: the one whose ids are all 0.

Check mode looks for commands that race. The memory that a kernel accesses through its arguments is not known before it
runs, but the path of one work-item often is: all ids are constants there, and a branch on `0 < n` is taken where the
argument `n` is positive. The analysis follows that path and records accesses at exactly the address that an argument
holds. The path ends at the first branch that depends on anything else.
"""

from __future__ import annotations

from anyzero.compiler import folding
from anyzero.compiler.folding import width
from anyzero.compiler.ir import WIDTHS, Block, Body, Op
from anyzero.compiler.operations import DIVISIONS
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["FirstItem", "first_item"]

_MOST_OPERATIONS = 4000
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


def first_item(body: Body) -> FirstItem:
    path = _Path()
    block: Block | None = body.blocks[0]
    before: Block | None = None
    while block is not None and path.left > 0:
        before, block = block, path.follow(block, before)
    return FirstItem(frozenset(path.reads), frozenset(path.writes), frozenset(path.positive))


@dataclass(slots=True)
class _Path:
    values: dict[Op, _Value] = field(default_factory=dict)
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    positive: set[int] = field(default_factory=set)
    left: int = _MOST_OPERATIONS

    def follow(self, block: Block, before: Block | None) -> Block | None:
        """The block behind this one; None where the path ends or is not known."""
        if before is not None:
            came = block.predecessors.index(before)
            self.values.update([(phi, self.value(phi.args[came])) for phi in block.phis])
        for op in block.ops:
            self.left -= 1
            if op.name in ("call", "fault"):
                return None
            self.values[op] = self.result(op)
        if block.condition is None:
            return block.successors[0] if block.successors else None
        holds = self.value(block.condition)
        if holds is None:
            holds = self.if_positive(block.condition)
        return block.successors[0 if holds else 1] if isinstance(holds, int) else None

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
            if number is not None and self.value(condition.args[1 - place]) == 0 and condition.info in answers:
                self.positive.add(number.info)
                return answers[condition.info]
        return None


def _argument(op: Op) -> Op | None:
    """The argument that a value is, perhaps widened."""
    while op.name == "cast" and op.info in ("zext", "sext"):
        op = op.args[0]
    return op if op.name == "argument" and op.type.startswith("i") else None
