"""Workers of the same user on the same machine: their addresses, and memory in transit to one of them.

A worker writes a file into a folder that only its user can open, with its address and the handle of a page of memory.
Another worker that can open that page may send it memory as handles: the two share a kernel, a user and the view of
processes. Anything else travels as bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

import anyzero as az
from anyzero.cluster.process_context import context

__all__ = ["Delivery", "announce", "deliver_to", "delivery", "is_neighbour", "withdraw"]

_PAGE: Final = 4096
_current: ContextVar[Delivery | None] = ContextVar("delivery", default=None)
_known: dict[tuple[str, int], bool] = {}
"""Whether the page of an address could be opened, by the address and when its file was written."""


@dataclass
class Delivery:
    """Values in transit to a worker of this machine, and the memory that has to live until it has them."""

    address: str
    kept: list[Any] = field(default_factory=list)


def delivery() -> Delivery | None:
    """The delivery that values are being packed for, if it is one to a neighbour."""
    return _current.get()


@contextlib.contextmanager
def deliver_to(address: str | None) -> Iterator[None]:
    """Objects that are packed inside go to the worker with this address."""
    if address is None or not is_neighbour(address):
        yield
        return
    token = _current.set(Delivery(address))
    try:
        yield
    finally:
        _current.reset(token)


def folder() -> Path | None:
    """The folder of this user's workers, in a file system in memory; None where it cannot be trusted."""
    path = Path(f"/dev/shm/anyzero-cluster-{os.getuid()}")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return path if private else None


def announce(address: str) -> az.Buffer | None:
    """Announce this worker to its neighbours; the returned memory has to live as long as the worker."""
    place = folder()
    if place is None:
        return None
    _sweep(place)
    nonce = secrets.token_bytes(16)
    page = context().to_device(np.frombuffer(nonce.ljust(_PAGE, b"\0"), np.uint8))
    try:
        told = {"pid": os.getpid(), "handle": page.ipc_handle().hex(), "nonce": nonce.hex()}
    except az.Error:
        return None  # a driver without handles between processes
    path = _file(place, address)
    scratch = path.with_suffix(f".{os.getpid()}")
    try:
        scratch.touch(mode=0o600, exist_ok=False)
        scratch.write_text(json.dumps(told))
        scratch.replace(path)
    except OSError:
        return None
    return page


def withdraw(address: str) -> None:
    """Withdraw the announcement of this worker."""
    place = folder()
    if place is not None:
        _file(place, address).unlink(missing_ok=True)


def is_neighbour(address: str) -> bool:
    """Whether the worker with this address can open memory of this process."""
    place = folder()
    if place is None:
        return False
    path = _file(place, address)
    try:
        written = path.stat().st_mtime_ns
        if (address, written) not in _known:
            if len(_known) > 1024:
                _known.clear()
            _known[address, written] = _opens(json.loads(path.read_text()))
    except (OSError, ValueError):
        return False
    return _known[address, written]


def _opens(told: dict[str, Any]) -> bool:
    try:
        with context().open_ipc(bytes.fromhex(told["handle"]), _PAGE) as page:
            return page.copy_to().tobytes().startswith(bytes.fromhex(told["nonce"]))
    except (az.Error, KeyError, ValueError):
        return False


def _file(place: Path, address: str) -> Path:
    return place / hashlib.sha256(address.encode()).hexdigest()[:32]


def _sweep(place: Path) -> None:
    """Remove the files of workers that were killed."""
    for path in place.iterdir():
        try:
            pid = json.loads(path.read_text())["pid"]
        except (OSError, ValueError, KeyError):
            continue
        if not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)
