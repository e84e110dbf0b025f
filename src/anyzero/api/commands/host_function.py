"""Python functions as commands.

One C function serves them all: it looks the Python function up by number. So no function that the driver calls is ever
freed, regardless of the lifetime of lists and queues.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import time
import weakref
from collections.abc import Callable
from typing import Any, Final, Protocol

from anyzero import ze
from anyzero.api.commands.held import any_parked, sweep

_QUIET_S: Final = 0.1
_PATIENCE_S: Final = 3.0


class Runner(Protocol):
    """A queue or list that may have host functions to run."""

    def is_idle(self) -> bool:
        """Whether everything given so far is done."""


_numbers = itertools.count(1)
_calls: weakref.WeakValueDictionary[int, HostCall] = weakref.WeakValueDictionary()
_runners: weakref.WeakSet[Runner] = weakref.WeakSet()
_entered = 0
_left = 0
_ending = False


class HostCall:
    """A function to be called, as often as its command runs; lists and queues that may run the command hold it."""

    __slots__ = ("__weakref__", "_arguments", "_failures", "_function", "number")

    def __init__(
        self, function: Callable[..., object], arguments: tuple[Any, ...], failures: list[BaseException]
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._failures = failures
        self.number = next(_numbers)
        _calls[self.number] = self

    def run(self) -> None:
        """Call it; an exception is kept for the next wait, for there is no caller here that could handle it."""
        try:
            self._function(*self._arguments)
        except BaseException as error:
            self._failures.append(error)


def _call(number: int) -> None:
    global _entered, _left
    _entered += 1
    call = _calls.get(number)
    if call is not None and not _ending:
        call.run()
    _left += 1


# Held for good: the driver may call it at any time.
_trampoline: Final = ze.ze_host_function_callback_t(_call)
TRAMPOLINE: Final = ctypes.cast(_trampoline, ctypes.c_void_p).value


def watch(runner: Runner) -> None:
    """Remember that `runner` has host functions to run."""
    _runners.add(runner)


def _all_idle() -> bool:
    return all(runner.is_idle() for runner in list(_runners))


@atexit.register
def _end() -> None:
    """Let the driver's threads leave Python before the interpreter goes away, which they would not survive.

    From now on host functions do nothing, so all ready commands end soon. Commands that wait for an event keep waiting:
    when nothing has happened for a while, nothing will.
    """
    global _ending
    _ending = True
    deadline = time.monotonic() + _PATIENCE_S
    seen, quiet_since = -1, time.monotonic()
    while (now := time.monotonic()) < deadline:
        sweep()
        if _entered == _left and not any_parked() and _all_idle():
            return
        if _entered != seen:
            seen, quiet_since = _entered, now
        elif _entered == _left and now - quiet_since > _QUIET_S:
            return
        time.sleep(0.001)
