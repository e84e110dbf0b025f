"""The text of an OpenVINO IR. It comes from untrusted sources, so everything in it is checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn
from xml.parsers import expat

from anyzero import ze
from anyzero.driver.answering import Refusal
from anyzero.lazy_dataclass import dataclass, field

__all__ = [
    "DEEPEST",
    "Element",
    "Handlers",
    "Parser",
    "damaged",
    "element",
    "element_end",
    "escape",
    "parse",
    "tag_end",
    "unsupported",
]

DEEPEST: Final = 256
"""The deepest nesting of elements; a body takes four levels."""
_LARGEST: Final = 1 << 30

# A value may hold a bare `>`, and OpenVINO writes it so.
_TAG_END: Final = re.compile(rb"""[^>"']*+(?:"[^"]*+"[^>"']*+|'[^']*+'[^>"']*+)*+>""")
_ESCAPES: Final = str.maketrans(
    {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)

Parser = Any
"""A parser of pyexpat, whose type has no public name."""
Handlers = tuple[Callable[[str, dict[str, str]], None], Callable[[str], None]]
"""Callbacks for the start of an element, and for its end."""


def damaged(text: str) -> Refusal:
    return Refusal(ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, f"error: the model's IR is damaged: {text}")


def unsupported(text: str) -> Refusal:
    return Refusal(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, f"error: {text}")


def parse(xml: bytes, handlers: Callable[[Parser], Handlers]) -> None:
    if len(xml) > _LARGEST:
        raise damaged(f"{len(xml)} bytes of XML are more than the {_LARGEST} that are accepted")

    def doctype(*_: object) -> NoReturn:
        # Without a document type there are no entities, so nothing is fetched or expanded.
        raise damaged(f"line {parser.CurrentLineNumber}: a document type is declared, and no IR has one")

    def declaration(_: str, encoding: str | None, __: int) -> None:
        if encoding and encoding.lower() not in ("utf-8", "us-ascii"):
            raise damaged(f"it is encoded as {encoding}, and an IR is UTF-8")

    parser = expat.ParserCreate("utf-8")
    parser.StartDoctypeDeclHandler = doctype
    parser.XmlDeclHandler = declaration
    parser.StartElementHandler, parser.EndElementHandler = handlers(parser)
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        place = f"line {error.lineno}, column {error.offset + 1}"
        raise damaged(f"{place}: {expat.ErrorString(error.code)}") from None


def tag_end(xml: bytes, start: int) -> int:
    """The end of the tag that begins at `start`."""
    found = _TAG_END.match(xml, start)
    assert found, "expat found a tag there"
    return found.end()


def element_end(xml: bytes, start: int, place: int) -> int:
    """The end of the element that begins at `start`, from the parser's position at its end."""
    first = tag_end(xml, start)
    # For a self-closing tag the parser stands behind it.
    return first if xml[first - 2 : first] == b"/>" else tag_end(xml, place)


@dataclass(slots=True)
class Element:
    """A part of an IR with all that is in it. Places count from where the part begins."""

    name: str
    attributes: dict[str, str]
    start: int
    end: int = 0
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Element | None:
        return next(iter(self.all(name)), None)


def element(xml: bytes) -> Element:
    """The element in a part of an IR that was read already."""
    outside = Element("", {}, 0)
    within = [outside]

    def handlers(parser: Parser) -> Handlers:
        def start(name: str, attributes: dict[str, str]) -> None:
            made = Element(name, attributes, parser.CurrentByteIndex)
            within[-1].children.append(made)
            within.append(made)

        def end(_: str) -> None:
            made = within.pop()
            made.end = element_end(xml, made.start, parser.CurrentByteIndex)

        def text(data: str) -> None:
            within[-1].text += data

        parser.CharacterDataHandler = text
        return start, end

    parse(xml, handlers)
    return outside.children[0]


def escape(value: str) -> str:
    """The text as the value of an attribute in double quotes."""
    return value.translate(_ESCAPES)
