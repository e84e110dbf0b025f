"""The measurements of a cluster, each a function that returns what a table shows."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import psutil
from distributed import Client, LocalCluster, wait

import anyzero as az
from benchmarks.cluster import work

__all__ = ["killing", "overhead", "speed_up", "streaming"]

Say = Callable[[str], None]


def _timed(client: Any, function: Any, count: int) -> float:
    """Seconds of so many tasks, results included."""
    began = time.perf_counter()
    client.gather(client.map(function, range(count), pure=False))
    return time.perf_counter() - began


def overhead(trips: int, say: Say) -> dict[str, tuple[float, float]]:
    """Seconds of one task from the client and back, the best and the median of many; plain Dask and ours take turns."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as plain,
        Client(plain, set_as_default=False) as theirs,
        az.cluster.LocalZeroCluster(topology="cpu:tiles=2") as cluster,
        Client(cluster, set_as_default=False) as ours,
    ):
        variants = {
            "plain Dask, numpy": (theirs, work.small_numpy),
            "our workers, numpy": (ours, work.small_numpy),
            "our workers, a kernel": (ours, work.small_launch),
        }
        found: dict[str, list[float]] = {name: [] for name in variants}
        for client, function in variants.values():
            _timed(client, function, 50)
        for turn in range(trips):
            for name, (client, function) in random.Random(turn).sample(list(variants.items()), len(variants)):
                began = time.perf_counter()
                client.submit(function, turn, pure=False).result()
                found[name].append(time.perf_counter() - began)
            if turn % 100 == 99:
                say(f"overhead: {turn + 1} of {trips} round trips")
    return {name: (min(times), median(times)) for name, times in found.items()}


def speed_up(tasks: int, workers: list[int], rounds: int, say: Say) -> dict[int, float]:
    """Seconds of compute-bound tasks with so many single-threaded workers, best of rounds."""
    found = {}
    for count in workers:
        with (
            az.cluster.LocalZeroCluster(
                topology=f"cpu:tiles={count}" if count > 1 else "cpu", environment={"ANYZERO_THREADS": str(count)}
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            _timed(client, work.heavy_chunk, 2 * count)
            found[count] = min(_timed(client, work.heavy_chunk, tasks) for _ in range(rounds))
        say(f"speed-up: {count} workers, {found[count]:.2f} s")
    return found


def killing(tasks: int, say: Say) -> dict[str, float]:
    """So many tasks while one of three workers is killed every second: how many were killed, how many results wrong."""
    with (
        az.cluster.LocalZeroCluster(topology="cpu:tiles=3", environment={"ANYZERO_THREADS": "3"}) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        # The task is not to blame for the death of its worker.
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 1000))
        client.gather(client.map(work.counted, range(20), pure=False))
        ended = threading.Event()
        killed = 0

        def kill() -> None:
            nonlocal killed
            choose = random.Random(1)
            while not ended.wait(1.0):
                known = set(cluster.scheduler.workers)
                alive = [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address in known]
                # A worker takes longer than a second to start, so one is left to work.
                if len(alive) > 1:
                    os.kill(choose.choice(alive), signal.SIGKILL)
                    killed += 1

        thread = threading.Thread(target=kill)
        began = time.perf_counter()
        thread.start()
        try:
            results = []
            for first in range(0, tasks, 1000):
                numbers = range(first, min(first + 1000, tasks))
                results += client.gather(client.map(work.counted, numbers, pure=False))
                say(f"killing: {len(results)} of {tasks} tasks, {killed} workers killed")
        finally:
            ended.set()
            thread.join()
        seconds = time.perf_counter() - began
        wrong = sum(value != n + 1 for n, (value, _) in enumerate(results))
        return {"tasks": len(results), "killed": killed, "wrong": wrong, "seconds": seconds}


def streaming(limit: int, times: int, say: Say) -> dict[str, float]:
    """Values of so many times the memory limit are kept by one worker: the most memory that its process had."""
    size = limit // 16
    count = 16 * times
    with (
        az.cluster.LocalZeroCluster(topology="cpu", memory_limit=limit, device_memory_limit=limit // 8) as cluster,
        Client(cluster) as client,
    ):
        (pid,) = client.run(os.getpid).values()
        process = psutil.Process(pid)
        empty = process.memory_info().rss
        most = empty
        ended = threading.Event()

        def watch() -> None:
            nonlocal most
            while not ended.wait(0.02):
                most = max(most, process.memory_info().rss)

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            began = time.perf_counter()
            values = client.map(work.chunk_of, range(count), nbytes=size, pure=False)
            wait(values)
            sums = client.gather(client.map(lambda x: int(x.sum(dtype=np.uint64).item()), values))
            seconds = time.perf_counter() - began
        finally:
            ended.set()
            thread.join()
        expected = [
            int(np.random.default_rng(seed).integers(0, 255, size, np.uint8).sum(dtype=np.uint64))
            for seed in range(count)
        ]
        say(f"streaming: {count * size >> 20} MiB in {seconds:.0f} s")
        return {
            "limit": limit,
            "streamed": count * size,
            "empty": empty,
            "most": most,
            "wrong": sum(a != b for a, b in zip(sums, expected, strict=True)),
            "seconds": seconds,
        }
