"""Waits of Python: in slices on the main thread, so that Ctrl-C works; in one piece elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread, get_ident, main_thread
from time import monotonic_ns
from typing import Final

from anyzero import ze
from anyzero.api.library import check
from anyzero.errors import TimeoutError  # noqa: A004
from anyzero.ze.constants import ZE_RESULT_NOT_READY

FOREVER: Final = (1 << 64) - 1
SLICE_NS: Final = 100_000_000
"""Signals reach Python only between calls into the driver."""


def nanoseconds(timeout: float) -> int:
    """A timeout in seconds, as the driver takes it."""
    if not timeout >= 0:
        raise ValueError(f"timeout={timeout!r}: a timeout is a number of seconds, 0 or more; None waits forever")
    return min(int(timeout * 1e9), FOREVER - 1)


def wait(synchronize: Callable[..., int], handle: int, timeout: float | None, what: str) -> None:
    """Call `synchronize(handle, ns)` until it is done; raise TimeoutError after `timeout` seconds."""
    if timeout is None:
        whole, first = FOREVER, SLICE_NS
        result = synchronize(handle, SLICE_NS)
    else:
        whole = nanoseconds(timeout)
        first = whole if whole < SLICE_NS else SLICE_NS
        result = synchronize(handle, first)
    if result:
        if result == ZE_RESULT_NOT_READY and first < whole:
            result = _wait_on(synchronize, handle, whole - first)
        if result == ZE_RESULT_NOT_READY:
            raise TimeoutError(
                f"{what} was not done after {timeout:g} seconds",
                result=ze.ze_result_t.ZE_RESULT_NOT_READY,
                function=synchronize.__name__,
            )
        check(result, synchronize)


def _wait_on(synchronize: Callable[..., int], handle: int, left: int) -> int:
    # Signal handlers run on the main thread alone, so other threads can wait in one piece.
    if get_ident() != main_thread().ident:
        return synchronize(handle, left)
    deadline = monotonic_ns() + left
    while True:
        part = min(SLICE_NS, deadline - monotonic_ns())
        result = synchronize(handle, max(part, 0))
        if result != ZE_RESULT_NOT_READY or part <= 0:
            return result


def without_timeout(synchronize: Callable[..., int], handle: int) -> None:
    """Call `synchronize(handle)`, which has no timeout, so that Ctrl-C ends the wait but not the call."""
    if get_ident() != main_thread().ident:
        check(synchronize(handle), synchronize)
        return
    failures: list[Exception] = []

    def call() -> None:
        # The driver keeps the text of an error for the thread that got it.
        try:
            check(synchronize(handle), synchronize)
        except Exception as error:
            failures.append(error)

    # An abandoned call must not keep the process from ending.
    caller = Thread(target=call, name="anyzero wait", daemon=True)
    caller.start()
    caller.join()
    if failures:
        raise failures[0]
