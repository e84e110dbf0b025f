"""`az.profile`: the time that kernels spend by source line, while a part of a Python program runs."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anyzero import errors
from anyzero.api.library import LIBRARY_PATH
from anyzero.own_folder import OwnFolder
from anyzero.profiling import report
from anyzero.profiling.samples import Samples, read

__all__ = ["profile"]

RATE = 1000
_BUSY = 16


class profile:  # noqa: N801
    """Sample kernels while the block runs, and report the time that they spend by source line.

        >>> import anyzero as az, numpy as np
        >>> with az.profile() as profiled, az.device().context() as ctx:
        ...     x = ctx.to_device(np.ones(1000, np.float32))
        >>> profiled.kernels
        []

    `rate` is the number of samples for each second that a thread works. perf_event_open takes them where the system
    permits it, else a timer, which has no more ticks than the system's own; `timer=True` uses the timer in any case.
    Kernels written in Python have lines; kernels of modules have them if they were compiled with `-g`.

    With `lanes=True`, kernels whose modules are created in the block count their active lanes, gathers and scatters by
    line. The counters are loads and stores, so the limits of such kernels do not tell memory from computing.

    The last 131,072 samples of each thread are kept. One profile is made at a time.
    """

    def __init__(self, *, rate: int = RATE, timer: bool = False, lanes: bool = False) -> None:
        if not 1 <= rate <= 20_000:
            raise ValueError(f"az.profile: {rate} samples a second; it takes 1 to 20,000")
        self._rate, self._timer, self._lanes = rate, timer, lanes
        self._samples: Samples | None = None
        self._folder: OwnFolder | None = None

    def __enter__(self) -> Self:
        self._folder = OwnFolder("anyzero-profile-")
        begin = ctypes.CDLL(str(LIBRARY_PATH)).zexProfileStart
        begin.argtypes = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int, ctypes.c_int
        number = begin(os.fsencode(self._file), self._rate, self._timer, self._lanes)
        if number:
            self._folder.remove()
            busy = "a profile is already being made, by another az.profile or by `anyzero profile`"
            raise errors.Unavailable(
                f"az.profile: {busy if number == _BUSY else os.strerror(number)}",
                remedy="End the other one first."
                if number == _BUSY
                else "Check TMPDIR, where the samples are kept until the block ends.",
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trail: TracebackType | None
    ) -> None:
        assert self._folder is not None
        ctypes.CDLL(str(LIBRARY_PATH)).zexProfileStop()
        if not self._folder.own:
            return  # a forked child: the samples are its parent's
        self._samples = read(self._file)
        self._folder.remove()

    @property
    def _file(self) -> Path:
        assert self._folder is not None
        return self._folder.path / "samples"

    @property
    def samples(self) -> Samples:
        """The samples, available after the end of the block."""
        if self._samples is None:
            raise RuntimeError("az.profile: the samples are complete when the block has ended")
        return self._samples

    @property
    def kernels(self) -> list[report.KernelCost]:
        """Kernels with their lines, the most expensive first."""
        return report.kernels([self.samples])

    def summary(self, kernel: str | None = None) -> str:
        """Tables of kernels and lines, with the limit of each kernel."""
        return "\n".join(report.tables([self.samples], only=kernel))

    def as_json(self) -> dict[str, Any]:
        """The report as a dictionary for JSON."""
        return report.as_json([self.samples])
