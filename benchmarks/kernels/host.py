"""Peers that work on numpy's arrays directly: a function by program, called with the kernel's arguments."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Mapping
from copy import copy
from hashlib import sha256
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case

__all__ = ["FAST", "FLAGS", "Host", "Missing", "native_functions"]

HERE: Final = Path(__file__).parent
SOURCES: Final = (HERE / "native.cpp", *sorted((HERE / "published").glob("*.cpp")))
HEADER: Final = HERE / "native.h"

Work = Callable[[list[Any], Case], None]


class Missing(Exception):  # noqa: N818 (says what is)
    """A peer does not have this program."""


class Host:
    """Runs programs by name; each works through all launches of the case in one call."""

    def __init__(self, name: str, functions: Mapping[str, Work]) -> None:
        self.name = name
        self._functions = functions

    def prepare(self, case: Case, arguments: list[Argument]) -> Prepared:
        if case.kernel not in self._functions:
            raise Missing(f"{self.name} has no {case.kernel}")
        return Prepared(case, arguments, self._functions[case.kernel])


class Prepared:
    """A program with arrays of its own."""

    def __init__(self, case: Case, arguments: list[Argument], work: Work) -> None:
        self.case = case
        self._first = arguments
        self._held: list[Any] = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        self._work = work

    def reshaped(self, case: Case) -> Prepared:
        """Groups mean nothing here."""
        made = copy(self)
        made.case = case
        return made

    def restore(self, indices: tuple[int, ...] | None = None) -> None:
        for index, argument in enumerate(self._first):
            if isinstance(argument, np.ndarray) and (indices is None or index in indices):
                np.copyto(self._held[index], argument)

    def run(self, repeats: int = 1) -> int:
        work, held, case = self._work, self._held, self.case
        start = perf_counter_ns()
        # Where several launches are one job, the function does all of it.
        count = repeats * (len(case.launches) if case.kernel == "empty" else 1)
        for _ in range(count):
            work(held, case)
        return perf_counter_ns() - start

    def results(self) -> dict[int, Array]:
        return {index: each for index, each in enumerate(self._held) if isinstance(each, np.ndarray)}


MARCH: Final = os.environ.get("BENCHMARKS_MARCH", "native")
FLAGS: Final = ("-std=c++20", "-O3", f"-march={MARCH}", "-fopenmp")
FAST: Final = "-ffast-math"
"""Lets the compiler vectorise exp and log, at some loss of precision; it is another contestant."""


def _library(folder: Path, fast: bool) -> Any:
    # Named by its contents: several checkouts may share the folder.
    digest = sha256(b"".join(path.read_bytes() for path in (HEADER, *SOURCES))).hexdigest()[:12]
    target = folder / f"{MARCH}-{'fast' if fast else 'plain'}-{digest}.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        flags = [*FLAGS, *([FAST] if fast else []), "-shared", "-fPIC", f"-I{HERE}"]
        # Others may be at it, too: none shall load what is half written.
        own = target.with_suffix(f".{os.getpid()}")
        subprocess.run([os.environ.get("CXX", "g++"), *flags, *map(str, SOURCES), "-o", str(own)], check=True)
        own.replace(target)
    return ctypes.CDLL(str(target))


def native_functions(folder: Path, fast: bool) -> dict[str, Work]:
    """The functions of `SOURCES`, compiled into `folder` when they are not there yet."""
    from benchmarks.kernels.suites import SUITES

    library = _library(folder, fast)

    def wrapped(function: Any) -> Work:
        function.restype = None

        def work(arguments: list[Any], case: Case) -> None:
            # A value is passed by its address, like an array.
            held = [each if isinstance(each, np.ndarray) else np.array(each) for each in arguments]
            addresses = (ctypes.c_void_p * max(1, len(held)))(*(each.ctypes.data for each in held))
            size = (ctypes.c_int64 * 4)(*case.global_size)
            size[3] = len(case.launches)
            function(addresses, size)

        return work

    kernels = {each.kernel or each.key for programs in SUITES.values() for each in programs}
    return {kernel: wrapped(getattr(library, kernel)) for kernel in kernels if hasattr(library, kernel)}
