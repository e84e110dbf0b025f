"""Splits the words of an instruction into operands."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache

from anyzero.compiler.spirv import tables
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.tables import Op
from anyzero.lazy_dataclass import dataclass
from anyzero.lazy_namedtuple import NamedTuple

MANY = 1 << 16
"""More words than any instruction can have."""


class Shape(NamedTuple):
    """Static layout of an instruction's words."""

    head: int
    """Words before the operands: the first word, the result's type, the result."""
    shortest: int
    longest: int
    """Maximum number of words without the head."""


class Operand(NamedTuple):
    kind: str
    start: int
    stop: int


@dataclass(slots=True)
class Context:
    """Information from other declarations that the layout of some operands depends on."""

    number_words: Callable[[int], int] = lambda type_id: 1
    """Number of words of a literal of this type."""
    selector_words: Callable[[int], int] = lambda value_id: 1
    """The same for a literal of this value's type."""
    is_opencl: Callable[[int], bool] = lambda set_id: False
    """True for OpenCL.std."""


PAIRS = {
    "PairLiteralIntegerIdRef": ("LiteralInteger", "IdRef"),
    "PairIdRefLiteralInteger": ("IdRef", "LiteralInteger"),
    "PairIdRefIdRef": ("IdRef", "IdRef"),
}
IDS = {"IdResultType", "IdResult", "IdRef", "IdScope", "IdMemorySemantics"}


def _shape(layout: str) -> Shape:
    kinds = layout.split()
    head = 1 + kinds.count("IdResultType") + kinds.count("IdResult")
    shortest = longest = 0
    for kind in kinds[head - 1 :]:
        plain = kind.rstrip("?*")
        fixed = plain in IDS or plain == "LiteralInteger" or (plain in tables.ENUMS and plain not in tables.PARAMETERS)
        shortest += 0 if plain != kind else len(PAIRS.get(plain, "1"))
        longest += 1 if fixed and not kind.endswith("*") else MANY
    return Shape(head, shortest, longest)


_LAYOUT_SHAPES = [_shape(layout) for layout in tables.LAYOUTS]
SHAPES: dict[int, Shape] = {opcode: _LAYOUT_SHAPES[place] for opcode, place in tables.LAYOUT_OF_OP.items()}


def _by_value(names: type) -> dict[int, str]:
    """Names by value: the first one is canonical, later ones are aliases."""
    members = [(value, name) for name, value in vars(names).items() if isinstance(value, int)]
    return dict(reversed(members))


@cache
def _names(enum: str) -> dict[int, str]:
    return _by_value(tables.ENUMS[enum])


@cache
def _opcode_names() -> dict[int, str]:
    return {value: f"Op{name}" for value, name in _by_value(Op).items()}


@cache
def _opencl_names() -> dict[int, str]:
    return _by_value(tables.OpenCL)


def opcode_name(opcode: int) -> str:
    return _opcode_names().get(opcode, f"opcode {opcode}")


def belongs(opcode: int) -> str:
    """The capabilities that an instruction requires, as the end of a sentence."""
    names = " or ".join(enumerant_name("Capability", each) for each in tables.CAPABILITIES_OF_OP.get(opcode, ()))
    return f"; it requires {names}" if names else ""


def opencl_name(number: int) -> str:
    return _opencl_names().get(number, f"instruction {number} of OpenCL.std")


def enumerant_name(enum: str, value: int) -> str:
    """The specification's name of a value, or the number if it has none."""
    name = _names(enum).get(value)
    return str(value) if name is None else name.removesuffix("_").removeprefix("Dim" if enum == "Dim" else "")


def parameters(enum: str, value: int) -> list[str]:
    """The parameters of a value of an enum, or of a mask."""
    known = tables.PARAMETERS.get(enum)
    if known is None:
        return []
    if enum not in tables.BIT_ENUMS:
        return known.get(value, "").split()
    return [kind for bit, layout in known.items() if value & bit for kind in layout.split()]


