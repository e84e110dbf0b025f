"""The parameters of kernels and functions, by their annotations."""

from __future__ import annotations

import ast
import inspect
from typing import Any, Final, NoReturn

from anyzero.language.annotations import _Maker
from anyzero.language.source import MISSING, Source
from anyzero.language.types import BOOL, F32, I32, VOID, Array, Const, Image, Memory, Pointer, Sampler, Scalar, Vector

__all__ = ["annotation_type", "annotations_of", "type_of_annotation"]

_PLAIN: dict[Any, Any] = {bool: BOOL, int: I32, float: F32, None: VOID, type(None): VOID}
_TYPES: Final = (Scalar, Vector, Pointer, Array, Memory, Image, Sampler, Const)


def annotations_of(source: Source) -> dict[str, Any]:
    """The types that annotations give; parameters without one are left out."""
    code = source.function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        arguments = source.tree.args
        source.refuse(
            arguments.vararg or arguments.kwarg, "*args and **kwargs are not part of the language; name each parameter"
        )
    found: dict[str, Any] = {}
    for name, given in source.function.__annotations__.items():
        # The tree is parsed only to say where a mistake is.
        try:
            value = source.evaluated(given)
        except Exception:
            value = source.annotation(_annotation(source, name))
        t = type_of_annotation(value)
        found[name] = _refuse(source, _annotation(source, name), value) if t is MISSING else t
    return found


def _annotation(source: Source, name: str) -> ast.expr:
    arguments = source.tree.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    at = source.tree.returns if name == "return" else next(each.annotation for each in every if each.arg == name)
    assert at is not None
    return at


def annotation_type(source: Source, node: ast.expr) -> Any:
    """The type that an annotation stands for; None for Any."""
    value = source.annotation(node)
    t = type_of_annotation(value)
    return _refuse(source, node, value) if t is MISSING else t


def _refuse(source: Source, node: ast.expr, value: Any) -> NoReturn:
    if isinstance(value, _Maker):
        source.refuse(node, f"{ast.unparse(node)} does not name an element type; write it as in {value.example}")
    hint = "write az.f32, az.ptr[az.f32] and the like"
    if isinstance(value, type) and inspect.get_annotations(value):
        hint = "structs are not passed: pass each field as a parameter of its own, or several numbers as a vector"
    source.refuse(node, f"{ast.unparse(node)} is not a type of the language; {hint}")


def type_of_annotation(value: Any) -> Any:
    """The type that the value of an annotation stands for; None for Any, MISSING where it stands for none."""
    if value is Any:
        return None
    if isinstance(value, type | None) and value in _PLAIN:
        return _PLAIN[value]
    if isinstance(value, _TYPES):
        return value
    return MISSING
