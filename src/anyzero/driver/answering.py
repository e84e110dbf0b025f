"""The frame around every function that the engine calls: bytes in, bytes out, and no exception leaves."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps

from anyzero import ze
from anyzero.config import ConfigError
from anyzero.layouts.planner import ReplyHead, ReplyOrigin, RequestHead
from anyzero.wire import Reader, WireError, Writer

__all__ = ["Refusal", "answering", "on_release", "reply", "statuses"]

_releases: list[Callable[[Sequence[int]], None]] = []


def on_release(release: Callable[[Sequence[int]], None]) -> None:
    """Registers `release`, which is called with the ids of released plans that every request begins with."""
    _releases.append(release)


class Refusal(Exception):  # noqa: N818 (an answer, not a mishap)
    """A reply with a status other than success, and a text with the reason."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def reply(
    body: Writer | None = None,
    log: str = "",
    status: int = ze.ZE_RESULT_SUCCESS,
    origin: int = ReplyOrigin.UNSAID,
) -> bytes:
    """A reply: status and log, then the body if it is a success."""
    # Names come from the module, and may hold characters that would break a log.
    shown = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in log)
    head = ReplyHead(status, origin, shown).write(Writer())
    return head.raw(body.done() if body else b"").done()


def answering(work: Callable[[Reader], bytes]) -> Callable[[bytes], bytes]:
    """Reads the ids that every request begins with, and turns every exception into a reply."""

    @wraps(work)
    def answer(request: bytes) -> bytes:
        try:
            with statuses():
                reader = Reader(request)
                gone = RequestHead.read(reader).released
                for release in _releases:
                    release(gone)
                return work(reader)
        except Refusal as refusal:
            return reply(log=refusal.text, status=refusal.status)
        except MemoryError:
            return reply(log="out of memory", status=ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY)
        except BaseException:
            import traceback

            # The caller is C code, which cannot pass an exception on, KeyboardInterrupt among them.
            return reply(log=traceback.format_exc(), status=ze.ZE_RESULT_ERROR_UNKNOWN)

    return answer


@contextlib.contextmanager
def statuses() -> Iterator[None]:
    """Turns the errors that any request may have into refusals."""
    try:
        yield
    except WireError as error:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"the request is invalid: {error}") from None
    except ConfigError as error:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, str(error)) from None
    except ImportError as error:
        text = f"{sys.executable} cannot compile: {error}. Install anyzero's requirements there: pip install anyzero"
        raise Refusal(ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, text) from None