def string_words(words: Sequence[int], start: int, stop: int) -> int:
    """Number of words of a string: up to the first word with a zero byte."""
    for index in range(start, stop):
        word = words[index]
        if not (word & 0xFF and word & 0xFF00 and word & 0xFF0000 and word & 0xFF000000):
            return index - start + 1
    raise SpirvError("a string has no end")


def string(words: Sequence[int], start: int, stop: int) -> tuple[str, int]:
    """The string that begins at `start`, and the word after it."""
    end = start + string_words(words, start, stop)
    raw = struct.pack(f"<{end - start}I", *words[start:end])
    try:
        return raw[: raw.index(0)].decode(), end
    except UnicodeDecodeError:
        raise SpirvError("a string is not UTF-8") from None


def operands(opcode: int, words: Sequence[int], start: int, stop: int, context: Context) -> list[Operand]:
    """Every operand of the instruction at `start`, by the grammar; `stop` is the end of its words."""
    if opcode not in tables.LAYOUT_OF_OP:
        raise SpirvError(f"{opcode_name(opcode)} is unknown")
    found: list[Operand] = []
    walk = _Walk(words, stop, context, found)
    place = walk.kinds(tables.LAYOUTS[tables.LAYOUT_OF_OP[opcode]].split(), start + 1)
    if opcode == Op.SpecConstantOp:
        inner = words[place - 1]
        kinds = tables.LAYOUTS[tables.LAYOUT_OF_OP[inner]].split() if inner in tables.LAYOUT_OF_OP else ["?"]
        if kinds[:2] != ["IdResultType", "IdResult"]:
            raise SpirvError(f"{opcode_name(inner)} is no operation on constants")
        place = walk.kinds(kinds[2:], place)
    if place != stop:
        raise SpirvError(f"has {stop - place} more words than its operands take")
    return found


class _Walk:
    def __init__(self, words: Sequence[int], stop: int, context: Context, found: list[Operand]) -> None:
        self.words, self.stop, self.context, self.found = words, stop, context, found

    def kinds(self, kinds: list[str], place: int) -> int:
        for kind in kinds:
            if kind.endswith("*"):
                while place < self.stop:
                    place = self.one(kind[:-1], place)
            elif kind.endswith("?"):
                if place < self.stop:
                    place = self.one(kind[:-1], place)
            else:
                place = self.one(kind, place)
        return place

    def one(self, kind: str, place: int) -> int:
        """Takes an operand and its parameters; returns the start of the next one."""
        if place >= self.stop:
            raise SpirvError(f"ends before its {kind}")
        if kind == "LiteralString":
            return self.take(kind, place, string_words(self.words, place, self.stop))
        if kind == "LiteralContextDependentNumber":
            # Every instruction with such a number begins with its result type.
            return self.take(kind, place, self.context.number_words(self.words[self.found[0].start]))
        if kind == "PairLiteralIntegerIdRef":
            width = self.context.selector_words(self.words[self.found[0].start])
            return self.one("IdRef", self.take("LiteralContextDependentNumber", place, width))
        if kind in PAIRS:
            return self.one(PAIRS[kind][1], self.one(PAIRS[kind][0], place))
        if kind == "LiteralExtInstInteger" and self.context.is_opencl(self.words[place - 1]):
            return self.extended(place)
        after = self.take(kind, place, 1)
        return self.kinds(parameters(kind, self.words[place]), after)

    def extended(self, place: int) -> int:
        number = self.words[place]
        after = self.take("OpenCL", place, 1)
        if number not in tables.LAYOUT_OF_OPENCL:
            return after
        return self.kinds(tables.LAYOUTS[tables.LAYOUT_OF_OPENCL[number]].split(), after)

    def take(self, kind: str, place: int, count: int) -> int:
        if place + count > self.stop:
            raise SpirvError(f"ends inside its {kind}")
        self.found.append(Operand(kind, place, place + count))
        return place + count
