"""What the device still uses must stay: objects that outlive the list or queue they were given to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from anyzero.ze.constants import ZE_RESULT_NOT_READY

Call = Callable[..., int]

# An event or a fence is signalled a moment before its queue counts as idle, and programs close right after a wait.
_GRACE_NS: Final = 100_000

_parked: list[tuple[int, Call, Call, object]] = []


def destroy_when_idle(handle: int, synchronize: Call, destroy: Call, kept: object) -> None:
    """Destroy a list or queue, now or, when it still runs something that needs `kept`, as soon as it has."""
    if synchronize(handle, _GRACE_NS) == ZE_RESULT_NOT_READY:
        _parked.append((handle, synchronize, destroy, kept))
    else:
        destroy(handle)


def any_parked() -> bool:
    """Whether something is still to be destroyed."""
    return bool(_parked)


def sweep() -> None:
    """Look whether what was parked is idle by now."""
    # Taken out first, so that another thread that comes here meanwhile does not destroy the same ones.
    waiting, _parked[:] = _parked[:], []
    for each in waiting:
        destroy_when_idle(*each)
