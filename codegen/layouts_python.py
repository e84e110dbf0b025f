"""src/anyzero/layouts: the shared layouts as tuples with names that pack, unpack, read and write themselves.

They are classes written out, which import six times as fast as NamedTuple makes them: every first launch of a process
imports some.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from codegen.layouts import NUMBERS, Constant, Enum, Family, Field, Message, Struct
from codegen.outputs import Output, hashes

_CODES = {"u16": "H", "u32": "I", "u64": "Q", "bytes*": "Q", "void*": "Q"}
_VALUES = {"u32": "int", "u64": "int", "text": "str", "blob": "bytes"}


def outputs(families: Iterable[Family]) -> Iterator[Output]:
    yield Output("src/anyzero/layouts/__init__.py", _package())
    for family in families:
        yield Output(f"src/anyzero/layouts/{family.name}.py", "\n".join(_lines(family)) + "\n")


def _package() -> str:
    text = (
        '"""Layouts of bytes that the engine, the planner and compiled code share; described in spec/layouts.toml."""'
    )
    return f"{hashes()}\n{text}\n"


def _lines(family: Family) -> Iterator[str]:
    yield hashes()
    yield from _docstring(family.about, "")
    yield from ("", "from __future__ import annotations", "")
    values = [enum for enum in family.enums if not enum.flags]
    if values:
        yield "import enum"
    if family.structs:
        yield "import struct"
    if family.messages:
        yield "from collections.abc import Sequence"
    typing = ["Final"] if family.constants or family.structs or any(enum.flags for enum in family.enums) else []
    tuples = ["Self"] if family.structs or family.messages else []
    if typing or tuples:
        yield f"from typing import {', '.join(typing + tuples)}"
    if family.messages:
        yield from ("", "from anyzero.wire import Reader, Writer")
    yield from ("", *_exported(family))
    for constant in family.constants:
        yield from ("", *_constant(constant))
    for enum in family.enums:
        yield from ("", "", *(_flags(enum) if enum.flags else _enum(enum)))
    for struct in family.structs:
        yield from ("", "", *_struct(struct))
    for message in family.messages:
        yield from ("", "", *_message(family, message))


def _exported(family: Family) -> Iterator[str]:
    classes = (*family.enums, *family.structs, *family.messages)
    names = [each.name for each in (*family.constants, *classes)]
    names += [f"{_upper(each.name)}_{what}" for each in family.structs for what in ("BYTES", "OFFSETS")]
    yield "__all__ = ["
    yield from (f'    "{name}",' for name in sorted(names, key=lambda name: (not name.isupper(), name)))
    yield "]"


def _docstring(text: str, indent: str) -> list[str]:
    text = " ".join(text.split())
    if len(text) + len(indent) + 6 <= 120:
        return [f'{indent}"""{text}"""']
    first, _, rest = text.partition(": " if ": " in text.split(". ")[0] else ". ")
    wrapped = textwrap.wrap(rest[0].upper() + rest[1:], 116 - len(indent))
    return [f'{indent}"""{first}.', "", *(f"{indent}{line}" for line in wrapped), f'{indent}"""']


def _field(text: str, indent: str = "    ") -> list[str]:
    text = text[0].upper() + text[1:] + "."
    return [f'{indent}"""{text}"""'] if len(text) + 10 <= 120 else _docstring(text, indent)


def _constant(constant: Constant) -> Iterator[str]:
    value = f"{constant.value!r}".replace("'", '"')
    yield f"{constant.name}: Final = {'b' if isinstance(constant.value, str) else ''}{value}"
    yield from _field(constant.about, "")


def _enum(enum: Enum) -> Iterator[str]:
    yield f"class {enum.name}(enum.IntEnum):"
    yield from (*_docstring(enum.about, "    "), "")
    for name, number, about in enum.values:
        yield f"    {name.upper()} = {number}"
        yield from _field(about)


def _flags(enum: Enum) -> Iterator[str]:
    # Plain numbers: operators of enum.IntFlag take a hundred times as long.
    yield f"class {enum.name}:"
    yield from (*_docstring(enum.about, "    "), "")
    for name, number, about in enum.values:
        yield f"    {name.upper()}: Final = {number}"
        yield from _field(about)


def _struct(struct: Struct) -> Iterator[str]:
    upper = _upper(struct.name)
    yield f'_{upper}: Final = struct.Struct("<{"".join(map(_code, struct.fields))}")'
    yield f"{upper}_BYTES: Final = {struct.size}"
    yield f"{upper}_OFFSETS: Final = {{"
    yield from (f'    "{name}": {offset},' for name, offset in struct.offsets.items())
    yield "}"
    yield from ("", "", *_tuple(struct.name, struct.about, {each: _struct_type(each) for each in struct.fields}))
    yield from ("", "    def pack(self) -> bytes:")
    values = [f"{'*' if _several(each) else ''}self.{each.name}" for each in struct.fields]
    yield from _call(f"return _{upper}.pack(", values, ")")
    yield from ("", "    @classmethod")
    yield "    def unpack(cls, data: bytes | bytearray | memoryview, place: int = 0) -> Self:"
    if any(map(_several, struct.fields)):
        yield f"        found = _{upper}.unpack_from(data, place)"
        taken, at = [], 0
        for each in struct.fields:
            several = _several(each)
            taken.append(f"found[{at}:{at + each.length}]" if several else f"found[{at}]")
            at += each.length if several else 1
        yield from _call("return cls(", taken, ")")
    else:
        yield f"        return cls(*_{upper}.unpack_from(data, place))"


def _tuple(name: str, about: str, fields: dict[Field, str]) -> Iterator[str]:
    """A class of tuples, its fields by name."""
    yield from _call(f"class {name}(tuple[", list(fields.values()), "]):", "")
    yield from (*_docstring(about, "    "), "", "    __slots__ = ()", "")
    parameters = ["cls", *(f"{each.name}: {value}" for each, value in fields.items())]
    yield from _call("def __new__(", parameters, ") -> Self:", "    ")
    names = [each.name for each in fields]
    yield from _call("return tuple.__new__(cls, (", names, ",))" if len(names) == 1 else "))")
    for at, (each, value) in enumerate(fields.items()):
        yield from ("", "    @property", f"    def {each.name}(self) -> {value}:")
        yield from (*_field(each.about, "        "), f"        return self[{at}]")


def _value(each: Field) -> str:
    value = _VALUES.get(each.element, each.element)
    return f"Sequence[{value}]" if each.listed else value


def _call(begin: str, values: list[str], end: str, indent: str = "        ") -> Iterator[str]:
    line = f"{indent}{begin}{', '.join(values)}{end}"
    if len(line) <= 120:
        yield line
        return
    yield f"{indent}{begin}"
    yield from (f"{indent}    {value}," for value in values)
    yield f"{indent}{end}"


def _several(each: Field) -> bool:
    return each.length > 0 and each.element in NUMBERS


def _code(each: Field) -> str:
    if each.element in ("u8", "char"):
        return f"{each.length}s" if each.length else "B"
    return (str(each.length) if each.length else "") + _CODES[each.element]


def _struct_type(each: Field) -> str:
    if _several(each):
        return "tuple[int, ...]"
    return "bytes" if each.length else "int"


def _message(family: Family, message: Message) -> Iterator[str]:
    yield from _tuple(message.name, message.about, {each: _value(each) for each in message.fields})
    yield from ("", "    def write(self, to: Writer) -> Writer:")
    for each in message.fields:
        yield from (f"        {line}" for line in _write(each))
    yield "        return to"
    yield from ("", "    @classmethod", "    def read(cls, reader: Reader) -> Self:")
    # In the order of the fields, which Python evaluates from left to right.
    yield from _call("return cls(", [_read(family, each) for each in message.fields], ")")


def _write(each: Field) -> Iterator[str]:
    own = f"self.{each.name}"
    if not each.listed:
        yield f"to.{each.type}({own})" if each.type in _VALUES else f"{own}.write(to)"
    elif each.element in NUMBERS:
        yield f"to.u32(len({own})).{each.element}(*{own})"
    elif each.element == "text":
        yield f"to.texts({own})"
    else:
        one = f"one_of_{each.name}"
        yield f"to.u32(len({own}))"
        yield f"for {one} in {own}:"
        yield f"    to.{each.element}({one})" if each.element in _VALUES else f"    {one}.write(to)"


def _read(family: Family, each: Field) -> str:
    if not each.listed:
        return f"reader.{each.type}()" if each.type in _VALUES else f"{each.type}.read(reader)"
    one = f"reader.{each.element}()" if each.element in _VALUES else f"{each.element}.read(reader)"
    return f"tuple({one} for _ in range(reader.count({family.least(each.element)})))"


def _upper(name: str) -> str:
    return "".join(f"_{char}" if char.isupper() else char.upper() for char in name).lstrip("_")
