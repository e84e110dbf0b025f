"""The parameters of kernels and functions, by their annotations."""

from __future__ import annotations

import ast
from typing import Any

from anyzero.language.annotations import _Maker
from anyzero.language.source import Source
from anyzero.language.types import BOOL, F32, I32, VOID, Array, Const, Image, Memory, Pointer, Sampler, Scalar, Vector

__all__ = ["annotation_type", "annotations_of"]

_PLAIN: dict[Any, Any] = {bool: BOOL, int: I32, float: F32, None: VOID, type(None): VOID}


def annotations_of(source: Source) -> dict[str, Any]:
    """The types that annotations give; parameters without one are left out."""
    arguments = source.tree.args
    if arguments.vararg or arguments.kwarg:
        source.refuse(arguments.vararg or arguments.kwarg, "*args and **kwargs are not part of the language")
    found: dict[str, Any] = {}
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.annotation is not None:
            found[each.arg] = annotation_type(source, each.annotation)
    if source.tree.returns is not None:
        found["return"] = annotation_type(source, source.tree.returns)
    return found


def annotation_type(source: Source, node: ast.expr) -> Any:
    """The type that an annotation stands for; None for Any."""
    value = source.annotation(node)
    if value is Any:
        return None
    if isinstance(value, type | None) and value in _PLAIN:
        return _PLAIN[value]
    if isinstance(value, Scalar | Vector | Pointer | Array | Memory | Image | Sampler | Const):
        return value
    if isinstance(value, _Maker):
        source.refuse(node, f"{ast.unparse(node)} says no type of elements; write it as in {value.example}")
    raise source.error(
        node, f"{ast.unparse(node)} is no type of the language; write az.f32, az.ptr[az.f32] and the like"
    )
