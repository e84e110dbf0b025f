"""How much memory a process had allocated from the driver, over time."""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.tracing.recording import Recording

__all__ = ["usage"]

_KINDS = {"zeMemAllocDevice": "device", "zeMemAllocHost": "host", "zeMemAllocShared": "shared"}
_FREES = ("zeMemFree", "zeMemFreeExt")


def usage(recording: Recording) -> Iterator[tuple[int, dict[str, int]]]:
    """The bytes of each kind after every allocation and every free; memory from before the recording is not known."""
    held: dict[int, tuple[str, int]] = {}
    amounts = dict.fromkeys(_KINDS.values(), 0)
    for call in sorted(recording.calls, key=lambda each: each.end):
        if call.result:
            continue
        if (kind := _KINDS.get(call.name)) is not None:
            size = call.arguments.get("size", 0)
            held[call.arguments.get("pptr", 0)] = kind, size
            amounts[kind] += size
        elif call.name in _FREES and (freed := held.pop(call.arguments.get("ptr", 0), None)) is not None:
            amounts[freed[0]] -= freed[1]
        else:
            continue
        yield call.end, dict(amounts)
