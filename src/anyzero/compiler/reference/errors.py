"""Faults of a running kernel, with the work-item and the instruction."""

# ruff: noqa: N818 (named by what happened, as OpenCL's and the engine's words are)

from __future__ import annotations


class Fault(Exception):
    """Undefined behaviour of the kernel. Raised by `run`; memory stays as the kernel left it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.where = ""
        """The instruction and its function."""
        self.item: tuple[int, ...] | None = None
        """The global id of the work-item."""

    def at(self, where: str, item: tuple[int, ...] | None) -> Fault:
        """Adds the location, unless the fault has one."""
        self.where = self.where or where
        self.item = item if self.item is None else self.item
        return self

    def __str__(self) -> str:
        item = f"work-item {self.item}" if self.item is not None else ""
        place = ", ".join(filter(None, [item, self.where]))
        return f"{self.reason} ({place})" if place else self.reason


class OutOfBounds(Fault):
    """An access outside of its buffer, or an address outside of every buffer."""

    def __init__(self, reason: str, buffer: str = "", offset: int | None = None) -> None:
        super().__init__(reason)
        self.buffer = buffer
        """The argument or variable; empty for an address outside of every buffer."""
        self.offset = offset
        """Byte offset in the buffer."""


class ReadOnly(Fault):
    """A write to read-only memory."""


class DivisionByZero(Fault):
    """Integer division by zero; floating-point division gives infinities."""


class Unreachable(Fault):
    """OpUnreachable was executed."""


class BadFunctionPointer(Fault):
    """A call through an address that is not a function's."""


class Missing(Fault):
    """An unresolved import of a function or variable."""


class LimitReached(Fault):
    """A work-item exceeded the limit of instructions or call depth."""


class Divergence(Fault):
    """Work-items of a group diverge at a barrier or collective operation."""


class BadArgument(Fault, ValueError):
    """Invalid launch arguments."""
