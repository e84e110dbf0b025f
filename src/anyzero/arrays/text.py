"""Kernels from text: the language compiles functions that have a source, and generated ones get theirs here."""

from __future__ import annotations

import ast
import hashlib
import linecache
import math
from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.language import public as az
from anyzero.language.errors import KernelError
from anyzero.language.kernel import Kernel
from anyzero.language.types import Refusal, Scalar, of_dtype

__all__ = ["kernel_of", "parsed", "place", "place_within", "type_name"]

_SPACE: Final = {"az": az, "math": math}


def kernel_of(name: str, text: str, **options: Any) -> Kernel:
    r"""The kernel that the function `name` of a text is. Equal texts make equal SPIR-V, so the driver's cache knows it.

    >>> from anyzero.arrays.text import kernel_of
    >>> kernel_of("zero", "def zero(x: az.ptr[az.f32]):\n    x[az.global_id(0)] = 0.0\n").signature
    'zero(x: ptr[f32])'
    """
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    file = f"<{name} {digest}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {**_SPACE, "__name__": __name__}
    exec(compile(text, file, "exec"), space)
    # Its own name is not a value from outside; the cache of SPIR-V knows no plain functions.
    return Kernel(space.pop(name), **options)


def type_name(dtype: np.dtype[Any]) -> str:
    """A dtype as kernels write it.

    >>> from anyzero.arrays.text import type_name
    >>> type_name(np.dtype(np.float32)), type_name(np.dtype(bool))
    ('az.f32', 'bool')
    """
    try:
        if not dtype.isnative:
            raise Refusal
        found: Scalar = of_dtype(dtype)
    except Refusal:
        raise errors.InvalidArgument(
            f"there is no arithmetic with elements of {dtype}",
            remedy="Convert them on the host, or view() them as integers or floats.",
        ) from None
    return "bool" if found.kind == "b" else f"az.{found.name}"


def parsed(text: str, maker: str, mode: str) -> ast.AST:
    """The syntax tree of a user's text, as statements ("exec") or one expression ("eval")."""
    try:
        return ast.parse(text, mode=mode)
    except SyntaxError as error:
        line, column = error.lineno or 1, (error.offset or 1) - 1
        lines = text.splitlines() or [""]
        shown = lines[min(line, len(lines)) - 1]
        raise KernelError(
            error.msg, file=maker, line=line, column=column, function="text", text=shown, length=1
        ) from None


def place(error: KernelError, text: str, maker: str, first: int, indent: int) -> KernelError:
    """An error in generated text, reported at its place in the user's own, which begins at a line and column there."""
    lines = text.splitlines()
    line = error.line - first
    if not 0 <= line < len(lines):
        return error
    marks = str(error).rpartition("\n")[2].count("^")
    column = max(error.column - indent, 0)
    return KernelError(
        error.reason, file=maker, line=line + 1, column=column, function="text", text=lines[line], length=marks
    )


def place_within(error: KernelError, texts: tuple[str, ...], maker: str) -> KernelError:
    """An error in a line with one of the user's expressions, reported at its place there."""
    for text in texts:
        at = error.text.find(text)
        if 0 <= at <= error.column:
            return place(error, text, maker, error.line, at)
    return error
