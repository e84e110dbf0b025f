"""Runs a piece of a test in a process of its own, so that a crash or a hang is a finding and not the end of the run."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
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
        with _FORKING, warnings.catch_warnings():
            # Newer Pythons warn of threads; the ones that pytest keeps hold nothing that the child asks for.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _run(work, timeout, result, stack)
        _, status = os.waitpid(child, 0)
        result.seek(0)
        stack.seek(0)
        said = stack.read().decode(errors="replace").strip()
        if said:
            return Outcome(trouble=f"{said}\nstill running after {timeout:g} seconds")
        if os.WIFSIGNALED(status):
            return Outcome(trouble=f"ended by {signal.Signals(os.WTERMSIG(status)).name}")
        found = pickle.load(result)
        assert isinstance(found, Outcome)
        return found


def _run(work: Callable[[], Any], timeout: float, result: IO[bytes], stack: IO[bytes]) -> None:
    """The child's whole life."""
    try:
        # What pytest has installed would write to its own files.
        faulthandler.disable()
        # A thread of its own, so that also code that is not Python cannot run forever.
        faulthandler.dump_traceback_later(timeout, exit=True, file=stack)
        try:
            outcome = Outcome(work())
        except BaseException as error:
            outcome = Outcome(trouble="".join(traceback.format_exception(error)).strip())
        pickle.dump(outcome, result)
        result.flush()
    finally:
        os._exit(0)
