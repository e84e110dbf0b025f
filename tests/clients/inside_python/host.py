"""Runs a C program on a second thread while the main thread never rests: GATE MODE DRIVER PROGRAM ARGUMENTS…

MODE is `both`: once while the main thread spins in Python, then once while it holds the GIL in C; or
`deaf`: while it holds the GIL and does not release it even for functions that may need Python. If DRIVER is given,
anyzero uses it too, so that this Python is the planner; if empty, it does not use anyzero.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from typing import NoReturn

PATIENCE_MS = 40_000
DEAF_MS = 1_000
TIMED_OUT, ASKED, FINISHED = range(3)


def give_up(reason: str) -> NoReturn:
    """A thread is stuck in C, so nothing but this ends the process."""
    print(reason, file=sys.stderr, flush=True)
    os._exit(3)


class Host:
    def __init__(self, gate: str, program: str, arguments: list[str]) -> None:
        # Global, so that the program's calls come to the gate first.
        freeing = ctypes.CDLL(gate, ctypes.RTLD_GLOBAL)
        keeping = ctypes.PyDLL(gate)
        # All names are looked up now: that takes the dynamic linker's lock, which a program that starts the driver
        # while it is being loaded has when it asks for Python's.
        self.begin, self.run, self.let_go, self.hold = freeing.begin, freeing.run, freeing.let_go, keeping.hold
        self.finished = ctypes.c_int.in_dll(freeing, "finished")
        self.asked = ctypes.c_int.in_dll(freeing, "asked")
        self.program = program.encode()
        self.arguments = [argument.encode() for argument in (program, *arguments)]
        self.status: int | None = None

    def start(self, held: bool) -> threading.Thread:
        self.status = None
        self.begin(int(held))
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        return thread

    def _run(self) -> None:
        count = len(self.arguments)
        self.status = self.run(self.program, count, (ctypes.c_char_p * (count + 1))(*self.arguments, None))

    def end(self, thread: threading.Thread, how: str) -> None:
        thread.join()
        print(f"{how}: status {self.status}, {self.asked.value} calls that may need Python", flush=True)
        if self.status:
            give_up(f"{how}: the program returned {self.status}")

    def spin_in_python(self) -> None:
        thread = self.start(held=False)
        end = time.monotonic() + PATIENCE_MS / 1e3
        turns = 0
        while not self.finished.value:
            turns += 1
            if turns % 100_000 == 0 and time.monotonic() > end:
                give_up("spinning: the program did not end")
        self.end(thread, "spinning")

    def sit_on_the_lock(self, deaf: bool, patience: int) -> None:
        thread = self.start(held=True)
        reason = ASKED
        while reason == ASKED:
            if not self.let_go(PATIENCE_MS):
                give_up("sitting: a function that may need Python did not return although the lock was free")
            reason = self.hold(patience, int(deaf))
        if reason == TIMED_OUT:
            give_up("sitting: the program did not end while the lock was held")
        self.end(thread, "sitting")


def main() -> None:
    # Whoever asks for the lock while the main thread spins gets it soon: compiling asks many times.
    sys.setswitchinterval(1e-4)
    gate, mode, driver, program, *arguments = sys.argv[1:]
    if driver:
        from anyzero.ze import Library

        Library(driver)
    host = Host(gate, program, arguments)
    if mode == "both":
        host.spin_in_python()
    # A program that waits for this Python waits for ever.
    host.sit_on_the_lock(mode == "deaf", DEAF_MS if mode == "deaf" and driver else PATIENCE_MS)


if __name__ == "__main__":
    main()
