"""Merges neighbouring groups: one group whose rows are those of several neighbours along the first dimension.

Rows of small groups fill a part of a vector register; those of merged groups fill it. Work-items of the merged group
compute their ids in the groups that they belong to, and their addresses in local memory, from their place in its row.
A barrier then waits for the work-items of all these groups, which is more than is asked for. Other operations of whole
groups, such as collectives, are not there.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import known_space, root
from anyzero.compiler.ir import WIDTHS, Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.interior_version import copied
from anyzero.lazy_dataclass import dataclass, field

APART = 1 << 40
"""Bytes between the local memory of two neighbours, for each work-item of a row: more than there are, so that no
address belongs to both. Arrays are in registers then, and nothing is at these addresses.
"""

_FACTOR, _ADDEND = 1 << 10, 1 << 30
"""Sums of a local id that are smaller do not wrap around in 32 bits: local ids have 16."""


def merge_groups(body: Body, size: int, count: int) -> Body:
    """A copy for `count` neighbours with rows of `size` work-items, a power of two. The ids of its first work-item are
    those of the first one of the first group.
    """
    made, _ = copied(body)
    start = made.blocks[0]
    new: list[Op] = []

    def op(name: str, type_: str, args: list[Op], info: object = None) -> Op:
        new.append(Op(name, type_, args, info, block=start))
        return new[-1]

    item, first = (op("builtin", "i64", [], (name, 0)) for name in ("local_id", "group_id"))
    beside = op("lshr", "i64", [item, made.const("i64", size.bit_length() - 1)])
    local = op("and", "i64", [item, made.const("i64", size - 1)])
    group = op("add", "i64", [first, beside])
    place = op("add", "i64", [op("mul", "i64", [first, made.const("i64", size)]), item])
    apart = op("mul", "i64", [op("and", "i64", [item, made.const("i64", -size)]), made.const("i64", APART)])
    by: dict[Op, Op] = {}
    for each in made.ops:
        if each.name == "builtin" and each.info in (("local_id", 0), ("group_id", 0)):
            by[each] = local if each.info[0] == "local_id" else group
    _restore_strides(made, size, place, by)
    substitute(made, by)
    for block in made.blocks:
        block.ops = [each for old in block.ops for each in (*_moved(old, apart), old)]
    start.ops[:0] = new
    dce(made)
    return made


def _moved(op: Op, by: Op) -> list[Op]:
    """Pointers to local memory, instead of those that the operation is given: each next to its use, so that it need not
    be kept across a barrier.
    """
    made = []
    for place, arg in enumerate(op.args):
        if arg.type == "ptr" and root(arg) is arg and known_space(arg) == "local":
            op.args[place] = Op("offset", "ptr", [arg, by], word=op.word, block=op.block)
            made.append(op.args[place])
    return made


@dataclass(slots=True)
class _Sum:
    """Multiples of values, plus a constant: modulo the range of a type."""

    terms: dict[Op, int] = field(default_factory=dict)
    constant: int = 0
    local: int = 0
    """The factor of the local id."""
    group: int = 0
    """The factor of the group id."""

    def plus(self, other: _Sum, times: int, bits: int) -> _Sum:
        terms = dict(self.terms)
        for op, factor in other.terms.items():
            terms[op] = terms.get(op, 0) + times * factor
        numbers = (
            (mine + times * its) % (1 << bits)
            for mine, its in ((self.constant, other.constant), (self.local, other.local), (self.group, other.group))
        )
        reduced = ((op, factor % (1 << bits)) for op, factor in terms.items())
        return _Sum({op: factor for op, factor in reduced if factor}, *numbers)


def _restore_strides(body: Body, size: int, place: Op, by: dict[Op, Op]) -> None:
    """Sums with `group_id * size + local_id` in them get `place`, the same number, which counts on from one group to
    the next. Sums and products are the same modulo the range of their type however they are put together.
    """
    sums: dict[Op, _Sum] = {}
    whole: set[Op] = set()
    for block in body.blocks:
        ops: list[Op] = []
        for op in block.ops:
            found = _sum_of(op, sums)
            if found is not None:
                sums[op] = found
                if found.local and found.group == found.local * size % (1 << WIDTHS[op.type]):
                    whole.add(op)
                    if not any(arg in whole for arg in op.args):
                        made, by[op] = _written(op, found, place, body)
                        ops += made
            ops.append(op)
        block.ops = ops


def _sum_of(op: Op, sums: dict[Op, _Sum]) -> _Sum | None:
    """None where it is no sum. Operands come first."""
    if op.type not in ("i32", "i64"):
        return None
    bits, name = WIDTHS[op.type], op.name

    def of(arg: Op) -> _Sum:
        return _Sum(constant=int(arg.info)) if arg.name == "const" else sums.get(arg) or _Sum({arg: 1})

    if name == "builtin" and op.info in (("local_id", 0), ("group_id", 0)):
        return _Sum(local=1) if op.info[0] == "local_id" else _Sum(group=1)
    if name in ("add", "sub"):
        return of(op.args[0]).plus(of(op.args[1]), 1 if name == "add" else -1, bits)
    if name in ("mul", "shl") and op.args[1].name == "const" and (name == "mul" or op.args[1].info < bits):
        by = int(op.args[1].info)
        return _Sum().plus(of(op.args[0]), by if name == "mul" else 1 << by, bits)
    if name == "cast" and op.args[0].type in ("i32", "i64"):
        inner = of(op.args[0])
        if op.info == "trunc":
            return _Sum().plus(inner, 1, bits)
        if op.info in ("sext", "zext") and _is_small(inner):
            return inner
    return None


def _is_small(found: _Sum) -> bool:
    """Is it a sum of a local id that is the same number in more bits?"""
    return not found.terms and not found.group and found.local <= _FACTOR and found.constant < _ADDEND


def _written(op: Op, found: _Sum, place: Op, body: Body) -> tuple[list[Op], Op]:
    """New operations, and the sum that they compute."""
    made: list[Op] = []

    def new(name: str, args: list[Op], info: object = None) -> Op:
        made.append(Op(name, op.type, args, info, word=op.word, block=op.block))
        return made[-1]

    def times(value: Op, factor: int) -> Op:
        if value.type != op.type:
            value = new("cast", [value], "trunc")
        return value if factor == 1 else new("mul", [value, body.const(op.type, factor)])

    total = times(place, found.local)
    for value, factor in found.terms.items():
        total = new("add", [times(value, factor), total])
    if found.constant:
        total = new("add", [total, body.const(op.type, found.constant)])
    return made, total
