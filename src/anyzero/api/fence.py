"""Fences: notification of the host that a submission is done."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

from anyzero import ze
from anyzero.api.calls.hot import hot
from anyzero.api.calls.waiting import wait as _wait
from anyzero.api.commands.held import HEAVY
from anyzero.api.completion import Completion
from anyzero.api.library import check, create, function
from anyzero.api.resource import Resource
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api.queue import CommandQueue

__all__ = ["Fence"]

_create: Final = function("zeFenceCreate")
_destroy: Final = function("zeFenceDestroy")
_synchronize: Final = hot("zeFenceHostSynchronize")
_query: Final = hot("zeFenceQueryStatus")
_reset: Final = hot("zeFenceReset")

_plain: Final = ze.ze_fence_desc_t()
_signalled: Final = ze.ze_fence_desc_t(flags=ze.ZE_FENCE_FLAG_SIGNALED)
_PLAIN: Final = ctypes.byref(_plain)
_SIGNALLED: Final = ctypes.byref(_signalled)


class Fence(Completion, Resource):
    """A fence is signalled when its submission is done. `CommandQueue.submit` returns one.

    A fence of your own (`CommandQueue.fence`) serves many submissions, with a `reset` before each. Any thread may wait.

    >>> ctx = az.device().context()
    >>> with ctx.command_list() as cl:
    ...     cl.barrier()
    >>> fence = ctx.queue().submit(cl)
    >>> fence.wait(timeout=5)
    >>> fence.done
    True
    """

    __slots__ = ("idle", "queue")

    def __init__(self, queue: CommandQueue, *, signalled: bool = False, handle: int | None = None) -> None:
        self.queue = queue
        self.idle = False
        self.handle = create(_create, queue.handle, _SIGNALLED if signalled else _PLAIN) if handle is None else handle

    def wait(self, timeout: float | None = None) -> None:
        """Return when the submission is done; raise TimeoutError after `timeout` seconds."""
        _wait(_synchronize, self.handle, timeout, "the submission")
        self._signalled()
        if self.queue.context.failures:
            raise self.queue.context.failures.pop(0)

    def _signalled(self) -> None:
        self.idle = True
        queue = self.queue
        if queue.held.weight > HEAVY:
            queue.release_finished()

    @property
    def done(self) -> bool:
        """Whether the submission is done."""
        result = _query(self.handle)
        if result == ZE_RESULT_NOT_READY:
            return False
        if result:
            check(result, _query)
        self._signalled()
        return True

    def reset(self) -> None:
        """Reset the fence for the next submission.

        >>> fence = az.device().context().queue().fence(signalled=True)
        >>> fence.reset(); fence.done
        False
        """
        self.idle = False
        if result := _reset(self.handle):
            check(result, _reset)

    def _release(self, handle: int) -> None:
        if self.queue.closed:
            _destroy(handle)
        else:
            (self.queue.spare if self.idle else self.queue.unfinished).append(handle)
