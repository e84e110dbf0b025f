"""Events as operands of commands, and their timestamps."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors, ze
from anyzero.api.calls.hot import Address
from anyzero.api.completion import Completion
from anyzero.api.library import check, function

if TYPE_CHECKING:
    from anyzero.api.device import Device

Waits = Completion | Iterable[Completion] | None

NO_WAITS: Final = (0, None)
"""The result of `pack` for no events."""

_ONE = ctypes.c_void_p * 1
_timestamp: Final = function("zeEventQueryKernelTimestamp")


def handle_of(completion: Any) -> int | None:
    """The event's handle; None for a command that was done when it was appended."""
    if not getattr(type(completion), "is_event", False):
        raise errors.InvalidArgument(
            f"a command cannot wait for {completion!r}",
            remedy="Pass events, or completions that an immediate list returned.",
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


def ticks(event: int) -> tuple[int, int, int, int]:
    """Start and end of an event's command, by the device's clock and by its context's."""
    found = ze.ze_kernel_timestamp_result_t()
    check(_timestamp(event, ctypes.byref(found)), _timestamp)
    whole, own = getattr(found, "global"), found.context
    return whole.kernelStart, whole.kernelEnd, own.kernelStart, own.kernelEnd


def elapsed_ns(event: int, device: Device) -> int:
    """Nanoseconds that the command of an event took on the device."""
    start, end, _, _ = ticks(event)
    return ((end - start) & ((1 << device.timestamp_bits) - 1)) * device.timer_resolution
