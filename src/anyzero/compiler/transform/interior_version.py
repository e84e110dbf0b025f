"""The interior version of a kernel: a copy simplified under the assumption that no index needs clamping or wraps around
an edge, and that every work-item passes the bounds checks, as holds away from the edges.

Its code needs no masks for bounds checks, and accesses through clamped indices are contiguous. It is correct where the
assumptions hold, which a few operations per row decide at run time; elsewhere the general version runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.affine import LARGEST, Form, Forms, Leaf, Size
from anyzero.compiler.analysis.early_exits import outcomes_with_work
from anyzero.compiler.analysis.loops import find_loops
from anyzero.compiler.dominators import dominators
from anyzero.compiler.folding import compared
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.simplify import simplify
from anyzero.lazy_dataclass import dataclass, field

_HELD = {"s_clamp": "both", "u_clamp": "both", "s_min": "high", "u_min": "high", "s_max": "low", "u_max": "low",
         "smin": "high", "umin": "high", "smax": "low", "umax": "low"}  # fmt: skip
_BITS = (1 << 64) - 1
MOST = 24
"""Most comparisons at run time."""


@dataclass(slots=True)
class Assumptions:
    """Sums that must not be negative, each with its smallest constant: the strictest condition."""

    least: dict[tuple[tuple[Leaf, int], ...], int] = field(default_factory=dict)
    held: int = 0
    """Clamps that were removed."""

    def ask(self, form: Form | None) -> bool:
        """Assumes that a sum is not negative; False where it is not affine."""
        if form is None:
            return False
        self.widened(form)
        self.note(form)
        return True

    def widened(self, form: Form) -> None:
        """Assumes that no part of the sum wraps around before it is widened."""
        for inner, low, high in form.narrow:
            self._inside(inner, low, high)

    def _inside(self, form: Form, low: int, high: int) -> None:
        self.note(Form(form.terms, form.low - low, form.high - low))
        minus = tuple((leaf, -factor) for leaf, factor in form.terms)
        self.note(Form(minus, high - form.high, high - form.low))

    def note(self, form: Form) -> None:
        """Assumes that it is not negative, and nothing else."""
        terms = tuple(sorted(form.terms, key=repr))
        self.least[terms] = min(form.low, self.least.get(terms, form.low))

    def number(self, form: Form, type_: str, unsigned: bool) -> None:
        """Assumes that the sum of an operand does not wrap around."""
        low = 0 if unsigned else -(1 << 31)
        self._inside(
            form, low if type_ == "i32" or unsigned else -LARGEST, (1 << 31) - 1 if type_ == "i32" else LARGEST
        )

    def follow_from(self, known: Iterable[tuple[tuple[tuple[Leaf, int], ...], int]]) -> bool:
        """Do they hold wherever these sums, with their constants, are not negative?"""
        best: dict[tuple[tuple[Leaf, int], ...], int] = {}
        for terms, constant in known:
            best[terms] = min(constant, best.get(terms, constant))
        return all(terms in best and best[terms] <= least for terms, least in self.least.items() if terms)

    def of_neighbours(self, size: int, count: int) -> Assumptions:
        """The conditions for `count` groups with rows of `size` work-items, along a row of groups: each sum is least in
        the first or in the last one.
        """
        steps: dict[Leaf, int] = {("builtin", ("group_id", 0)): 1, ("builtin", ("global_id", 0)): size}

        def change(terms: tuple[tuple[Leaf, int], ...]) -> int:
            return (count - 1) * sum(factor * steps.get(leaf, 0) for leaf, factor in terms)

        return Assumptions({terms: low + min(0, change(terms)) for terms, low in self.least.items()}, self.held)

    @property
    def possible(self) -> bool:
        return all(terms or least >= 0 for terms, least in self.least.items()) and len(self.least) <= MOST


def interior_version(body: Body, group: Size | None = None) -> tuple[Body, Assumptions] | None:
    """The simplified body with its conditions; None where no assumption helps.

    With a group size, the conditions are those of whole groups, and nothing is assumed of places within them.
    """
    forms = forms_of(body, group)
    granted = Assumptions()
    instead: dict[Op, Op] = {}
    reduced: list[Op] = []
    wanted = outcomes_with_work(body)
    for op in body.ops:
        known = _settled(op, forms, granted, body, wanted.get(op))
        if known is op:
            reduced.append(op)
        elif known is not None:
            instead[op] = known
    if not (instead or reduced) or not granted.possible or (group is not None and not granted.least):
        return None
    made, copies = copied(body)
    by = {copies[op]: copies.get(known, known) for op, known in instead.items()}
    for op in reduced:
        copies[op].name, copies[op].flags = "sub", ""
    for block in made.blocks:
        block.ops = [op for op in block.ops if op not in by]
    substitute(made, by)
    simplify(made)
    number(made)
    dce(made)
    return made, granted


def forms_of(body: Body, group: Size | None = None) -> Forms:
    """Its affine forms, which need loops."""
    number(body)
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    return Forms(find_loops(body, immediate), immediate, group)


def _settled(op: Op, forms: Forms, granted: Assumptions, body: Body, wanted: bool | None) -> Op | None:
    if op.name == "icmp" and op.args[0].type in ("i32", "i64"):
        return _compared(op, forms, granted, body, wanted)
    if op.name in ("urem", "srem") and op.type in ("i32", "i64") and forms.group is None:
        return _wrapped(op, forms, granted)
    name = op.info[0] if op.name == "math" else op.info if op.name == "intrinsic" else ""
    if name in _HELD and op.type in ("i32", "i64"):
        return _held(op, _HELD[name], name[0] == "u", forms, granted)
    return None


def _held(op: Op, how: str, unsigned: bool, forms: Forms, granted: Assumptions) -> Op | None:
    """The index without its clamp."""
    found = [forms.of(arg) for arg in op.args]
    if any(form is None for form in found):
        return None
    places = [place for place, form in enumerate(found) if form is not None and form.ids]
    if len(places) != 1 or (how == "both" and places != [0]):
        return None
    index = found[places[0]]
    if index is None or (forms.group is not None and index.within):
        return None
    bounds = [form for place, form in enumerate(found) if place != places[0]]
    low, high = {"both": bounds, "low": [*bounds, None], "high": [None, *bounds]}[how]
    differences = [(index, low), (high, index)]
    asked = [None if a is None or b is None else a.plus(b, -1) for a, b in differences]
    if any(form is None and None not in pair for form, pair in zip(asked, differences, strict=True)):
        return None
    for form in asked:
        if form is not None:
            granted.ask(form)
    for form in found:
        if form is not None:
            granted.number(form, op.type, unsigned)
    granted.held += 1
    forms.known[op] = index
    return op.args[places[0]]


def _wrapped(op: Op, forms: Forms, granted: Assumptions) -> Op | None:
    """The index without its wrap around the edges, as in `(x + 1) % width` and `(x - 1 + width) % width`: its operand,
    or the operation itself where the width is to be subtracted. The remainder of an id itself tells columns from rows.
    """
    index, width = (forms.of(arg) for arg in op.args)
    if index is None or width is None or len(width.terms) != 1 or width.ids or width.low or width.high:
        return None
    (leaf, factor), *_ = width.terms
    times = dict(index.terms).get(leaf, 0)
    if factor != 1 or times not in (0, 1) or len(index.ids) != 1 or not (times or index.low or index.high):
        return None
    reduced = index.plus(width, -times)
    left = None if reduced is None else Form((), -1, -1).plus(width)
    room = None if left is None or reduced is None else left.plus(reduced, -1)
    if reduced is None or room is None or not (granted.ask(reduced) and granted.ask(room)):
        return None
    for form in (index, width):
        granted.number(form, op.type, op.name == "urem")
    granted.held += 1
    forms.known[op] = reduced
    return op if times else op.args[0]


def _compared(op: Op, forms: Forms, granted: Assumptions, body: Body, wanted: bool | None) -> Op | None:
    """The outcome with which a work-item goes on, where the other one ends it; else the likely one: ids are above
    constants, and below bounds from arguments.
    """
    found = [forms.of(arg) for arg in op.args]
    first, second = found
    if first is None or second is None:
        return None
    apart = first.plus(second, -1)
    if forms.group is not None and (apart is None or apart.within):
        return in_every_group(op, forms, body)
    if apart is None or not apart.ids:
        return None
    unsigned, kind = op.info[0] == "u", op.info[-2:]
    equality = op.info in ("eq", "ne")
    if wanted is not None and not equality:
        answer, below = wanted, (kind[0] == "l") == wanted
    elif len({factor > 0 for _, factor in apart.ids}) > 1:
        return None
    else:
        below = (apart.ids[0][1] > 0) == apart.bounded
        answer = op.info == "ne" if equality else (kind[0] == "l") == below
    # Numbers that are not equal are assumed to be at least one apart.
    distance = int(equality or (kind[1] == "t") == answer)
    sign = -1 if below else 1
    asked = Form((), -distance, -distance).plus(apart, sign)
    if not granted.ask(asked):
        return None
    for form in (first, second):
        granted.number(form, op.args[0].type, unsigned)
    forms.answers[op] = answer
    return body.const("i1", int(answer))


def in_every_group(op: Op, forms: Forms, body: Body) -> Op | None:
    """The constant outcome of a comparison of local ids that is the same for all work-items of groups of this size."""
    first, second = (forms.range(arg) for arg in op.args)
    if first is None or second is None or (op.info[0] == "u" and min(*first, *second) < 0):
        return None
    answers = {compared(op.info, 64, a & _BITS, b & _BITS) for a in first for b in second}
    if len(answers) > 1 or (op.info in ("eq", "ne") and max(first[0], second[0]) <= min(first[1], second[1])):
        return None
    return body.const("i1", int(answers.pop()))


def copied(body: Body) -> tuple[Body, dict[Op, Op]]:
    """A copy of the body, and the copy of each operation."""
    made = Body(body.name, [], list(body.variables), body.constants)
    blocks = {block: Block(block.number) for block in body.blocks}
    ops: dict[Op, Op] = {}
    for block, copy in blocks.items():
        for op in block.phis:
            ops[op] = copy.add_phi(Op(op.name, op.type, [], op.info, op.flags, op.word))
        for op in block.ops:
            ops[op] = copy.append(Op(op.name, op.type, [], op.info, op.flags, op.word))
    for op, copy_ in ops.items():
        copy_.args = [ops.get(arg, arg) for arg in op.args]
    for block, copy in blocks.items():
        copy.predecessors = [blocks[each] for each in block.predecessors]
        copy.successors = [blocks[each] for each in block.successors]
        copy.condition = None if block.condition is None else ops.get(block.condition, block.condition)
    made.blocks = list(blocks.values())
    return made, ops
