"""Events as arguments of commands."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Final

from anyzero import errors
from anyzero.api.completion import Completion

Waits = Completion | Iterable[Completion] | None

NO_WAITS: Final = (ctypes.c_uint32(0), None)
"""What `pack` returns for no events, made once: a number that ctypes has to convert takes longer."""

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
        return (0, None) if handle is None else (1, _ONE(handle))
    handles = [handle for each in wait if (handle := handle_of(each)) is not None]
    return len(handles), (ctypes.c_void_p * len(handles))(*handles) if handles else None
