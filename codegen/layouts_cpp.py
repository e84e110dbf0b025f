"""engine/layouts/gen: the shared layouts as structures, with readers and writers of messages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from codegen.layouts import NUMBERS, Constant, Enum, Family, Field, Message, Struct
from codegen.outputs import Output, slashes

_TYPES = {"u8": "uint8_t", "char": "char", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t"}
_TYPES |= {"bytes*": "unsigned char*", "void*": "void*", "text": "std::string_view", "blob": "std::string_view"}


def outputs(families: Iterable[Family]) -> Iterator[Output]:
    for family in families:
        yield Output(f"engine/layouts/gen/{family.name}.h", "\n".join(_lines(family)) + "\n")


def _lines(family: Family) -> Iterator[str]:
    yield slashes()
    yield from _comment(family.about)
    yield "#pragma once"
    yield ""
    texts = family.messages or any(isinstance(each.value, str) for each in family.constants)
    headers = [("<cstddef>", family.structs), ("<cstdint>", True)]
    headers += [("<string_view>", texts), ("<vector>", family.messages)]
    yield from (f"#include {name}" for name, needed in headers if needed)
    if family.messages:
        yield from ("", '#include "../bytes.h"')
    yield from ("", "namespace anyzero {")
    if family.constants:
        yield ""
        for constant in family.constants:
            yield from _constant(constant)
    for enum in family.enums:
        yield from ("", *_comment(enum.about), *_enum(enum))
    for struct in family.structs:
        yield from ("", *_comment(struct.about), *_struct(struct))
    for message in family.messages:
        yield from ("", *_comment(message.about), *_message(family, message))
    yield from ("", "}  // namespace anyzero")


def _comment(text: str) -> list[str]:
    return [f"// {line}" for line in textwrap.wrap(" ".join(text.split()), 126)]


def _constant(constant: Constant) -> Iterator[str]:
    name = "k" + _camel(constant.name.lower())
    yield from _comment(constant.about)
    if isinstance(constant.value, str):
        yield f'inline constexpr std::string_view {name} = "{constant.value}";'
    else:
        wide = constant.value >= 1 << 32
        yield f"inline constexpr {'uint64_t' if wide else 'uint32_t'} {name} = {constant.value}{'u' if wide else ''};"


def _enum(enum: Enum) -> Iterator[str]:
    if enum.flags:
        yield f"struct {enum.name} {{"
        yield f"  enum : {_TYPES[enum.type]} {{"
        yield from (f"    k{_camel(name)} = {number},  // {about}" for name, number, about in enum.values)
        yield "  };"
        yield f"  static constexpr {_TYPES[enum.type]} kAll = {sum(number for _, number, _ in enum.values)};"
        yield "};"
        return
    yield f"enum class {enum.name} : {_TYPES[enum.type]} {{"
    yield from (f"  {_camel(name)} = {number},  // {about}" for name, number, about in enum.values)
    yield "};"
    yield f"constexpr bool is_known({enum.name} value) {{"
    yield "  switch (value) {"
    yield from (f"    case {enum.name}::{_camel(name)}:" for name, _, _ in enum.values)
    yield "      return true;"
    yield "  }"
    yield "  return false;"
    yield "}"


def _struct(struct: Struct) -> Iterator[str]:
    yield f"struct {struct.name} {{"
    for each in struct.fields:
        array = f"[{each.length}]" if each.length else ""
        yield f"  {_TYPES[each.element]} {each.name}{array};  // {each.about}"
    yield "};"
    yield f"static_assert(sizeof({struct.name}) == {struct.size});"
    for name, offset in struct.offsets.items():
        yield f"static_assert(offsetof({struct.name}, {name}) == {offset});"


def _message(family: Family, message: Message) -> Iterator[str]:
    yield f"struct {message.name} {{"
    for each in message.fields:
        initial = " = 0" if each.type in NUMBERS else ""
        yield f"  {_field_type(each)} {each.name}{initial};  // {each.about}"
    yield "};"
    yield f"inline void decode(ByteReader& from, {message.name}& to) {{"
    for each in message.fields:
        yield f"  {_read(family, each)}"
    yield "}"
    yield f"inline void encode(ByteWriter& to, const {message.name}& from) {{"
    for each in message.fields:
        yield from (f"  {line}" for line in _write(each))
    yield "}"


def _field_type(each: Field) -> str:
    element = _TYPES.get(each.element, each.element)
    return f"std::vector<{element}>" if each.listed else element


def _read(family: Family, each: Field) -> str:
    if not each.listed:
        return (
            f"decode(from, to.{each.name});" if each.element not in _TYPES else f"to.{each.name} = from.{each.type}();"
        )
    if each.element in NUMBERS:
        return f"from.numbers(to.{each.name});"
    least = family.least(each.element)
    item = f"to.{each.name}.emplace_back()"
    one = f"{item} = from.{each.element}();" if each.element in _TYPES else f"decode(from, {item});"
    return f"for (uint32_t n = from.count({least}); n > 0 && from.good(); --n) {one}"


def _write(each: Field) -> Iterator[str]:
    if not each.listed:
        known = each.element in _TYPES
        yield f"to.{each.type}(from.{each.name});" if known else f"encode(to, from.{each.name});"
        return
    yield f"to.u32(static_cast<uint32_t>(from.{each.name}.size()));"
    value = f"{_TYPES[each.element]} each" if each.element in _TYPES else "const auto& each"
    one = f"to.{each.element}(each);" if each.element in _TYPES else "encode(to, each);"
    yield f"for ({value} : from.{each.name}) {one}"


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
