"""The items of `submission.cpp` once more, through the Python API: takes the same arguments, prints the same records.

Everything is written as a user would write it, so a submission makes its own fence and an append its own completion.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
from collections.abc import Callable
from statistics import median
from time import perf_counter_ns
from typing import Any

import numpy as np

import anyzero as az

SMALL = 64
COMMANDS = 1000
LARGE = 64 << 20
CACHES = 96 << 20

STRIDE = 16 << 10

Action = Callable[[], object]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Turn = tuple[Action, Bytes, Bytes]
"""What to do, where it arrives, and what must arrive there."""


def nothing() -> None:
    pass


class Report:
    """Measures in rounds and prints one line of JSON for each item."""

    def __init__(self, rounds: int, round_ms: float, wanted: list[str]) -> None:
        self.rounds = rounds
        self.round_ns = round_ms * 1e6
        self._wanted = frozenset(wanted)
        self._caches: np.ndarray[tuple[int], np.dtype[np.uint64]] | None = None

    def wanted(self, key: str) -> bool:
        return not self._wanted or key in self._wanted

    def add(self, key: str, samples: list[float], operations: int, size: int = 0) -> None:
        record = {"item": key, "best": min(samples), "median": median(samples), "operations": operations, "bytes": size}
        print(json.dumps(record | {"samples": [round(sample, 2) for sample in samples]}), flush=True)

    def time(self, key: str, operation: Action) -> None:
        """`operation` as often as fills a round."""
        if not self.wanted(key):
            return
        count = 1
        while (took := self._round(operation, count)) < self.round_ns / 2:
            count *= 8 if took * 16 < self.round_ns else 2
        self.batches(key, count, operation)

    def batches(self, key: str, count: int, operation: Action, between: Action = nothing) -> None:
        """`count` operations a round; what `between` does after each round is not measured."""
        if not self.wanted(key):
            return
        samples = []
        for turn in range(self.rounds + 1):
            took = self._round(operation, count)
            between()
            if turn:
                samples.append(took / count)
        self.add(key, samples, count)

    def contest(self, size: int, contestants: dict[str, Turn]) -> None:
        """Each contestant once a round, in another order each time, all with caches that hold nothing of theirs."""
        turns = [key for key in contestants if self.wanted(key)]
        if not turns:
            return
        if self._caches is None:
            self._caches = np.ones(CACHES // 8, np.uint64)
        samples: dict[str, list[float]] = {key: [] for key in turns}
        order = random.Random(1)
        for turn in range(self.rounds + 1):
            for key in order.sample(turns, len(turns)):
                action, target, source = contestants[key]
                # Differs from turn to turn, so that what arrived earlier cannot pass for this turn's work.
                source[::STRIDE] = order.randrange(1, 256)
                target[::STRIDE] = 0
                self._caches[::8].sum()
                took = self._round(action, 1)
                if not np.array_equal(target[::STRIDE], source[::STRIDE]):
                    raise RuntimeError(f"{key}: not everything arrived")
                if turn:
                    samples[key].append(took)
        for key in turns:
            self.add(key, samples[key], 1, size)

    @staticmethod
    def _round(operation: Action, count: int) -> int:
        repeat = range(count)
        begin = perf_counter_ns()
        for _ in repeat:
            operation()
        return perf_counter_ns() - begin


def appends(ctx: az.Context, report: Report) -> None:
    to, origin = ctx.buffer(SMALL), ctx.buffer(SMALL)
    done, before = ctx.events(2)
    cl = ctx.command_list()
    report.batches("append_copy", COMMANDS, lambda: cl.copy(to, origin), cl.reset)
    report.batches("append_barrier", COMMANDS, lambda: cl.barrier(), cl.reset)
    report.batches("append_copy_events", COMMANDS, lambda: cl.copy(to, origin, signal=done, wait=before), cl.reset)


def executions(ctx: az.Context, report: Report) -> None:
    queue = ctx.queue()
    memory = ctx.buffer((COMMANDS, 2, SMALL))
    with ctx.command_list() as copies:
        for i in range(COMMANDS):
            copies.copy(memory[i][0], memory[i][1])
    with ctx.command_list() as empty:
        pass
    report.time("execute_empty", lambda: queue.submit(empty).wait())
    report.time("replay_1000", lambda: queue.submit(copies).wait())
    fence = queue.fence()

    def with_fence() -> None:
        queue.submit(empty, fence=fence)
        fence.wait()
        fence.reset()

    report.time("fence_round_trip", with_fence)

    each = 2000

    def submit() -> None:
        for _ in range(each):
            queue.submit(empty)

    def both() -> None:
        other = threading.Thread(target=submit)
        other.start()
        submit()
        other.join()
        queue.synchronize()

    if report.wanted("two_thread_execute"):
        samples = [Report._round(both, 1) / (2 * each) for _ in range(report.rounds)]
        report.add("two_thread_execute", samples, 2 * each)


def engine_round_trip(ctx: az.Context, report: Report) -> None:
    if not report.wanted("engine_round_trip"):
        return
    trips = 500
    there, back = ctx.events(trips), ctx.events(trips)
    with ctx.command_list() as compute, ctx.command_list(kind="copy") as copy:
        for out, answer in zip(there, back, strict=True):
            compute.barrier(signal=out)
            copy.barrier(signal=answer, wait=out)
            compute.barrier(wait=answer)
    compute_queue, copy_queue = ctx.queue(), ctx.queue(kind="copy")
    samples = []
    for turn in range(report.rounds + 1):
        begin = perf_counter_ns()
        copy_queue.submit(copy)
        compute_queue.submit(compute)
        back[-1].wait()
        took = perf_counter_ns() - begin
        compute_queue.synchronize()
        copy_queue.synchronize()
        for event in (*there, *back):
            event.reset()
        if turn:
            samples.append(took / trips)
    report.add("engine_round_trip", samples, trips)


def immediate(ctx: az.Context, report: Report) -> None:
    to, origin = ctx.buffer(SMALL), ctx.buffer(SMALL)
    done, gate = ctx.events(2)
    lst = ctx.immediate()
    synchronous = ctx.immediate(mode="synchronous")

    def round_trip() -> None:
        lst.barrier(signal=done)
        done.wait()
        done.reset()

    report.time("immediate_round_trip", round_trip)
    report.time("immediate_copy_wait", lambda: lst.copy(to, origin).wait())
    report.time("synchronous_copy", lambda: synchronous.copy(to, origin))
    report.time("immediate_append", lambda: lst.copy(to, origin))
    lst.synchronize()

    def release() -> None:
        gate.signal()
        lst.synchronize()
        gate.reset()

    def release_and_hold() -> None:
        release()
        lst.wait(gate)

    lst.wait(gate)
    report.batches("immediate_queued", COMMANDS, lambda: lst.copy(to, origin), release_and_hold)
    release()


def event_calls(ctx: az.Context, report: Report) -> None:
    event = ctx.event()
    report.time("event_signal", event.signal)
    event.signal()
    report.time("event_query", lambda: event.done)
    report.time("event_reset", event.reset)
    report.time("event_create", lambda: ctx.event().close())


def allocations(ctx: az.Context, report: Report) -> None:
    report.time("alloc_4k", lambda: ctx.buffer(4 << 10).close())
    report.time("alloc_64m", lambda: ctx.buffer(LARGE).close())


def bandwidth(ctx: az.Context, report: Report) -> None:
    lst, queue = ctx.immediate(mode="synchronous"), ctx.queue()

    def buffers(count: int) -> list[az.Buffer]:
        return [ctx.full(LARGE, i + 1, np.uint8, kind="shared") for i in range(count)]

    def by_immediate(to: az.Buffer, origin: az.Buffer) -> Turn:
        return lambda: lst.copy(to, origin), np.asarray(to), np.asarray(origin)

    def by_queue(to: az.Buffer, origin: az.Buffer) -> Turn:
        with ctx.command_list() as cl:
            cl.copy(to, origin)
        return lambda: queue.submit(cl).wait(), np.asarray(to), np.asarray(origin)

    def by_numpy(to: az.Buffer, origin: az.Buffer) -> Turn:
        target, source = np.asarray(to), np.asarray(origin)
        return lambda: np.copyto(target, source), target, source

    a, b, c, d, e, f = buffers(6)
    report.contest(
        LARGE, {"copy_immediate": by_immediate(a, b), "copy_queue": by_queue(c, d), "memcpy": by_numpy(e, f)}
    )
    report.contest(
        LARGE,
        {
            "copy_immediate_same": by_immediate(a, b),
            "copy_queue_same": by_queue(a, b),
            "memcpy_same": by_numpy(a, b),
        },
    )
    target, pattern = np.asarray(a), np.full(LARGE, 90, np.uint8)

    def fill() -> None:
        lst.fill(a, int(pattern[0]))

    def memset() -> None:
        target.fill(pattern[0])

    report.contest(LARGE, {"fill_immediate": (fill, target, pattern), "memset": (memset, target, pattern)})


def main(arguments: list[str]) -> None:
    rounds, round_ms, *wanted = arguments or ["15", "3"]
    report = Report(int(rounds), float(round_ms), wanted)
    # A collection in the middle of a round would be measured; what is made here goes away by counting.
    gc.disable()
    with az.device().context() as ctx:
        parts = (appends, executions, immediate, event_calls, engine_round_trip, allocations, bandwidth)
        for part in parts:
            part(ctx, report)


if __name__ == "__main__":
    main(sys.argv[1:])
