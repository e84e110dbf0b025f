"""A program that measures, in a process of its own: it is told lines and answers with lines."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["BUILD", "ROOT", "Failed", "Process"]

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = ROOT / "build" / "bench"
PATIENCE: Final = 120.0
"""Seconds for one line: more than any compiler takes."""


class Failed(Exception):  # noqa: N818 (says what happened)
    """Something could not be measured; the text says why and what to do."""


class Process:
    """Runs until it is closed or at its end. What it says on stderr goes into a log by its name."""

    def __init__(self, name: str, command: Sequence[str], variables: Mapping[str, str]) -> None:
        BUILD.mkdir(parents=True, exist_ok=True)
        self._log = BUILD / f"{name.replace(' ', '-')}.log"
        environment, pipe = {**os.environ, **variables}, subprocess.PIPE
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=log, text=True
            )
        self.pid = self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def write(self, line: str) -> None:
        # That it is gone, and why, is for the next one who reads.
        with suppress(BrokenPipeError):
            print(line, file=self._process.stdin, flush=True)

    def read(self) -> str:
        """The next line; raises :class:`Failed` where there is none."""
        if line := self._line():
            return line
        raise self._failed()

    def lines(self) -> Iterator[str]:
        """All that it says; raises :class:`Failed` when it does not end well."""
        try:
            while line := self._line():
                yield line
        finally:
            self.close()
        if self._process.returncode:
            raise self._failed()

    def close(self) -> None:
        self._process.kill()
        # Waits for the end, too, and closes the pipes.
        self._process.communicate()

    def _line(self) -> str:
        """Empty when the process is at its end."""
        assert self._process.stdout is not None
        watch = threading.Timer(PATIENCE, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
            if not line:
                self._process.wait()
        finally:
            watch.cancel()
        return line

    def _failed(self) -> Failed:
        said = self._log.read_text(errors="replace").strip().splitlines()[-1:]
        return Failed(f"its process ended with {self._process.returncode}: {' '.join(said) or 'it did not say why'}")
