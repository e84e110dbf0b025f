"""Finds which methods the classes in engine/objects and engine/sysman declare, by reading the headers as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.DOTALL)
_CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*|alignas\(.*?\)\s*)*(\w+)(?:\s+final)?\s*(?::[^;{}]*)?\{")
_METHOD = re.compile(r"\b(\w+)\s+(\w+)\s*\(")


@dataclass(frozen=True)
class Class:
    name: str
    header: str
    """From the engine's folder on."""
    methods: frozenset[tuple[str, str]]
    """Pairs of return type and name."""

    def declares(self, result: str, method: str) -> bool:
        return (result, method) in self.methods


def classes(*folders: Path) -> dict[str, Class]:
    found: dict[str, Class] = {}
    for folder in folders:
        for header in sorted(folder.rglob("*.h")):
            for name, body in _bodies(_NOISE.sub(" ", header.read_text())):
                methods = frozenset((result, method) for result, method in _METHOD.findall(_outermost(body)))
                found.setdefault(name, Class(name, header.relative_to(folder.parent).as_posix(), methods))
    return found


def _bodies(text: str) -> Iterator[tuple[str, str]]:
    for match in _CLASS.finditer(text):
        yield match[1], text[match.end() : _closing_brace(text, match.end())]


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


def _outermost(body: str) -> str:
    """The body without what stands in inner braces: statements of inline methods and members of nested types."""
    depth, kept = 0, []
    for character in body:
        depth -= character == "}"
        kept.append(character if depth == 0 else " ")
        depth += character == "{"
    return "".join(kept)
