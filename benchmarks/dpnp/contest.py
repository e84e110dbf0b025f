"""Two processes with dpnp that take turns: one on this driver, one on Intel's CPU runtime."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.process import Failed, Process
from benchmarks.sources import BUILD, fresh
from clients import place, sycl

__all__ = ["INTEL", "KEYS", "OURS", "Contest", "Times"]

OURS, INTEL = "anyzero", "Intel"
PROGRAM: Final = Path(__file__).with_name("operations.py")
KEYS: Final = (
    "sort", "argsort", "unique", "argmax", "sum", "sum_axis", "std", "cumsum", "where", "mask", "take", "searchsorted",
    "add", "exp", "transpose", "matmul", "solve",
)  # fmt: skip
INSTRUCTIONS: Final = {
    "native": ({}, {}),
    "avx2": (
        {"ANYZERO_TARGET": "haswell"},
        {"CL_CONFIG_CPU_TARGET_ARCH": "core-avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    ),
}
"""What holds each side to an instruction set."""

Times = dict[str, list[float]]
"""Nanoseconds by side."""


class Worker(Process):
    """One side's process; it has its arrays when it is made."""

    def __init__(self, side: str, command: list[str], variables: dict[str, str], clock: str) -> None:
        super().__init__(f"dpnp-{side}", command, variables)
        self.side, self.clock = side, clock
        self.device: str = self._answer()["device"]

    def run(self, key: str, times: int) -> list[float]:
        self.write(json.dumps([key, times]))
        return [float(each) for each in self._answer()[self.clock]]

    def _answer(self) -> dict[str, Any]:
        """The next line that is one: oneMKL writes its warnings to the standard output."""
        while not (line := self.read()).startswith("{"):
            pass
        answer: dict[str, Any] = json.loads(line)
        return answer


@dataclass(frozen=True, slots=True)
class Contest:
    """Raises :class:`clients.place.NotAvailableError` where there is no dpnp and none may be fetched."""

    install: bool
    instructions: str = "native"
    clock: str = "ns"
    """Or `cpu_ns`: processor time of all threads."""

    def _start(self, side: str, cache: Path, stages: str) -> Worker:
        python = place.at_hand(sycl.ENVIRONMENT, sycl.PACKAGES, ("dpnp",))
        if python is None:
            if not self.install:
                raise place.NotAvailableError("dpnp is not installed; leave out --no-install to fetch it")
            python = place.environment(sycl.ENVIRONMENT, sycl.PACKAGES)
        command = [str(python), str(PROGRAM)]
        ours, intel = INSTRUCTIONS[self.instructions]
        if side == OURS:
            variables = {
                "ONEAPI_DEVICE_SELECTOR": "level_zero:*",
                "ANYZERO_CACHE_DIR": str(cache),
                "ANYZERO_STAGES": stages,
            }
            return Worker(side, [*place.through_anyzero(), *command], variables | ours, self.clock)
        return Worker(side, command, sycl.on_intel(python) | intel, self.clock)

    @contextmanager
    def _both(self) -> Iterator[list[Worker]]:
        made: list[Worker] = []
        try:
            # With the code that kernels have after a while, whose compilation is over when the second call begins.
            made += (self._start(side, fresh(BUILD / "dpnp-warm"), "final") for side in (OURS, INTEL))
            yield made
        finally:
            for each in made:
                each.close()

    def warm(self, keys: tuple[str, ...], rounds: int) -> Iterator[tuple[str, Times]]:
        """Each operation after its first call: rounds of three calls, the sides taking turns."""
        with self._both() as workers:
            for key in keys:
                taken: Times = {each.side: [] for each in workers}
                for each in workers:
                    each.run(key, 2)
                shuffle = random.Random(key)
                for _ in range(rounds):
                    for each in shuffle.sample(workers, len(workers)):
                        taken[each.side] += each.run(key, 3)
                yield key, taken

    def first(self, keys: tuple[str, ...], rounds: int) -> Iterator[tuple[str, Times]]:
        """The first call of a process whose cache is empty."""
        for key in keys:
            taken: Times = {OURS: [], INTEL: []}
            for _ in range(rounds):
                for side in taken:
                    worker = self._start(side, fresh(BUILD / "dpnp-first"), "both")
                    try:
                        taken[side] += worker.run(key, 1)
                    except Failed as error:
                        raise Failed(f"{side}, {key}: {error}") from None
                    finally:
                        worker.close()
            yield key, taken
