"""print and the messages of assert: a format for printf, and the numbers in it."""

from __future__ import annotations

import ast
import re
from typing import Any, Final

from anyzero.language import tree
from anyzero.language.check.expressions import Expressions
from anyzero.language.types import F64, I32, Refusal, Scalar

__all__ = ["printed", "text_of"]

_SPEC: Final = re.compile(r"([ +0-]?\d*(?:\.\d+)?)([defgxXo]?)")


def text_of(node: ast.expr) -> str:
    """A text that is known now."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise Refusal("the message of assert is a plain string")


def printed(e: Expressions, node: ast.Call, statement: ast.stmt) -> tree.Print:
    """The statement `print(…)`."""
    separator, end = " ", "\n"
    for each in node.keywords:
        if each.arg not in ("sep", "end"):
            e.scope.source.refuse(node, "print takes values, sep= and end=")
        if each.arg == "sep":
            separator = text_of(each.value)
        else:
            end = text_of(each.value)
    values: list[tree.Expression] = []
    parts = [_part(e, each, values) for each in node.args]
    return tree.Print(statement, _quoted(separator).join(parts) + _quoted(end), values)


def _part(e: Expressions, node: ast.expr, values: list[tree.Expression]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _quoted(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(e, each, values) for each in node.values)
    return _value(e, node, "", values)


def _piece(e: Expressions, node: ast.expr, values: list[tree.Expression]) -> str:
    if isinstance(node, ast.FormattedValue):
        spec = ""
        if node.format_spec is not None:
            pieces = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
            if not all(isinstance(piece, ast.Constant) for piece in pieces):
                raise Refusal("a format is a plain string, as in {x:8.3f}")
            spec = "".join(str(piece.value) for piece in pieces if isinstance(piece, ast.Constant))
        if node.conversion != -1:
            raise Refusal("!r, !s and !a are not part of the language")
        return _value(e, node.value, spec, values)
    return _part(e, node, values)


def _value(e: Expressions, node: ast.expr, spec: str, values: list[tree.Expression]) -> str:
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise Refusal(
            f"the format {spec!r} is not part of the language; printf's are: a width, .digits and d f e g x o"
        )
    value = e.concrete(e.of(node), node)
    t: Any = value.type
    if not isinstance(t, Scalar):
        raise Refusal(f"print takes texts and numbers, not {t}; print the components")
    width, letter = found[1], found[2]
    if t.kind == "f":
        values.append(e.convert(value, F64, node))
        return f"%{width}{letter or 'g'}"
    if t.kind == "b" or t.bits < 32:
        value = e.convert(value, I32, node)
        t = I32
    values.append(value)
    return f"%{width}{'l' if t.bits == 64 else ''}{letter or ('u' if t.kind == 'u' else 'd')}"


def _quoted(text: str) -> str:
    return text.replace("%", "%%")
