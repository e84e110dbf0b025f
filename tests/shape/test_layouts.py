"""A binary layout is described in one place; all readers and writers use that."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.shape.tree import PACKAGE, nodes

# Shorter formats are numbers and pairs of numbers, which many layouts have in common.
FIELDS = 4


def formats(source: str) -> Iterator[str]:
    """The formats of a layout's fields that `source` gives to the module struct."""
    for node in nodes(source):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = node.args[0]
        if name in ("Struct", "pack", "unpack", "pack_from", "unpack_from", "iter_unpack"):
            text = given.value if isinstance(given, ast.Constant) else None
            if isinstance(text, str) and len(text.lstrip("<>=@!")) >= FIELDS:
                yield text


def test_no_layout_is_typed_in_two_files() -> None:
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in formats(path.read_text()):
            homes[text].add(str(path.relative_to(PACKAGE)))
    assert homes
    assert {text: sorted(where) for text, where in homes.items() if len(where) > 1} == {}


def test_formats_are_noticed() -> None:
    source = (
        'A = struct.Struct("<IBBHQQ")\nB = unpack_from("<IIII", x)\nC = struct.unpack("<Q", y)\nstruct.pack("<IIIQ", 1)'
    )
    assert list(formats(source)) == ["<IBBHQQ", "<IIIQ"]
