"""The one context of a process, in which buffers arrive and kernels run."""

from __future__ import annotations

import os
import threading
from typing import Final

import anyzero as az

__all__ = ["context"]

_lock: Final = threading.Lock()
_made: dict[int, az.Context] = {}
"""Contexts by process id: a forked child makes its own."""


def context() -> az.Context:
    """The context of this process, on the device of its worker; in other processes on `az.device()`.

    Tasks make their buffers here, and buffers from other workers arrive here, so that kernels take both.

    >>> az.cluster.context() is az.cluster.context()
    True
    >>> az.cluster.context().zeros(3).copy_to()
    array([0., 0., 0.])
    """
    found = _made.get(os.getpid())
    if found is None or found.closed:
        with _lock:
            found = _made.get(os.getpid())
            if found is None or found.closed:
                _made.clear()
                found = _made[os.getpid()] = az.device().context()
    return found
