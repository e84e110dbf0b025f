"""The measurements of a cluster, each a function that returns what a table shows."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, Final, NamedTuple

import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster, SchedulerPlugin, as_completed, wait

import anyzero as az
from benchmarks.cluster import work

__all__ = ["killing", "overhead", "speed_up", "streaming"]

Say = Callable[[str], None]
BATCHES: Final = 8
PAUSE: Final = 0.005
"""Seconds between round trips: Dask sends at most every 2 ms, so a message that closely follows another has to wait."""


def _timed(client: Any, function: Any, count: int) -> float:
    """Seconds of so many tasks, results included."""
    began = time.perf_counter()
    client.gather(client.map(function, range(count), pure=False))
    return time.perf_counter() - began


class Trips(NamedTuple):
    """What small tasks cost on one cluster, in seconds."""

    best: float
    """One task from the client and back."""
    median: float
    wall: float
    """A task among many, the best batch."""
    cpu: float
    """The same in CPU time of client, scheduler and workers."""


def overhead(trips: int, say: Say) -> dict[str, Trips]:
    """The cost of a small task, alone and among many; plain Dask and ours take turns."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as plain,
        Client(plain, set_as_default=False) as theirs,
        az.cluster.LocalZeroCluster(topology="cpu:tiles=2", dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as ours,
    ):
        variants = {
            "plain Dask, numpy": (theirs, work.small_numpy),
            "our workers, numpy": (ours, work.small_numpy),
            "our workers, a kernel": (ours, work.small_launch),
        }
        processes = {id(client): _processes(client) for client in (theirs, ours)}
        single: dict[str, list[float]] = {name: [] for name in variants}
        wall: dict[str, list[float]] = {name: [] for name in variants}
        cpu: dict[str, list[float]] = {name: [] for name in variants}
        for client, function in variants.values():
            _timed(client, function, 50)
        for turn in range(trips):
            order = random.Random(turn).sample(list(variants.items()), len(variants))
            for name, (client, function) in order:
                began = time.perf_counter()
                client.submit(function, turn, pure=False).result()
                single[name].append(time.perf_counter() - began)
                time.sleep(PAUSE)
            if turn % 100 == 99:
                say(f"overhead: {turn + 1} of {trips} round trips")
        for batch in range(BATCHES):
            for name, (client, function) in random.Random(batch).sample(list(variants.items()), len(variants)):
                before = _cpu_seconds(processes[id(client)])
                wall[name].append(_timed(client, function, trips) / trips)
                cpu[name].append((_cpu_seconds(processes[id(client)]) - before) / trips)
            say(f"overhead: {batch + 1} of {BATCHES} batches of {trips} tasks")
    return {name: Trips(min(single[name]), median(single[name]), min(wall[name]), min(cpu[name])) for name in variants}


def _processes(client: Any) -> list[psutil.Process]:
    """The client, with the scheduler in it, and the workers."""
    return [psutil.Process(), *map(psutil.Process, client.run(os.getpid).values())]


