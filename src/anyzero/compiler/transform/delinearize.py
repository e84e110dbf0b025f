"""Delinearization: a kernel that divides its id into a column and a row runs as a launch of two dimensions.

Programs often number the elements of a matrix, or of an image with channels, by one id: `column = i % width` and
`row = i / width`. The engine cuts such a launch into rows, where their length divides the number of work-items. Nothing
is divided then, rows can share what they read, and blocks of a transposition are squares.
"""

from __future__ import annotations

from collections import Counter

from anyzero.compiler.analysis.early_exits import outcomes_before_effects
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.operations import OPPOSITE, SWAPPED
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.simplify import simplify
from anyzero.lazy_dataclass import dataclass

__all__ = ["RowLength", "delinearize", "find_row_length"]

_ID = ("global_id", 0)
_ROW = ("global_id", 1)
_QUOTIENTS = frozenset({"udiv", "sdiv"})
_REMAINDERS = frozenset({"urem", "srem"})

Factors = frozenset[int]
"""Offsets of the arguments whose product a number is."""

DEPTH = 6
"""Products and conversions in one another that are followed: squares of squares would be visited 2^n times."""


@dataclass(frozen=True, slots=True)
class RowLength:
    """The length of a row, and the number of elements, as products of arguments."""

    length: Factors
    items: Factors
    """Work-items beyond so many end at once; a launch has at least as many. Empty where the kernel does not tell."""


def find_row_length(body: Body, numbers: frozenset[int]) -> RowLength | None:
    """The shortest length by which the kernel divides its id; None if it uses more of the launch than that id.

    `numbers` are the offsets of arguments that are one integer each: the engine does not look into structures.
    """
    if any(op.name == "builtin" and op.info != _ID for op in body.ops):
        return None
    ids = _ids(body)
    divisors = Counter(each for op in body.ops if (each := _divisor(op, ids)) and each <= numbers)
    if not divisors:
        return None
    outcomes = outcomes_before_effects(body).items()
    bounds = [each for op, wanted in outcomes if (each := _bound(op, wanted, ids)) and each <= numbers]
    length = min(divisors, key=lambda factors: (len(factors), -divisors[factors], sorted(factors)))
    return RowLength(length, bounds[0] if bounds else frozenset())


def delinearize(body: Body, rows: RowLength) -> None:
    """Makes the id a column and a row, in a launch of so many elements."""
    ids, entry = _ids(body), body.blocks[0]
    new: list[Op] = []

    def add(name: str, type_: str, args: list[Op], info: object = None, flags: str = "") -> Op:
        new.append(Op(name, type_, args, info, flags, block=entry))
        return new[-1]

    column, row = add("builtin", "i64", [], _ID), add("builtin", "i64", [], _ROW)
    types = {op.info: op.type for op in body.ops if op.name == "argument"}

    def converted(op: Op, type_: str) -> Op:
        """The engine checks that the numbers of rows are positive, and their products, too; others are not cut off."""
        if op.type == type_:
            return op
        return add("cast", type_, [op], "sext" if type_ == "i64" else "trunc")

    def product(of: Factors, type_: str) -> Op:
        first, *others = [converted(add("argument", types[each], [], each), type_) for each in sorted(of)]
        for each in others:
            first = add("mul", type_, [first, each], flags="nsw")
        return first

    made: dict[str, tuple[Op, Op, Op]] = {}
    for type_ in sorted({op.type for op in ids}):
        x, y = converted(column, type_), converted(row, type_)
        start = add("mul", type_, [y, product(rows.length, type_)], flags="nsw")
        made[type_] = x, y, add("add", type_, [start, x], flags="nsw")

    instead = {op: made[op.type][2] for op in ids}
    for op in list(body.ops):
        divisor = _divisor(op, ids)
        if divisor == rows.length:
            instead[op] = made[op.type][op.name in _QUOTIENTS]
        elif divisor > rows.length and op.name in _QUOTIENTS and _is_exact(op.args[1], types):
            # A layer of so many rows. Their number may be 0 where work-items do not come here.
            op.args = [made[op.type][1], product(divisor - rows.length, op.type)]
        elif _compares_signs(op, ids, rows.length):
            instead[op] = body.const("i1", 0)
        elif _is_remainder(op, ids, rows.length):
            instead[op] = made[op.type][0]
        elif rows.items and (outcome := _outcome(op, ids, rows.items)) is not None:
            instead[op] = body.const("i1", outcome)
    substitute(body, instead)
    entry.ops[:0] = new
    simplify(body)
    cse(body)
    dce(body)


