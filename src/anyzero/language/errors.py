"""The error of a kernel that cannot be compiled: the line, a caret, and the allowed forms."""

from __future__ import annotations

from anyzero.errors import Error

__all__ = ["KernelError"]


class KernelError(Error, TypeError):
    """A function cannot be compiled as a kernel, or not for these arguments; the text shows the line and the remedy.

    `file`, `line` and `column` are its location, as editors count.

    >>> @az.kernel
    ... def half(x: az.ptr[az.i32]):
    ...     x[0] = x[0] / 2
    >>> half.spirv
    Traceback (most recent call last):
    anyzero.language.errors.KernelError: ...line 3, in half: i32 / int literal: integers are divided by //; ...
        x[0] = x[0] / 2
               ^^^^^^^^
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str = "",
        line: int = 0,
        column: int = 0,
        function: str = "",
        text: str = "",
        length: int = 1,
    ) -> None:
        self.reason = reason
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        where = f"{file}, line {line}, in {function}: " if file else f"{function}: " if function else ""
        shown = ""
        if text:
            indent = len(text) - len(text.lstrip())
            marks = "^" * max(1, min(length, len(text) - column))
            shown = f"\n    {text.strip()}\n    {' ' * (column - indent)}{marks}"
        super().__init__(f"{where}{reason}{shown}")
