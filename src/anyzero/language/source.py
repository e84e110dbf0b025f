"""The source of a Python function: its syntax tree, and the place of each part for errors and line information."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import types
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from anyzero.language.errors import KernelError

__all__ = ["MISSING", "Source"]

MISSING: Final = object()
"""The value of a name that a function does not know."""


class Source:
    """The text of a function, and the values of its free names."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"{function!r} is not a function; write @az.kernel above a `def`")
        self.function = function
        self.name = function.__name__
        self.file = function.__code__.co_filename
        self.first = function.__code__.co_firstlineno
        """The line of its first decorator."""
        linecache.checkcache(self.file)
        self.lines = linecache.getlines(self.file, function.__globals__)
        """The whole file, as it is when the function is defined."""
        if len(self.lines) < self.first:
            raise self._refusal(
                f"the source of {self.name} is not available; define kernels in a file, in IPython or in Jupyter, "
                "not at Python's own prompt, in python -c or in exec()",
            )
        if self.name == "<lambda>":
            self._refuse_definition()

    def _refuse_definition(self) -> NoReturn:
        raise self._refusal(f"{self.name} is not defined by `def`; a kernel is a plain function", file=self.file)

    @staticmethod
    def _refusal(reason: str, **where: Any) -> KernelError:
        from anyzero.language.errors import KernelError  # a kernel from the cache needs none

        return KernelError(reason, **where)

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Parsed on first use: a kernel from the cache needs none."""
        lines, first = inspect.getblock(self.lines[self.first - 1 :]), self.first
        # Behind an `if`, an indented definition is one statement of its own, with its columns as they are.
        indented = lines[0][:1].isspace()
        text = ("if 1:\n" if indented else "") + "".join(lines)
        module = ast.parse(text)
        found = module.body[0].body[0] if isinstance(module.body[0], ast.If) else module.body[0]
        if not isinstance(found, ast.FunctionDef):
            self._refuse_definition()
        ast.increment_lineno(found, first - 1 - indented)
        return found

    def error(self, node: ast.AST | None, reason: str) -> KernelError:
        """The error at a node of the tree."""
        at: Any = node if hasattr(node, "lineno") else self.tree
        text = linecache.getline(self.file, at.lineno).rstrip("\n")
        length = at.end_col_offset - at.col_offset if at.end_lineno == at.lineno else len(text) - at.col_offset
        if isinstance(at, ast.FunctionDef):
            length = len(text) - at.col_offset
        # Python counts columns in bytes.
        column = len(text.encode()[: at.col_offset].decode(errors="replace"))
        return self._refusal(
            reason, file=self.file, line=at.lineno, column=column, function=self.name, text=text, length=length
        )

    def refuse(self, node: ast.AST | None, reason: str) -> NoReturn:
        raise self.error(node, reason)

    def value(self, name: str) -> Any:
        """The value of a name outside of the function; MISSING where it has none."""
        code = self.function.__code__
        if name in code.co_freevars and self.function.__closure__:
            try:
                return self.function.__closure__[code.co_freevars.index(name)].cell_contents
            except ValueError:
                return MISSING
        return self.function.__globals__.get(name, getattr(builtins, name, MISSING))

    def evaluated(self, annotation: Any) -> Any:
        """The value of an annotation, which may be a text; raises any exception of its evaluation."""
        space = {name: self.value(name) for name in self.function.__code__.co_freevars}
        # With `from __future__ import annotations`, an annotation written as a string is a string within a string.
        for _ in range(2):
            if isinstance(annotation, str):
                annotation = eval(annotation, self.function.__globals__, space)
        return annotation

    def annotation(self, node: ast.expr) -> Any:
        """The value of an annotation in the tree."""
        try:
            return self.evaluated(ast.unparse(node))
        except Exception as error:
            self.refuse(node, f"the annotation cannot be evaluated: {error}")
