"""One launch, split over the devices of a cluster by their speeds."""

from __future__ import annotations

import inspect
import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from distributed import CancelledError, Client, KilledWorker, as_completed, get_client

import anyzero as az
from anyzero.cluster.inventory import devices
from anyzero.cluster.kernels import digest_of
from anyzero.cluster.process_context import context

__all__ = ["START", "parts", "run", "speeds"]

_ATTEMPTS: Final = 4
"""Number of attempts to run a part whose workers die."""
_NEWEST: Final = 0.5
"""The weight of the newest measurement of a worker."""


class _Start:
    """The argument of `run` that stands for the first row of a part."""

    def __repr__(self) -> str:
        return "az.cluster.START"

    def __reduce__(self) -> str:
        return "START"


START: Final = _Start()
speeds: dict[tuple[bytes, str], float] = {}
"""Rows per second, by kernel and worker, as measured in earlier runs."""
_lock: Final = threading.Lock()
_launched: set[bytes] = set()
"""Kernels that this process has launched; the first launch of one includes its compilation."""


def parts(rows: int, weights: Sequence[float], step: int = 1) -> list[tuple[int, int]]:
    """Cut rows in proportion to weights, at multiples of `step`; some parts may be empty.

    >>> parts(10, [1, 1])
    [(0, 5), (5, 10)]
    >>> parts(100, [3, 1], step=16)
    [(0, 80), (80, 100)]
    """
    total = sum(weights)
    ends = np.cumsum(weights) / total * rows
    cuts = [0, *(min(rows, round(end / step) * step) for end in ends[:-1]), rows]
    return list(itertools.pairwise(cuts))


def run(
    kernel: Any,
    grid: int | tuple[int, ...],
    args: Sequence[Any],
    *,
    split: Sequence[int | str] | None = None,
    out: Sequence[int | str] = (0,),
    group: Any = None,
    client: Client | None = None,
) -> tuple[npt.NDArray[Any], ...]:
    """Launch a kernel for `grid` work-items, shared by all devices, and wait for it.

    The last extent of the grid is cut: x of one dimension, y of two. With it the arrays of numpy among `args` that
    `split` names, by position or name, are cut along their first axis; each device gets its rows, and its work-items
    count from 0. Without `split` those arrays are cut whose first axis is as long as that extent. The others go whole
    to every device. `az.cluster.START` is a number: the first row of the device's part.

    `out` names the arrays that the kernel writes: they are cut, filled in place, and returned. Devices get rows
    by the speed that earlier runs of the kernel have measured, and at first by their threads. If a worker dies, its
    part runs elsewhere.

    >>> from distributed import Client
    >>> @az.kernel
    ... def number(out: az.ptr[az.i32], first: az.i32):
    ...     i = az.global_id(0)
    ...     out[i] = az.i32(i) + first
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0"):
    ...     az.cluster.run(number, 6, [np.zeros(6, np.int32), az.cluster.START])
    (array([0, 1, 2, 3, 4, 5], dtype=int32),)
    """
    sizes = (grid,) if isinstance(grid, int) else tuple(grid)
    rows = sizes[-1]
    values = list(args)
    cut = _cut(kernel, values, rows, split)
    written = _positions(kernel, out, values)
    for at in written:
        array = values[at]
        if at not in cut or not isinstance(array, np.ndarray) or not array.flags.writeable:
            raise az.InvalidArgument(
                f"argument {at} is an output of the launch, and is no writable array of numpy that is cut",
                remedy="out= names the arrays that the kernel writes, split= those that are cut with the grid.",
            )
    caller = client or get_client()
    known = devices(caller)
    if not known:
        raise az.DeviceNotFound("no worker of this cluster has a device", remedy="`anyzero worker` starts one.")
    key = digest_of(kernel)
    weights = _weights(key, known)
    step = (group[-1] if isinstance(group, tuple) else group) or 1
    spans = {each.worker: span for each, span in zip(known, parts(rows, weights, step), strict=True)}
    todo = [(worker, low, high, 1) for worker, (low, high) in spans.items() if low < high]
    running = as_completed()
    about: dict[str, tuple[str, int, int, int]] = {}

    def send(worker: str | None, low: int, high: int, attempt: int) -> None:
        given = [_piece(each, at, cut, rows, low, high) for at, each in enumerate(values)]
        # Not through the scheduler, which would hold the arrays; the caller has them if a worker dies with its copy.
        try:
            held = caller.scatter(given, workers=None if worker is None else [worker], hash=False, direct=True)
        except (OSError, ValueError):  # the worker died since it was listed
            if worker is None:
                raise
            worker = None
            held = caller.scatter(given, hash=False, direct=True)
        future = caller.submit(
            *(_part, kernel, key, (*sizes[:-1], high - low), held, written, group),
            workers=None if worker is None else [worker],
            allow_other_workers=worker is not None,
            pure=False,
        )
        about[future.key] = (worker or "", low, high, attempt)
        running.add(future)

    for each in todo:
        send(*each)
    left = len(todo)
    while left:
        future = next(running)
        _worker, low, high, attempt = about[future.key]
        try:
            found, seconds, where, warm = future.result()
        except (CancelledError, KilledWorker, OSError):
            if attempt >= _ATTEMPTS:
                raise
            send(None, low, high, attempt + 1)
            continue
        left -= 1
        for at, piece in zip(written, found, strict=True):
            scale = len(values[at]) // rows
            values[at][low * scale : high * scale] = piece
        if warm and seconds > 0:
            _learn(key, where, (high - low) / seconds)
    return tuple(values[at] for at in written)


