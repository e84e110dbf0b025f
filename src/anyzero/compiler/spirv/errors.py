"""What is wrong with a module, and where."""

from __future__ import annotations


class SpirvError(Exception):
    """A module that cannot be understood; names the instruction and the word that say why.

    What notices a mistake often knows only the ids involved; whoever walks the instructions adds the place with `at`.
    """

    def __init__(self, reason: str, offset: int | None = None, instruction: str = "", where: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        """The instruction's first word, counted from the module's."""
        self.instruction = instruction
        self.where = where

    def at(self, offset: int, instruction: str = "", where: str = "") -> SpirvError:
        """The same error with its place, unless it has one already."""
        if self.offset is None:
            self.offset = offset
        self.instruction = self.instruction or instruction
        self.where = self.where or where
        return self

    def __str__(self) -> str:
        place = f"word {self.offset}" if self.offset is not None else "module"
        what = f"{place}: {self.instruction}: " if self.instruction else f"{place}: "
        text = f"{what}{self.reason}" + (f" ({self.where})" if self.where else "")
        # Names come from the module; a log shall not be what a broken one makes of it.
        return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
