"""Delinearization: a kernel that divides its id into a column and a row runs as a launch of two dimensions.

Programs often number the elements of a matrix, or of an image with channels, by one id: `column = i % width` and
`row = i / width`. The engine cuts such a launch into rows, where their length divides the number of work-items. Nothing
is divided by it then, rows can share what they read, and blocks of a transposition are squares.

Each number that is made from the id by divisions is `row * length + column`, or that of another row or a shorter
length. Dividing it by a factor of the length changes the column only, dividing by a multiple of the length the row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from anyzero.compiler.analysis.divisions import QUOTIENTS, Step, division_of
from anyzero.compiler.analysis.early_exits import outcomes_before_effects
from anyzero.compiler.analysis.products import MOST, ONE, Product, Term, converts, product_of, signed
from anyzero.compiler.folding import width
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.operations import OPPOSITE, SWAPPED
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.simplify import simplify
from anyzero.lazy_dataclass import dataclass

__all__ = ["RowLength", "delinearize", "find_row_lengths"]

_ID = ("global_id", 0)
_ROW = ("global_id", 1)
_CONVERSIONS = ("trunc", "zext", "sext")
_LESS, _LESS_OR_EQUAL = ("slt", "ult"), ("sle", "ule")


@dataclass(frozen=True, slots=True)
class RowLength:
    """The length of a row, and the number of elements. The engine computes both, and makes sure that they hold."""

    length: Product
    items: Product | None
    """Work-items beyond so many end at once; a launch has at least as many. None where the kernel does not tell."""


def find_row_lengths(body: Body, shortest: int) -> list[RowLength]:
    """Lengths by which the kernel divides its id: a product of arguments, and constants that are at least as long as
    `shortest`. None if it uses more of the launch than that id.
    """
    if any(op.name == "builtin" and op.info != _ID for op in body.ops):
        return []
    ids = _ids(body)
    divisors = _divisors(body, ids)
    outcomes = outcomes_before_effects(body).items()
    bounds = (_bound(op, wanted, ids) for op, wanted in outcomes)
    items = next((each for each in bounds if each is not None), None)
    constants = sorted(each.factor for each in divisors if each.constant and each.factor >= shortest)
    products = [each for each in divisors if not each.constant]
    best = sorted(
        products, key=lambda each: (len(each.terms), -divisors[each], each.factor, sorted(map(repr, each.terms)))
    )
    return [RowLength(each, items) for each in (*best[:1], *map(Product, constants))]


def _divisors(body: Body, ids: set[Op]) -> Counter[Product]:
    """What the id is divided by. Remainders are divided again by rows, as in `i % (w * h) % w`, or by a scale, as in
    `i % w / scale`: of arguments, which may be small, only the former count.
    """
    before = dict.fromkeys(ids, ONE)
    found: Counter[Product] = Counter()
    for op in body.ops:
        if op.name == "cast" and op.info in _CONVERSIONS and op.args[0] in before:
            before[op] = before[op.args[0]]
        division = division_of(op, lambda one, other: one is other or (one in ids and other in ids))
        if division is None or division.of not in before:
            continue
        by = before[division.of]
        for step in division.steps:
            whole = by.times(step.by)
            if whole is None:
                break
            if whole.constant or division.of in ids or (by == ONE and step.name not in QUOTIENTS):
                found[whole] += 1
            if step.name in QUOTIENTS:
                by = whole
        else:
            if not division.left:
                before[op] = by
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """The number `row * length + column`, where the column is less than the length."""

    row: Op | None
    """None for 0."""
    column: Op
    length: Product
    rows: int | None
    """The row is less than that, where it is known."""

    @property
    def most(self) -> int | None:
        """The number is less."""
        return self.rows * self.length.factor if self.rows and self.length.constant else None


def delinearize(body: Body, rows: RowLength) -> None:
    """Makes the id a column and a row, in a launch of so many elements."""
    _Delinearization(body, rows).run()
    simplify(body)
    cse(body)
    dce(body)


class _Delinearization:
    def __init__(self, body: Body, rows: RowLength) -> None:
        self.body, self.rows = body, rows
        self.ids = _ids(body)
        self.places: dict[Op, _Place] = {}
        self.instead: dict[Op, Op] = {}
        self.block = body.blocks[0]
        self.new: list[Op] = []

    def run(self) -> None:
        body, entry = self.body, self.body.blocks[0]
        column, row = self.add("builtin", "i64", [], _ID), self.add("builtin", "i64", [], _ROW)
        first: dict[str, _Place] = {}
        length, items = self.rows.length, self.rows.items
        last = items.factor // length.factor if items and items.constant and length.constant else None
        for type_ in sorted({op.type for op in self.ids}):
            first[type_] = _Place(self.converted(row, type_), self.converted(column, type_), length, last)
            whole = self.value(first[type_], type_)
            for op in self.ids:
                if op.type == type_:
                    self.places[op], self.instead[op] = first[type_], whole
        before = self.new
        # Every block comes after its dominators.
        for block in body.blocks:
            self.block, self.new = block, []
            for op in block.ops:
                if op not in self.instead:
                    self.visit(op)
                self.new.append(op)
            block.ops = self.new
        entry.ops[:0] = before
        substitute(body, self.instead)

    def visit(self, op: Op) -> None:
        if op.name == "icmp":
            if self.compares_signs(op):
                self.instead[op] = self.body.const("i1", 0)
            elif self.rows.items and (outcome := _outcome(op, self.ids, self.rows.items)) is not None:
                self.instead[op] = self.body.const("i1", outcome)
            return
        if op.name == "cast" and op.args[0] in self.places and self.keeps(op):
            self.places[op] = self.place(op.args[0], op.type)
            self.instead[op] = self.value(self.places[op], op.type)
            return
        division = division_of(op, self.alike)
        if division is None or division.of not in self.places:
            return
        found: _Place | Op = self.place(division.of, op.type)
        for step in division.steps:
            made = self.divided(found, step) if isinstance(found, _Place) else self.plain(found, step)
            if made is None:
                return
            found = made
        value = self.value(found, op.type) if isinstance(found, _Place) else self.converted(found, op.type)
        if division.left:
            value = self.add("shl", value.type, [value, self.body.const(value.type, division.left)])
        elif isinstance(found, _Place):
            self.places[op] = found
        self.instead[op] = value

    def keeps(self, cast: Op) -> bool:
        """Does a conversion keep the number of a place, which is not negative in fewer bits either?"""
        most, bits = self.places[cast.args[0]].most, min(width(cast.type), width(cast.args[0].type))
        fits = most is not None and most <= 1 << (bits - 1)
        return converts(cast) or (fits and cast.info in _CONVERSIONS)

    def place(self, of: Op, type_: str) -> _Place:
        """In 32 bits where they suffice."""
        found, type_ = self.places[of], "i64" if type_ == "i64" else "i32"
        row = self.converted(found.row, type_) if found.row else None
        return _Place(row, self.converted(found.column, type_), found.length, found.rows)

    def divided(self, of: _Place, step: Step) -> _Place | Op | None:
        """A place, or a number of rows; None where that is neither. Divisors that work-items may not come to can be 0,
        so divisions by them stay where they are.
        """
        by, zero = step.by, self.body.const(of.column.type, 0)
        if not (step.exact or self.rows.length.over(by)):
            return None
        shorter, rows = of.length.over(by), by.over(of.length)
        if step.name in QUOTIENTS:
            if shorter == ONE:
                return of.row or zero
            if shorter:
                return _Place(of.row, self.apply("udiv", of.column, by), shorter, of.rows)
            return self.apply(step.name, of.row or zero, rows) if rows else None
        if shorter:
            return _Place(None, of.column if shorter == ONE else self.apply("urem", of.column, by), by, 1)
        if rows is None:
            return None
        row = self.apply(step.name, of.row, rows) if of.row else None
        return _Place(row, of.column, of.length, rows.factor if rows.constant else None)

    def plain(self, of: Op, step: Step) -> Op:
        """The division of a number of rows."""
        return self.apply(step.name, of, step.by)

    def alike(self, one: Op, other: Op) -> bool:
        """Are they the same number?"""
        place = self.places.get(one)
        return one is other or (place is not None and place == self.places.get(other))

    def compares_signs(self, op: Op) -> bool:
        """Do a remainder and a divisor differ in sign? Neither is negative; divisions in Python round down."""
        if op.info != "slt" or op.args[0].name != "xor" or op.args[1].name != "const" or op.args[1].info:
            return False
        remainder, divisor = op.args[0].args
        if remainder not in self.places:
            return False
        by = product_of(divisor)
        return by is not None and (by.constant or self.rows.length.over(by) is not None)

    # Numbers

    def value(self, place: _Place, type_: str) -> Op:
        found = place.column
        if place.row is not None:
            start = self.add("mul", found.type, [place.row, self.number(place.length, found.type)], flags="nsw")
            found = self.add("add", found.type, [start, found], flags="nsw")
        return self.converted(found, type_)

    def apply(self, name: str, to: Op, by: Product) -> Op:
        """Of a number that is not negative."""
        quotient, factor = name in QUOTIENTS, by.factor
        if quotient and by == ONE:
            return to
        if by.constant and not factor & (factor - 1):
            mask = self.body.const(to.type, factor.bit_length() - 1 if quotient else factor - 1)
            return self.add("lshr" if quotient else "and", to.type, [to, mask])
        return self.add(name, to.type, [to, self.number(by, to.type)])

    def number(self, of: Product, type_: str) -> Op:
        parts = [self.converted(self.computed(each), type_) for each in sorted(of.terms, key=repr)]
        if of.factor > 1 or not parts:
            parts.append(self.body.const(type_, of.factor))
        first, *others = parts
        for each in others:
            first = self.add("mul", type_, [first, each], flags="nsw")
        return first

    def computed(self, term: Term) -> Op:
        name, type_, info, *args = term
        assert isinstance(name, str)
        assert isinstance(type_, str)
        if name == "const":
            assert isinstance(info, int)
            return self.body.const(type_, info)
        return self.add(name, type_, [self.computed(each) for each in _terms(args)], info)

    def converted(self, op: Op, type_: str) -> Op:
        """The engine checks that the numbers of rows are positive, and their products, too; others are not cut off."""
        if op.type == type_:
            return op
        return self.add("cast", type_, [op], "sext" if type_ == "i64" else "trunc")

    def add(self, name: str, type_: str, args: list[Op], info: object = None, flags: str = "") -> Op:
        self.new.append(Op(name, type_, args, info, flags, block=self.block))
        return self.new[-1]


def _terms(args: Iterable[object]) -> list[Term]:
    return [each for each in args if isinstance(each, tuple)]


def _ids(body: Body) -> set[Op]:
    """The id, its low half, and that widened again: one number in launches of less than 2^31 work-items."""
    found: set[Op] = set()
    for op in body.ops:
        if (op.name == "builtin" and op.info == _ID) or (converts(op) and op.args[0] in found):
            found.add(op)
    return found


def _bound(op: Op, wanted: bool, ids: set[Op]) -> Product | None:
    """The number that ids are less than where this comparison has the outcome."""
    if op.name != "icmp":
        return None
    (first, second), predicate = op.args, op.info
    if second in ids:
        first, second, predicate = second, first, SWAPPED[predicate]
    less = predicate if wanted else OPPOSITE[predicate]
    if first not in ids:
        return None
    if less in _LESS_OR_EQUAL and second.name == "const" and 0 < signed(second) < MOST:
        return Product(signed(second) + 1)
    return product_of(second) if less in _LESS else None


def _outcome(op: Op, ids: set[Op], items: Product) -> bool | None:
    """The outcome of a comparison of an id with the number of elements, which all ids are less than."""
    for wanted in (True, False):
        if _bound(op, wanted, ids) == items:
            return wanted
    return None
