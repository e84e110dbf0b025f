"""What can go wrong while a kernel runs, each with the work-item and the instruction it happened at."""

# ruff: noqa: N818 (named by what happened, as OpenCL's and the engine's words are)

from __future__ import annotations


class Fault(Exception):
    """The kernel did something that has no meaning. Raised by `run`; memory stays as the kernel left it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = ""
        """The instruction and its function."""
        self.item: tuple[int, ...] | None = None
        """The global id of the work-item."""

    def at(self, where: str, item: tuple[int, ...] | None) -> Fault:
        """The same fault with its place, unless it has one already."""
        self.where = self.where or where
        self.item = item if self.item is None else self.item
        return self

    def __str__(self) -> str:
        item = f"work-item {self.item}" if self.item is not None else ""
        place = ", ".join(filter(None, [item, self.where]))
        return f"{self.reason} ({place})" if place else self.reason


class OutOfBounds(Fault):
    """An access that leaves its buffer, or an address that belongs to none."""

    def __init__(self, reason: str, buffer: str = "", offset: int | None = None) -> None:
        super().__init__(reason)
        self.buffer = buffer
        """What was missed: an argument, a variable; nothing where the address is nobody's."""
        self.offset = offset
        """Bytes from its beginning."""


class ReadOnly(Fault):
    """A write to memory that nothing may write to."""


class DivisionByZero(Fault):
    """Of integers; floating-point numbers have infinities for it."""


class Unreachable(Fault):
    """The program says that this place is never reached."""


class BadFunctionPointer(Fault):
    """A call through an address that is no function's."""


class Missing(Fault):
    """A function or variable that only another module could give."""


class LimitReached(Fault):
    """A work-item executed more instructions, or called deeper, than it may."""


class Divergence(Fault):
    """Work-items of a group do not arrive together where they must."""


class BadArgument(Fault, ValueError):
    """The launch itself makes no sense."""
