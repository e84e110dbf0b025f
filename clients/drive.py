"""Runs all tests of a client, even if their process crashes or hangs.

A test whose process dies, or that makes no progress for long, counts as crashed, and a new process continues after it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from clients import place, results
from clients.results import Results

__all__ = ["BrokenError", "drive"]

STALLED_S = 600
"""Longer than any test takes, also the first one of a process, which imports and collects."""
LOOK_S = 0.5
SAY_S = 30
LOG_TAIL = 600


class BrokenError(Exception):
    """The client did not come as far as its first test."""


def drive(command: Sequence[str], record: Path, label: str, variables: Mapping[str, str]) -> Results:
    """Run `command`, again and again if it must be, until its results are complete."""
    record.parent.mkdir(parents=True, exist_ok=True)
    log = record.with_suffix(".log")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ZE_", "ONEAPI_", "OCL_"))}
    environ |= {"RECORD": str(record), "PYTHONPATH": str(place.ROOT / "clients" / "inside"), **variables}
    while True:
        before = len(results.read(record).outcomes)
        code = _run(command, environ, record, log, label)
        found = results.read(record)
        if found.complete:
            print(f"{label}: {found}", flush=True)
            return found
        tail = log.read_text(errors="replace")[-LOG_TAIL:]
        if found.running is None:
            # Nothing was running: if tests were done, the process ended between two of them.
            if len(found.outcomes) > before:
                continue
            raise BrokenError(f"{label}: it ended with {code} outside of any test; {log}:\n{tail}")
        why = "no progress for too long" if code is None else f"the process ended with {code}"
        results.write(record, id=found.running, outcome="crashed", detail=f"{why}: {tail}")
        print(f"{label}: {found.running} crashed: {why}", flush=True)


def _run(command: Sequence[str], environ: dict[str, str], record: Path, log: Path, label: str) -> int | None:
    """The exit status; None where it had to be killed."""
    place.BUILD.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env=environ, cwd=place.BUILD, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    # Whoever ends this program ends the client, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return _watch(process, record, label)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()


def _watch(process: subprocess.Popen[bytes], record: Path, label: str) -> int | None:
    moved = said = time.monotonic()
    size = -1
    while process.poll() is None:
        time.sleep(LOOK_S)
        now, length = time.monotonic(), record.stat().st_size if record.exists() else 0
        if length != size:
            size, moved = length, now
        if now - said > SAY_S and sys.stdout:
            said = now
            print(f"{label}: {results.read(record)}", flush=True)
        if now - moved > STALLED_S:
            return None
    return process.returncode
