"""Errors in a module, with their location."""

from __future__ import annotations


class SpirvError(Exception):
    """An invalid or unsupported module; names the instruction and the word.

    A check often knows only the ids involved; the code that iterates over instructions adds the location with `at`.
    """

    def __init__(self, reason: str, offset: int | None = None, instruction: str = "", where: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        """Index of the instruction's first word in the module."""
        self.instruction = instruction
        self.where = where

    def at(self, offset: int, instruction: str = "", where: str = "") -> SpirvError:
        """Adds the location, unless the error has one."""
        if self.offset is None:
            self.offset = offset
        self.instruction = self.instruction or instruction
        self.where = self.where or where
        return self

    def __str__(self) -> str:
        place = f"word {self.offset}" if self.offset is not None else "module"
        what = f"{place}: {self.instruction}: " if self.instruction else f"{place}: "
        text = f"{what}{self.reason}" + (f" ({self.where})" if self.where else "")
        # Names come from the module, which is untrusted: keep control characters out of the log.
        return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