def _ids(body: Body) -> set[Op]:
    """The id, its low half, and that widened again: one number in launches of less than 2^31 work-items."""
    found: set[Op] = set()
    for op in body.ops:
        if (op.name == "builtin" and op.info == _ID) or (op.name == "cast" and op.args[0] in found and _converts(op)):
            found.add(op)
    return found


def _converts(op: Op) -> bool:
    return op.info in ("trunc", "sext", "zext") and {op.type, op.args[0].type} == {"i32", "i64"}


def _factors(op: Op, depth: int = DEPTH) -> Factors:
    """Empty where it is no such product."""
    if op.name == "argument" and op.type in ("i32", "i64"):
        return frozenset({op.info})
    if not depth:
        return frozenset()
    if op.name == "cast" and _converts(op):
        return _factors(op.args[0], depth - 1)
    if op.name == "mul":
        first, second = (_factors(arg, depth - 1) for arg in op.args)
        return first | second if first and second and not first & second else frozenset()
    return frozenset()


def _is_exact(product: Op, types: dict[int, str]) -> bool:
    """Is it the product of the arguments as signed numbers? Nothing is known of those that are no factors of a row."""
    match product.name:
        case "mul":
            return "nsw" in product.flags and all(_is_exact(arg, types) for arg in product.args)
        case "cast":
            return product.info == "sext" and _is_exact(product.args[0], types)
        case _:
            return product.type == types[product.info]


def _divisor(op: Op, ids: set[Op]) -> Factors:
    """What the id is divided by."""
    divides = op.name in _QUOTIENTS or op.name in _REMAINDERS
    return _factors(op.args[1]) if divides and op.args[0] in ids else frozenset()


def _is_remainder(op: Op, ids: set[Op], length: Factors) -> bool:
    """Is it `id - id / length * length`, as compilers write `id % length`?"""
    if op.name != "sub" or op.args[0] not in ids or op.args[1].name != "mul":
        return False
    one, other = op.args[1].args
    return any(
        quotient.name in _QUOTIENTS and _divisor(quotient, ids) == length == _factors(factor)
        for quotient, factor in ((one, other), (other, one))
    )


def _compares_signs(op: Op, ids: set[Op], length: Factors) -> bool:
    """Do remainder and divisor differ in sign? Neither is negative; divisions in Python round down."""
    if op.name != "icmp" or op.info != "slt" or op.args[0].name != "xor" or op.args[1].name != "const":
        return False
    remainder, divisor = op.args[0].args
    return op.args[1].info == 0 and _divisor(remainder, ids) == length == _factors(divisor)


def _bound(op: Op, wanted: bool, ids: set[Op]) -> Factors:
    """The number that ids are less than where this comparison has the outcome."""
    if op.name != "icmp":
        return frozenset()
    (first, second), predicate = op.args, op.info
    if second in ids:
        first, second, predicate = second, first, SWAPPED[predicate]
    less = predicate if wanted else OPPOSITE[predicate]
    return _factors(second) if first in ids and less in ("slt", "ult") else frozenset()


def _outcome(op: Op, ids: set[Op], items: Factors) -> bool | None:
    """The outcome of a comparison of an id with the number of elements, which all ids are less than."""
    for wanted in (True, False):
        if _bound(op, wanted, ids) == items:
            return wanted
    return None
