"""Bounds checks: each access is compared with the bounds of the memory that its pointer was made from.

Bounds are values beside pointers: begin and size (fat pointers). The launch passes those of arguments, those of a
variable are known, pointer arithmetic keeps them, and phis and selects of pointers become phis and selects of bounds.
If a pointer comes from memory or from an integer, the code asks the engine.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import signed_offset
from anyzero.compiler.ir import SIZES, Body, Check, Op
from anyzero.layouts.kernel import CHECKED_WORDS, CheckedAccess, CheckedMemory
from anyzero.lazy_namedtuple import NamedTuple

WORD = 8
_COPIES = frozenset({"copy", "group_copy"})
ACCESSES = {"load": CheckedAccess.LOAD, "store": CheckedAccess.STORE, "atomic": CheckedAccess.ATOMIC}
_VARIABLES = {
    "local": CheckedMemory.LOCAL,
    "private": CheckedMemory.PRIVATE,
    "global": CheckedMemory.VARIABLE,
    "constant": CheckedMemory.CONSTANT,
}
_SUMS = frozenset({"add", "sub", "and", "or"})


class Bounds(NamedTuple):
    begin: Op
    """A pointer."""
    size: Op
    """An i64: bytes."""


def check_bounds(body: Body, lanes: int) -> None:
    """Puts a `check` in front of each access that is not known to lie within bounds."""
    _Checks(body, lanes).run()


class _Checks:
    def __init__(self, body: Body, lanes: int) -> None:
        self.body = body
        self.lanes = lanes
        self.found: dict[Op, Bounds | None] = {}
        """Bounds by the root of pointers; None where nothing is known."""
        self.first: list[Op] = []
        """Operations for the beginning of the body."""
        self.behind: dict[Op, list[Op]] = {}
        """Operations that follow others."""

    def run(self) -> None:
        checks: dict[Op, list[Op]] = {}
        for op in list(self.body.ops):
            if op.name in ACCESSES:
                checks[op] = self._check(op, 0, ACCESSES[op.name])
            elif op.name in _COPIES:
                checks[op] = self._check(op, 0, CheckedAccess.STORE) + self._check(op, 1, CheckedAccess.LOAD)
        entry = self.body.blocks[0]
        for block in self.body.blocks:
            ops = list(self.first) if block is entry else []
            for phi in block.phis:
                ops += self.behind.get(phi, ())
            for op in block.ops:
                ops += checks.get(op, ())
                ops.append(op)
                ops += self.behind.get(op, ())
            for op in ops:
                op.block = block
            block.ops = ops

    def _check(self, op: Op, operand: int, kind: CheckedAccess) -> list[Op]:
        pointer = op.args[operand]
        begin = root(pointer)
        bounds = self.bounds(begin)
        if bounds is None or op.info.space == "code":
            return []
        copies = op.name in _COPIES
        size = 1 if copies else element_bytes(op)
        count = 0 if copies else 1 if op.name == "atomic" else op.info.count
        memory, name, interleaved = CheckedMemory.GLOBAL, "", False
        if begin.name == "local_argument":
            memory = CheckedMemory.LOCAL_ARGUMENT
        elif begin.name == "variable":
            variable = begin.info
            memory, name = _VARIABLES["constant" if variable.read_only else variable.space], variable.name
            interleaved = bool(variable.element) and variable.space == "private"
            place = constant_offset(pointer)
            written = memory is CheckedMemory.CONSTANT and kind is not CheckedAccess.LOAD
            apart = self.lanes if interleaved else 1
            inside = place is not None and 0 <= place <= variable.size * apart - size * count
            if inside and not written and not copies:
                return []
        alignment = 1 if copies or interleaved else size if op.name == "atomic" else max(op.info.alignment, 1)
        what = Check(op, kind, size, count, alignment, memory, name, interleaved, operand)
        return [Op("check", "", list(bounds), what, word=op.word)]

    def bounds(self, begin: Op) -> Bounds | None:
        """The bounds of the memory that a root points into."""
        if begin in self.found:
            return self.found[begin]
        if begin.name in ("phi", "select"):
            return self._chosen(begin)
        found = self.found[begin] = self._of_root(begin)
        return found

    def _of_root(self, begin: Op) -> Bounds | None:
        body = self.body
        if begin.name == "variable":
            variable = begin.info
            apart = self.lanes if variable.space == "private" and variable.element else 1
            return Bounds(begin, body.const("i64", variable.size * apart))
        if begin.name == "local_argument":
            size = self._at_first(Op("argument", "i32", [], begin.info + WORD // 2))
            return Bounds(begin, self._at_first(Op("cast", "i64", [size], "zext")))
        if begin.name == "const":
            return Bounds(begin, body.const("i64", 0)) if begin.info == 0 else None
        if begin.name in ("argument_address", "undef", "function"):
            return None
        source = begin
        if begin.name == "cast" and begin.info == "inttoptr":
            source = _integer_source(begin.args[0])
            if source.name == "cast" and source.info == "ptrtoint":
                return self.bounds(root(source.args[0]))
            if source.name == "const":
                return None
        if source.name == "argument" and source.info % WORD == 0 and source.info < CHECKED_WORDS * WORD:
            place = source.info // WORD
            return Bounds(
                self._at_first(Op("bounds", "ptr", [], (place, "begin"))),
                self._at_first(Op("bounds", "i64", [], (place, "size"))),
            )
        return self._asked(begin)

    def _asked(self, pointer: Op) -> Bounds:
        """Bounds that the engine looks up at the pointer's definition."""
        asked = Op("bounds_of", "i64", [pointer], word=pointer.word)
        begin, size = Op("part", "ptr", [asked], 0), Op("part", "i64", [asked], 1)
        self.behind.setdefault(pointer, []).extend((asked, begin, size))
        return Bounds(begin, size)

    def _chosen(self, choice: Op) -> Bounds | None:
        """The bounds of a phi or a select: those of the only root, or a choice of bounds."""
        roots = self._roots(choice)
        if len(roots) == 1:
            found = self.bounds(roots.pop())
            self.found[choice] = found
            return found
        skip = 1 if choice.name == "select" else 0
        begin = Op(choice.name, "ptr", list(choice.args[:skip]), word=choice.word)
        size = Op(choice.name, "i64", list(choice.args[:skip]), word=choice.word)
        # Recorded first, because the choice may depend on itself.
        self.found[choice] = Bounds(begin, size)
        for each in choice.args[skip:]:
            bounds = self.bounds(root(each)) or self._everything()
            begin.args.append(bounds.begin)
            size.args.append(bounds.size)
        if choice.name == "phi":
            assert choice.block is not None
            choice.block.add_phi(begin)
            choice.block.add_phi(size)
        else:
            self.behind.setdefault(choice, []).extend((begin, size))
        return self.found[choice]

    def _everything(self) -> Bounds:
        return Bounds(self.body.const("ptr", 0), self.body.const("i64", -1))

    def _roots(self, choice: Op) -> set[Op]:
        """The roots that are neither phis nor selects."""
        found: set[Op] = set()
        waiting, seen = [choice], {choice}
        while waiting:
            each = waiting.pop()
            for arg in each.args[1:] if each.name == "select" else each.args:
                begin = root(arg)
                if begin in seen:
                    continue
                seen.add(begin)
                if begin.name in ("phi", "select"):
                    waiting.append(begin)
                else:
                    found.add(begin)
        return found

    def _at_first(self, op: Op) -> Op:
        self.first.append(op)
        return op


