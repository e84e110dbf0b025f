"""spec/layouts.toml as objects: what the engine, the planner and compiled code share, byte for byte."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

SIZES: Final = {"u8": 1, "char": 1, "u16": 2, "u32": 4, "u64": 8, "bytes*": 8, "void*": 8}
NUMBERS: Final = ("u32", "u64")
LENGTH: Final = 8
"""Bytes of the length in front of a text or blob."""
COUNT: Final = 4
"""Bytes of the count in front of a list."""
_ARRAY: Final = re.compile(r"(u8|char|u32|u64)\[(\d+)\]")


class LayoutError(Exception):
    """spec/layouts.toml says something that cannot be."""


@dataclass(frozen=True)
class Constant:
    name: str
    value: int | str
    about: str


@dataclass(frozen=True)
class Enum:
    name: str
    about: str
    type: str
    flags: bool
    values: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    about: str

    @property
    def element(self) -> str:
        """The type of an element where it is an array or a list, else the type itself."""
        found = _ARRAY.fullmatch(self.type)
        return found[1] if found else self.type.removeprefix("list of ")

    @property
    def length(self) -> int:
        """Elements of an array; 0 where it is none."""
        found = _ARRAY.fullmatch(self.type)
        return int(found[2]) if found else 0

    @property
    def listed(self) -> bool:
        return self.type.startswith("list of ")

    @property
    def size(self) -> int:
        """Bytes in a struct."""
        return SIZES[self.element] * max(self.length, 1)


@dataclass(frozen=True)
class Struct:
    name: str
    about: str
    fields: tuple[Field, ...]

    @property
    def offsets(self) -> dict[str, int]:
        found, at = {}, 0
        for each in self.fields:
            found[each.name] = at
            at += each.size
        return found

    @property
    def size(self) -> int:
        return sum(each.size for each in self.fields)

    def check(self) -> None:
        """C++ and Python agree where there is nothing to pad."""
        for each in self.fields:
            if each.element not in SIZES:
                raise LayoutError(f"{self.name}.{each.name}: there is no type {each.type}")
            if self.offsets[each.name] % SIZES[each.element]:
                raise LayoutError(f"{self.name}.{each.name} needs padding in front of it; add a field")
        if self.size % max(SIZES[each.element] for each in self.fields):
            raise LayoutError(f"{self.name} needs padding at its end; add a field")


@dataclass(frozen=True)
class Message:
    name: str
    about: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Family:
    name: str
    about: str
    constants: tuple[Constant, ...] = ()
    enums: tuple[Enum, ...] = ()
    structs: tuple[Struct, ...] = ()
    messages: tuple[Message, ...] = ()
    known: dict[str, Message] = field(default_factory=dict)

    def least(self, type_: str) -> int:
        """The fewest bytes that a value of this type takes in a message."""
        if type_ in NUMBERS:
            return SIZES[type_]
        if type_ in ("text", "blob"):
            return LENGTH
        if type_.startswith("list of "):
            return COUNT
        return sum(self.least(each.type) for each in self.known[type_].fields)


def load(path: Path) -> list[Family]:
    return [_family(name, said) for name, said in tomllib.loads(path.read_text()).items()]


def _family(name: str, said: dict[str, Any]) -> Family:
    for kind in said:
        if kind not in ("about", "constant", "enum", "struct", "message"):
            raise LayoutError(f"{name}: there is no kind {kind} of layout")
    constants = tuple(Constant(each, *value) for each, value in said.get("constant", {}).items())
    enums = tuple(_enum(each, body) for each, body in said.get("enum", {}).items())
    structs = tuple(Struct(each, body["about"], _fields(body)) for each, body in said.get("struct", {}).items())
    messages = tuple(Message(each, body["about"], _fields(body)) for each, body in said.get("message", {}).items())
    for struct in structs:
        struct.check()
    family = Family(name, said["about"], constants, enums, structs, messages, {each.name: each for each in messages})
    _check_messages(family)
    return family


def _enum(name: str, body: dict[str, Any]) -> Enum:
    values = tuple((value[0], value[1], value[2]) for value in body["values"])
    if len({number for _, number, _ in values}) < len(values):
        raise LayoutError(f"{name}: two values are the same number")
    return Enum(name, body["about"], body["type"], body.get("flags", False), values)


def _fields(body: dict[str, Any]) -> tuple[Field, ...]:
    return tuple(Field(name, type_, about) for name, type_, about in body["fields"])


def _check_messages(family: Family) -> None:
    """A message is made of messages that come before it, so that each side can be written in one go."""
    before: set[str] = set()
    for message in family.messages:
        for each in message.fields:
            if each.element not in {*NUMBERS, "text", "blob", *before}:
                raise LayoutError(f"{message.name}.{each.name}: there is no type {each.type} above it")
            if each.listed and family.least(each.element) < COUNT:
                raise LayoutError(f"{message.name}.{each.name}: an element takes less than {COUNT} bytes")
        before.add(message.name)
