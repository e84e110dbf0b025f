"""The planning process: the planner of a program that has no Python of its own, at the other end of a socket.

The engine starts it (``engine/planning``), and it ends with the program. Requests and replies are frames, see
`anyzero.layouts.frame`. Request number 0 has no reply, and is processed before the next one is read.

Nothing is imported before it is needed: a program waits for the description first, then for its modules, and for LLVM
only when a kernel is in no cache.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import sys
from typing import TYPE_CHECKING, Final, NoReturn

from anyzero.driver import own_modules
from anyzero.layouts.frame import FRAME_BYTES, Frame, FrameKind

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import ModuleType

__all__ = ["serve"]

_PIECE: Final = 1 << 20
_STACK: Final = 32 << 20
_IDLE: Final = 0.005
"""Seconds without a question after which modules are imported ahead of the next one. Programs that do nothing else have
their next question sooner.
"""
_TURN: Final = 0.001
"""Seconds after which a question gets the interpreter from a thread that imports."""
_YOUNG: Final = 100_000
"""New objects between two garbage collections."""
_NICE: Final = 5
_LINGER: Final = 10.0
"""Seconds without a question after which a process for the second stage ends: LLVM takes much memory."""
_PATHS: Final = ("ANYZERO_CACHE_DIR", "ANYZERO_DUMP")


def serve(line: int) -> NoReturn:
    """Answers questions until the program is gone."""
    _settle()
    own_modules.install()
    # A kernel is compiled from many objects that live until it is done; repeated garbage collections of them take a
    # tenth of the time.
    gc.set_threshold(_YOUNG)
    sys.setswitchinterval(_TURN)
    with contextlib.suppress(EOFError, OSError):
        number, function, request = _receive(line)
        if function == "describe":
            # Without a thread: every program waits for this answer first.
            _describe(line, number)
            _attend(line)
        elif function == "improve":
            # A program that requests better code has some to run meanwhile, and may need all processors for that.
            os.nice(_NICE)
            _attend(line, (number, function, request), linger=_LINGER)
        else:
            _attend(line, (number, function, request))
    # At once, also during a compilation: the program is gone, and a shell may wait for our standard error to close.
    os._exit(0)


def _settle() -> None:
    """Leaves the program's working folder, which its user may want to unmount; relative paths are made absolute."""
    for name in _PATHS:
        if os.environ.get(name):
            os.environ[name] = os.path.abspath(os.environ[name])  # noqa: PTH100 (pathlib is not loaded yet)
    os.chdir("/")


def _describe(line: int, number: int) -> None:
    """Reports a bad variable to the program; any other error means that this Python cannot be used, and ends it."""
    from anyzero.config import ConfigError

    try:
        _reply(line, number, FrameKind.REPLY, _call("describe", b""))
    except ConfigError as error:
        _reply(line, number, FrameKind.REFUSAL, str(error).encode())
    except Exception as error:
        last_word = f"{sys.executable}: {type(error).__name__}: {error}"
        _reply(line, 0, FrameKind.REFUSAL, last_word.encode("utf-8", "replace"))
        raise EOFError from None


def _attend(line: int, first: tuple[int, str, bytes] | None = None, linger: float | None = None) -> None:
    """Reads on this thread, to notice the program's end at once, and answers on others. Returns after `linger` seconds
    without a request.
    """
    import threading

    from anyzero.driver.ahead import load_compiler, load_modules, rehearse

    # More than a main thread has: the compiler recurses as deeply as kernels are nested.
    threading.stack_size(_STACK)
    sending = threading.Lock()
    ahead = [rehearse, load_compiler, load_modules] if linger is None else []
    if ahead:
        threading.Thread(target=ahead.pop(), daemon=True).start()
    while True:
        if linger is not None and not first and not select.select([line], [], [], linger)[0]:
            if threading.active_count() == 1:
                return
            continue
        # Only if no question is being answered: it would have to share the interpreter.
        if ahead and not first and not select.select([line], [], [], _IDLE)[0]:
            if threading.active_count() == 1:
                threading.Thread(target=ahead.pop(), daemon=True).start()
            continue
        number, function, request = first or _receive(line)
        first = None
        if number == 0:
            _call(function, request)
        elif stored := _stored(function, request):
            with sending:
                _reply(line, number, FrameKind.REPLY, stored)
        else:
            threading.Thread(target=_answer, args=(line, sending, number, function, request), daemon=True).start()


def _answer(line: int, sending: AbstractContextManager[object], number: int, function: str, request: bytes) -> None:
    try:
        kind, body = FrameKind.REPLY, _call(function, request)
    except BaseException as error:
        kind, body = FrameKind.REFUSAL, str(error).encode("utf-8", "replace")
    with contextlib.suppress(OSError), sending:
        _reply(line, number, kind, body)


def _call(function: str, request: bytes) -> bytes:
    if function == "describe":
        from anyzero.driver.devices import boot

        return boot.describe()
    module, _, name = function.rpartition(".")
    planner = _planner(module)
    if planner is None or name not in planner.__all__:
        raise ValueError(f"the planner has no function {function}")
    answer: bytes = getattr(planner, name)(request)
    return answer


def _stored(function: str, request: bytes) -> bytes:
    """The answer from the cache, given by the thread that reads: starting another one takes longer than the rest.

    No bytes if it is not there, or if the modules that look for it are not imported yet.
    """
    requests = sys.modules.get("anyzero.driver.modules.requests")
    find = getattr(requests, "STORED", {}).get(function)
    return find(request) if find else b""


def _planner(module: str) -> ModuleType | None:
    if module == "graphs":
        from anyzero.driver.graphs import requests as about_graphs

        return about_graphs
    from anyzero.driver.modules import requests

    return requests if module == "" else None


def _receive(line: int) -> tuple[int, str, bytes]:
    number, kind, size = Frame.unpack(_exactly(line, FRAME_BYTES))
    content = _exactly(line, size)
    return number, content[:kind].decode(), content[kind:]


def _exactly(line: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(line, min(size, _PIECE))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _reply(line: int, number: int, kind: int, body: bytes) -> None:
    rest = memoryview(Frame(number, kind, len(body)).pack() + body)
    while rest:
        rest = rest[os.write(line, rest) :]
