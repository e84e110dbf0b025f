"""The frame around every function that the engine calls: bytes in, bytes out, and no exception leaves."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import wraps

from anyzero import ze
from anyzero.config import ConfigError
from anyzero.driver.wire import Reader, Refusal, WireError, reply

__all__ = ["answering", "on_release", "statuses"]

_releases: list[Callable[[list[int]], None]] = []


def on_release(release: Callable[[list[int]], None]) -> None:
    """Has `release` called with the ids of the plans whose modules are gone, which every request begins with."""
    _releases.append(release)


def answering(work: Callable[[Reader], bytes]) -> Callable[[bytes], bytes]:
    """Reads the ids that every request begins with, and turns every exception into a reply."""

    @wraps(work)
    def answer(request: bytes) -> bytes:
        try:
            with statuses():
                reader = Reader(request)
                gone = [reader.u64() for _ in range(reader.count(8))]
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
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"the request is not understood: {error}") from None
    except ConfigError as error:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, str(error)) from None
    except ImportError as error:
        text = f"{sys.executable} cannot compile: {error}. Install what anyzero requires there: pip install anyzero"
        raise Refusal(ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, text) from None