def root(pointer: Op) -> Op:
    """The base of an address: the operand that offsets were added to, also as integers."""
    while True:
        if pointer.name == "offset":
            pointer = pointer.args[0]
        elif pointer.name == "cast" and pointer.info == "inttoptr":
            source = _integer_source(pointer.args[0])
            if source.name != "cast" or source.info != "ptrtoint":
                return pointer
            pointer = source.args[0]
        else:
            return pointer


def _integer_source(number: Op) -> Op:
    """The operand of sums that an address may come from."""
    while number.name in _SUMS:
        number = number.args[1] if number.name == "add" and _leads_to_address(number.args[1]) else number.args[0]
    return number


def _leads_to_address(number: Op) -> bool:
    while number.name in _SUMS:
        number = number.args[0]
    return number.name == "cast" and number.info == "ptrtoint"


def constant_offset(pointer: Op) -> int | None:
    """Bytes from the root; None where they are not known."""
    place = 0
    while pointer.name == "offset":
        if pointer.args[1].name != "const":
            return None
        place += signed_offset(pointer.args[1])
        pointer = pointer.args[0]
    return None if pointer.name == "cast" else place


def element_bytes(op: Op) -> int:
    """Bytes of a component of an access."""
    if op.name == "load":
        return SIZES[op.type]
    if op.name == "store":
        return SIZES[op.args[1].type]
    values = [each.type for each in op.args[1:]]
    return 4 if op.info.kind.startswith("flag") else SIZES[values[0] if values else op.type]
