"""Modules that something is wrong with, by number, and what the compiler makes of them.

    python -m tests.compiler.mutations [--count N] [--first N] [--jobs N]
    python -m tests.compiler.mutations --only NUMBER

The same number is the same module on every machine, as long as the samples stay as they are. Without --count,
ANYZERO_MUTATIONS says how many. Each process is watched: one that dies, or takes a minute for a module, is a finding
like any other, and the next one goes on behind it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import sys
import time
import traceback
from array import array
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawValue
from pathlib import Path

from anyzero.compiler.spirv import SpirvError, disassemble, read, verify
from tests.compiler.bodies import BODIES
from tests.compiler.samples import MODULES

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
LARGEST = 10_000
"""Bytes of a compiled kernel that is worth the time."""
COUNT = 100_000
MEMORY = 4 << 30
PATIENCE_S = 60.0
ENOUGH = 20
"""Findings; there is work to do before more of them are of any use."""
HEADER = 5

Check = Callable[[bytes], object]


@cache
def samples() -> list[bytes]:
    """Written for the tests, and by compilers."""
    compiled = [path.read_bytes() for path in sorted(KERNELS.glob("*.spv")) if path.stat().st_size <= LARGEST]
    return [*MODULES.values(), *(body.module for body in BODIES.values()), *compiled]


def survive(data: bytes) -> bool:
    """Everything that the compiler does with a module from outside; true when the module is accepted."""
    try:
        module = read(data)
        assert disassemble(module.words)
        verify(module)
    except SpirvError as error:
        placed = error.offset is not None and bool(error.instruction) and str(error).isprintable()
        if not placed:
            raise AssertionError(f"{error} has no place") from error
        return False
    return True


def mutated(number: int) -> bytes:
    """A sample with a few words or whole instructions changed."""
    chance = random.Random(number)
    words = array("I", chance.choice(samples()))
    for _ in range(chance.randint(1, 4)):
        if len(words) > HEADER:
            words = chance.choice(CHANGES)(words, chance)
    return words.tobytes()


def _flip(words: array[int], chance: random.Random) -> array[int]:
    words[chance.randrange(1, len(words))] ^= 1 << chance.randrange(32)
    return words


def _swap(words: array[int], chance: random.Random) -> array[int]:
    at, other = (chance.randrange(1, len(words)) for _ in "ab")
    words[at], words[other] = words[other], words[at]
    return words


def _copy(words: array[int], chance: random.Random) -> array[int]:
    words[chance.randrange(1, len(words))] = words[chance.randrange(1, len(words))]
    return words


def _number(words: array[int], chance: random.Random) -> array[int]:
    """Most often an id, which may be of any kind of thing."""
    words[chance.randrange(1, len(words))] = chance.choice([chance.randrange(201), 0xFFFFFFFF, 1 << 31])
    return words


def _opcode(words: array[int], chance: random.Random) -> array[int]:
    at = chance.choice(_starts(words))
    words[at] = words[at] & 0xFFFF0000 | chance.randrange(421)
    return words


def _drop(words: array[int], chance: random.Random) -> array[int]:
    del words[chance.randrange(1, len(words))]
    return words


def _cut(words: array[int], chance: random.Random) -> array[int]:
    return words[: chance.randrange(HEADER, len(words))]


def _drop_instruction(words: array[int], chance: random.Random) -> array[int]:
    at, end = _instruction(words, chance)
    return words[:at] + words[end:]


def _move_instruction(words: array[int], chance: random.Random) -> array[int]:
    """Somewhere else, perhaps in addition to where it was."""
    at, end = _instruction(words, chance)
    moved = words[at:end]
    rest = words[:at] + words[end:] if chance.random() < 0.5 else words
    to = chance.choice(_starts(rest)) if len(rest) > HEADER else HEADER
    return rest[:to] + moved + rest[to:]


def _foreign_instruction(words: array[int], chance: random.Random) -> array[int]:
    other = array("I", chance.choice(samples()))
    at, end = _instruction(other, chance)
    to = chance.choice(_starts(words))
    return words[:to] + other[at:end] + words[to:]


CHANGES = (
    *(_flip, _swap, _copy, _number, _opcode, _drop, _cut),
    *(_drop_instruction, _move_instruction, _foreign_instruction),
)


def _starts(words: array[int]) -> list[int]:
    """Where instructions begin, as far as their lengths lead."""
    found, at = [], HEADER
    while at < len(words):
        found.append(at)
        at += max(words[at] >> 16, 1)
    return found


def _instruction(words: array[int], chance: random.Random) -> tuple[int, int]:
    starts = _starts(words)
    place = chance.randrange(len(starts))
    return starts[place], starts[place + 1] if place + 1 < len(starts) else len(words)


class Worker:
    """A process that goes through numbers with a stride, and what has become of it."""

    def __init__(self, numbers: range, check: Check, patience: float) -> None:
        self.numbers, self.check, self.patience = numbers, check, patience
        self.place = RawValue("Q", 0)
        self.done = False
        self.restart(0)

    def restart(self, place: int) -> None:
        self.place.value = place
        self.seen, self.since = place, time.monotonic()
        self.line, line = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=self.work, args=(line,), daemon=True)
        self.process.start()
        line.close()

    def work(self, line: Connection) -> None:
        """In the process."""
        # Beyond what is there: whoever started us may have the engine, which reserves a lot of addresses.
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        while self.place.value < len(self.numbers):
            number = self.numbers[self.place.value]
            try:
                self.check(mutated(number))
            except Exception as error:
                line.send((number, "".join(traceback.format_exception_only(error)).strip()))
            self.place.value += 1

    def look(self) -> Iterator[tuple[int, str]]:
        """What it found since the last look; and what was found about itself."""
        ended = not self.process.is_alive()
        while self.line.poll():
            try:
                yield self.line.recv()
            except EOFError:
                break
        place = self.place.value
        if place != self.seen:
            self.seen, self.since = place, time.monotonic()
        if place >= len(self.numbers):
            self.done = True
        elif ended or time.monotonic() - self.since > self.patience:
            self.process.kill()
            self.process.join()
            reason = f"the process died ({self.process.exitcode})" if ended else f"not done after {self.patience:g} s"
            yield self.numbers[place], reason
            self.restart(place + 1)


def run(
    count: int, first: int, jobs: int, *, check: Check = survive, patience: float = PATIENCE_S
) -> list[tuple[int, str]]:
    """What was found, by number; nothing if all is well."""
    everything = range(first, first + count)
    samples()  # once, for all processes
    workers = [Worker(everything[place::jobs], check, patience) for place in range(min(jobs, count))]
    found: list[tuple[int, str]] = []
    began, told = time.monotonic(), 0.0
    while not all(worker.done for worker in workers) and len(found) < ENOUGH:
        time.sleep(0.05)
        found += [each for worker in workers if not worker.done for each in worker.look()]
        passed = time.monotonic() - began
        if sys.stderr.isatty() or passed - told > 10:
            told = passed
            progress(sum(worker.place.value for worker in workers), count, len(found), passed)
    for worker in workers:
        worker.process.kill()
        worker.process.join()
    progress(sum(worker.place.value for worker in workers), count, len(found), time.monotonic() - began)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return sorted(found)


def progress(done: int, total: int, found: int, passed: float) -> None:
    state = f"{done}/{total} mutations, {found} found, {done / max(passed, 1e-9):.0f}/s, {passed:.0f} s"
    if sys.stderr.isatty():
        bar = "█" * int(30 * done / total)
        print(f"\r{bar:<30} {state} ", end="", file=sys.stderr, flush=True)
    else:
        print(state, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compiler.mutations")
    parser.add_argument("--count", type=int, default=int(os.environ.get("ANYZERO_MUTATIONS") or COUNT))
    parser.add_argument("--first", type=int, default=0, help="the number to begin with")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", type=int, help="a single one, here and now")
    given = parser.parse_args(arguments)
    if given.count < 1 or given.jobs < 1 or given.first < 0:
        parser.error("--count and --jobs are at least 1, --first is not negative")
    if given.only is not None:
        print("accepted" if survive(mutated(given.only)) else "refused")
        return 0
    found = run(given.count, given.first, given.jobs)
    for number, reason in found:
        print(f"{number}: {reason}; again: python -m tests.compiler.mutations --only {number}")
    print(f"{given.count} mutations from {given.first} on, {len(found)} that the compiler does not stand")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
