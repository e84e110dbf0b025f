"""Events as arguments of commands."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Final

from anyzero import errors
from anyzero.api._hot import Address
from anyzero.api.completion import Completion

Waits = Completion | Iterable[Completion] | None

NO_WAITS: Final = (0, None)
"""What `pack` returns for no events."""

_ONE = ctypes.c_void_p * 1


def handle_of(completion: Any) -> int | None:
    """The event's handle; None for a command that was done when it was appended."""
    if not getattr(type(completion), "_is_event", False):
        raise errors.InvalidArgument(
            f"a command cannot wait for {completion!r}",
            remedy="Wait for events, or for what an immediate list returned.",
        )
    handle: int | None = completion.handle
    return handle


def pack(wait: Any) -> tuple[int, Any]:
    """One or several events as the C API takes them: their number and their handles."""
    if isinstance(wait, Completion):
        handle = handle_of(wait)
        return NO_WAITS if handle is None else (1, Address(_ONE(handle)))
    handles = [handle for each in wait if (handle := handle_of(each)) is not None]
    return (len(handles), Address((ctypes.c_void_p * len(handles))(*handles))) if handles else NO_WAITS
