"""Runs a piece of a test in another process, so that a crash or a hang is a finding and not the end of the run.

`isolated` forks for every piece. `apart` gives one piece after the other to the same child: a fork copies all pages
that it touches, and learns anew what the compiler remembers from kernel to kernel. That took a third of the time.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import pickle
import signal
import struct
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from tests.patience import PATIENCE

_FORKING = threading.Lock()
"""What is to be warned of is kept for the whole process, and several threads may want to fork."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it: a value, or words on why there is none."""

    value: Any = None
    trouble: str = ""


def isolated(work: Callable[[], Any], timeout: float = PATIENCE) -> Outcome:
    """Calls `work` in a copy of this process, which ends afterwards, and gives back what it returned."""
    with tempfile.TemporaryFile() as result, tempfile.TemporaryFile() as stack:
        child = _fork()
        if child == 0:
            _run(work, timeout, result, stack)
        trouble = _trouble(os.waitpid(child, 0)[1], stack)
        if trouble:
            return Outcome(trouble=trouble)
        result.seek(0)
        found = pickle.load(result)
        assert isinstance(found, Outcome)
        return found


class _Child:
    """A copy of this process that does what it is sent, until it crashes or its pipe is closed."""

    def __init__(self) -> None:
        self.done = 0
        self.stack = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as the child
        orders, self.orders = os.pipe()
        self.replies, replies = os.pipe()
        self.process = _fork()
        if self.process == 0:
            os.close(self.orders)
            os.close(self.replies)
            self._serve(orders, replies)
        os.close(orders)
        os.close(replies)

    def _serve(self, orders: int, replies: int) -> None:
        try:
            faulthandler.disable()
            while (order := _receive(orders)) is not None:
                work, arguments, timeout = pickle.loads(order)
                faulthandler.dump_traceback_later(timeout, exit=True, file=self.stack)
                outcome = _outcome(lambda work=work, arguments=arguments: work(*arguments))
                faulthandler.cancel_dump_traceback_later()
                _send(replies, pickle.dumps(outcome))
        finally:
            os._exit(0)

    def ask(self, work: Callable[..., Any], arguments: tuple[Any, ...], timeout: float) -> Outcome | None:
        """None if it is the child's end."""
        self.done += 1
        _send(self.orders, pickle.dumps((work, arguments, timeout)))
        reply = _receive(self.replies)
        if reply is None:
            return None
        found = pickle.loads(reply)
        assert isinstance(found, Outcome)
        return found

    def end(self) -> str:
        """Words on why it ended by itself, if it did."""
        os.close(self.orders)
        os.close(self.replies)
        status = os.waitpid(self.process, 0)[1]
        with self.stack:
            return _trouble(status, self.stack)


_child: _Child | None = None
_PIECES = 100
"""Of one child: all that was loaded stays in it."""


def apart(work: Callable[..., Any], *arguments: Any, timeout: float = PATIENCE) -> Outcome:
    """Calls a function of a module in a child that others have been called in before."""
    global _child
    if _child is not None and _child.done >= _PIECES:
        _child.end()
        _child = None
    _child = child = _child or _Child()
    found = child.ask(work, arguments, timeout)
    if found is not None:
        return found
    _child = None
    return Outcome(trouble=f"{child.end()} (call {child.done} of its process; `isolated` calls it in a fresh one)")


@atexit.register
def _end() -> None:
    if _child is not None:
        _child.end()


def _send(pipe: int, data: bytes) -> None:
    data = struct.pack("<Q", len(data)) + data
    while data:
        data = data[os.write(pipe, data) :]


def _receive(pipe: int) -> bytes | None:
    """None at the end."""
    head = _read(pipe, 8)
    return head and _read(pipe, struct.unpack("<Q", head)[0])


def _read(pipe: int, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        more = os.read(pipe, size - len(found))
        if not more:
            return None
        found += more
    return bytes(found)


def _fork() -> int:
    with _FORKING, warnings.catch_warnings():
        # Newer Pythons warn of threads; the ones that pytest keeps hold nothing that the child asks for.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _trouble(status: int, stack: IO[bytes]) -> str:
    stack.seek(0)
    said = stack.read().decode(errors="replace").strip()
    if said:
        return f"still running after its timeout\n{said}"
    return f"ended by {signal.Signals(os.WTERMSIG(status)).name}" if os.WIFSIGNALED(status) else ""


def _outcome(work: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(work())
    except BaseException as error:
        return Outcome(trouble="".join(traceback.format_exception(error)).strip())


def _run(work: Callable[[], Any], timeout: float, result: IO[bytes], stack: IO[bytes]) -> None:
    """The child's whole life."""
    try:
        # What pytest has installed would write to its own files.
        faulthandler.disable()
        # A thread of its own, so that also code that is not Python cannot run forever.
        faulthandler.dump_traceback_later(timeout, exit=True, file=stack)
        pickle.dump(_outcome(work), result)
        result.flush()
    finally:
        os._exit(0)