def _positions(kernel: Any, names: Sequence[int | str], values: Sequence[Any]) -> list[int]:
    found = []
    for each in names:
        if isinstance(each, str):
            function = getattr(kernel, "__wrapped__", None)
            known = list(inspect.signature(function).parameters) if function else []
            if each not in known:
                raise az.InvalidArgument(
                    f"the kernel has no parameter {each!r}; it has {', '.join(known) or 'no names'}"
                )
            each = known.index(each)
        if not 0 <= each < len(values):
            raise az.InvalidArgument(f"there is no argument {each}; {len(values)} are given")
        found.append(each)
    return found


def _cut(kernel: Any, values: Sequence[Any], rows: int, split: Sequence[int | str] | None) -> set[int]:
    arrays = {at for at, each in enumerate(values) if isinstance(each, np.ndarray) and each.ndim}
    if split is None:
        return {at for at in arrays if len(values[at]) == rows}
    chosen = set(_positions(kernel, split, values))
    for at in chosen:
        if at not in arrays or not rows or len(values[at]) % rows:
            raise az.InvalidArgument(
                f"argument {at} cannot be cut into {rows} rows",
                remedy="An array that is cut has a first axis as long as the last extent of the grid, or a multiple.",
            )
    return chosen


def _piece(value: Any, at: int, cut: set[int], rows: int, low: int, high: int) -> Any:
    if value is START:
        return low
    if at not in cut:
        return value
    scale = len(value) // rows
    return np.ascontiguousarray(value[low * scale : high * scale])


def _weights(key: bytes, known: Sequence[Any]) -> list[float]:
    """Measured speeds; for workers without one, the others' speed per thread."""
    with _lock:
        found = {each.worker: speeds.get((key, each.worker)) for each in known}
    measured = [(each, speed) for each in known if (speed := found[each.worker])]
    rate = sum(speed / each.threads for each, speed in measured) / len(measured) if measured else 1.0
    return [found[each.worker] or rate * each.threads for each in known]


def _learn(key: bytes, worker: str, speed: float) -> None:
    with _lock:
        before = speeds.get((key, worker))
        speeds[key, worker] = speed if before is None else _NEWEST * speed + (1 - _NEWEST) * before


def _part(
    kernel: Any, key: bytes, sizes: tuple[int, ...], given: Sequence[Any], written: Sequence[int], group: Any
) -> tuple[list[npt.NDArray[Any]], float, str, bool]:
    """A worker's part: the outputs, the seconds of the launch, the worker, and whether the kernel was there already."""
    from distributed import get_worker

    here = context()
    values = [here.to_device(each) if isinstance(each, np.ndarray) and each.ndim else each for each in given]
    warm = key in _launched
    began = time.perf_counter()
    kernel[sizes if len(sizes) > 1 else sizes[0]](*values, **({} if group is None else {"group": group}))
    seconds = time.perf_counter() - began
    _launched.add(key)
    return [values[at].copy_to() for at in written], seconds, get_worker().address, warm