def _cpu_seconds(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def speed_up(each: int, workers: list[int], rounds: int, say: Say) -> dict[str, dict[int, float]]:
    """Seconds of the same compute-bound work with so many single-threaded workers, best of rounds.

    It is `each` tasks for every worker where there are most of them. Processes that Dask has no part in run the same
    tasks: the cores of a machine are slower when all are busy.
    """
    turns = itertools.count(work.TURNS)
    tasks = each * workers[-1]
    names = ("processes without Dask", "tasks", "az.cluster.map", "az.cluster.run")
    found: dict[str, dict[int, float]] = {name: {} for name in names}
    for count in workers:
        with (
            az.cluster.LocalZeroCluster(
                topology=f"cpu:tiles={count}" if count > 1 else "cpu",
                environment={"ANYZERO_THREADS": "1"},
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            processors = [device.processors[0] for device in az.cluster.devices(client)]
            chunks = az.cluster.to_device(da.ones(tasks * work.CHUNK, dtype=np.float32, chunks=work.CHUNK)).persist()
            wait(chunks)
            ways: dict[str, Callable[[int], float]] = {
                names[0]: lambda tasks, processors=processors: _without_dask(tasks, processors),
                names[1]: lambda tasks, client=client: _timed(client, work.heavy_chunk, tasks),
                # Another number each time: Dask would reuse the result of an equal task.
                names[2]: lambda tasks, chunks=chunks: _seconds(
                    lambda: az.cluster.map(work.heavy, chunks[: tasks * work.CHUNK], next(turns)).sum().compute().item()
                ),
                names[3]: lambda tasks: _seconds(lambda: work.heavy_launch(tasks * work.CHUNK)),
            }
            for name, way in ways.items():
                if name != names[0]:
                    way(2 * count)  # compiles on every worker, and measures their speed for az.cluster.run
                found[name][count] = min(way(tasks) for _ in range(rounds))
                say(f"speed-up: {count} workers, {name}, {found[name][count]:.2f} s")
    return found


def _without_dask(tasks: int, processors: list[int]) -> float:
    """Seconds of so many tasks in one process for each of these processors."""
    spawning = multiprocessing.get_context("spawn")
    ready = spawning.Barrier(len(processors) + 1)
    share = -(-tasks // len(processors))
    running = [spawning.Process(target=work.alone, args=(ready, processor, share)) for processor in processors]
    for process in running:
        process.start()
    ready.wait()
    began = time.perf_counter()
    ready.wait()
    seconds = time.perf_counter() - began
    for process in running:
        process.join()
    return seconds


def _seconds(way: Callable[[], Any]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


class Repeats(SchedulerPlugin):
    """Counts tasks that were on a worker when it died, and run again."""

    count = 0

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        self.count += (start, finish) == ("processing", "released")


def killing(tasks: int, say: Say) -> dict[str, float]:
    """So many tasks while one of three workers is killed every second: how many were killed, how many results wrong."""
    with (
        az.cluster.LocalZeroCluster(
            topology="cpu:tiles=3", environment={"ANYZERO_THREADS": "1"}, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        ThreadPoolExecutor(1) as beside,
    ):
        # The task is not to blame for the death of its worker.
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1000))
        client.gather(client.map(work.counted, range(20), pure=False))
        repeats = Repeats()
        cluster.scheduler.add_plugin(repeats)
        ended = threading.Event()
        kills: list[int] = []
        began = time.perf_counter()
        killer = beside.submit(_kill_every_second, cluster, ended, kills)
        results: list[tuple[int, int]] = []
        try:
            for first in range(0, tasks, 1000):
                numbers = range(first, min(first + 1000, tasks))
                results += client.gather(client.map(work.counted, numbers, pure=False))
                say(f"killing: {len(results)} of {tasks} tasks, {len(kills)} workers killed")
        finally:
            ended.set()
        killer.result()
        seconds = time.perf_counter() - began
        wrong = sum(value != n + 1 for n, (value, _) in enumerate(results))
        counts = {"tasks": len(results), "killed": len(kills), "repeated": repeats.count, "wrong": wrong}
        return {**counts, "seconds": seconds}


def _kill_every_second(cluster: Any, ended: threading.Event, kills: list[int]) -> None:
    choose = random.Random(1)
    while not ended.wait(1.0):
        known = set(cluster.scheduler.workers)
        alive = [nanny.pid for nanny in list(cluster.workers.values()) if nanny.worker_address in known and nanny.pid]
        # A worker takes longer than a second to start, so one is left to work.
        if len(alive) > 1:
            pid = choose.choice(alive)
            with contextlib.suppress(ProcessLookupError):  # dead already, and its nanny does not know yet
                os.kill(pid, signal.SIGKILL)
                kills.append(pid)


def streaming(limit: int, times: int, say: Say) -> dict[str, float]:
    """Values of so many times the memory limit are kept by one worker: the most memory that its process had."""
    size = limit // 16 // work.NOISE * work.NOISE
    count = limit * times // size
    with (
        az.cluster.LocalZeroCluster(topology="cpu", memory_limit=limit, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        (pid,) = client.run(os.getpid).values()
        process = psutil.Process(pid)
        empty = process.memory_info().rss
        began = time.perf_counter()
        values = client.map(work.chunk_of, range(count), nbytes=size, pure=False)
        for at, _ in enumerate(as_completed(values), 1):
            if at % 16 == 0:
                say(f"streaming: {at * size >> 20} of {count * size >> 20} MiB made")
        sums = client.gather(client.map(work.sum_of, values))
        seconds = time.perf_counter() - began
        (last,) = client.run(os.getpid).values()
        (most,) = client.run(work.most_memory).values()
        return {
            "limit": limit,
            "streamed": count * size,
            "empty": empty,
            "most": most,
            "wrong": sum(found != work.expected_sum(seed, size) for seed, found in enumerate(sums)),
            "restarted": last != pid,  # by its nanny, which ends a worker at 95 % of its limit
            "seconds": seconds,
            "cpu": sum(psutil.Process(last).cpu_times()[:2]),
        }
