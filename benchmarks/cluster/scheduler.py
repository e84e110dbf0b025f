"""A scheduler with a thousand workers that only answer: the cost of a task in the scheduler alone."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

__all__ = ["simulated"]


METRICS: dict[str, Any] = {
    "bandwidth": {"total": 1e8, "workers": {}, "types": {}},
    "memory": 1 << 28,
    "managed_bytes": 0,
    "spilled_bytes": {"memory": 0, "disk": 0},
    "transfer": {"incoming_bytes": 0, "outgoing_bytes": 0, "incoming_count": 0, "outgoing_count": 0},
    "event_loop_interval": 0.02,
    "digests_total_since_heartbeat": {},
    "task_counts": {},
}
"""What a worker tells of itself while it does nothing."""


async def _worker(scheduler: str, number: int, ready: asyncio.Semaphore, versions: dict[str, Any]) -> None:
    """Registers, and says of every task at once that it is done."""
    from distributed.comm import connect
    from distributed.protocol.pickle import dumps

    kind = dumps(int)
    async with ready:
        comm = await connect(scheduler)
        node, place = divmod(number, 250)
        await comm.write(
            {
                "op": "register-worker",
                "reply": False,
                "address": f"tcp://10.0.{node}.{place + 1}:9000",
                "status": "running",
                "nthreads": 1,
                "name": f"node-{number}",
                "now": time.time(),
                "resources": {"device": 1},
                "memory_limit": 1 << 30,
                "local_directory": "",
                "services": {},
                "nanny": None,
                "pid": 0,
                "versions": versions,
                "metrics": METRICS,
                "extra": {},
                "stimulus_id": f"register-{number}",
                "server_id": f"node-{number}",
            },
            serializers=["msgpack"],
        )
        await comm.read()
    while True:
        answers: list[dict[str, Any]] = []
        for message in await comm.read(deserializers=["msgpack", "pickle"]):
            if message.get("op") == "compute-task":
                answers.append(
                    {
                        "op": "task-finished",
                        "status": "OK",
                        "key": message["key"],
                        "run_id": message["run_id"],
                        "stimulus_id": message["stimulus_id"],
                        "nbytes": 28,
                        "type": kind,
                        "typename": "int",
                        "metadata": {},
                        "thread": 1,
                        "startstops": [],
                    }
                )
        if answers:
            await comm.write(answers)


def _workers(scheduler: str, count: int) -> None:
    from distributed.versions import get_versions

    versions = get_versions()

    async def run() -> None:
        ready = asyncio.Semaphore(20)
        await asyncio.gather(*(_worker(scheduler, number, ready, versions) for number in range(count)))

    asyncio.run(run())


def simulated(nodes: int, tasks: int, say: Callable[[str], None]) -> dict[str, float]:
    """Independent tasks and a tree that combines them, on so many nodes: seconds of the scheduler for each task."""
    from distributed import Client, wait

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scheduler.json")
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        command += ["--no-dashboard", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as scheduler:
            workers = None
            try:
                while not file.exists() or not file.read_text():
                    time.sleep(0.1)
                    if scheduler.poll() is not None:
                        raise RuntimeError("the scheduler did not start")
                address = json.loads(file.read_text())["address"]
                workers = multiprocessing.get_context("spawn").Process(target=_workers, args=(address, nodes))
                workers.start()
                with Client(address) as client:
                    client.wait_for_workers(nodes, timeout=300)
                    say(f"scheduler: {nodes} nodes are there")
                    process = psutil.Process(scheduler.pid)
                    before, began = sum(process.cpu_times()[:2]), time.perf_counter()
                    level = client.map(lambda n: n, range(tasks), pure=False)
                    count = tasks
                    while len(level) > 1:
                        level = client.map(lambda *parts: 0, *_columns(level, 8), pure=False)
                        count += len(level)
                    wait(level)
                    wall, used = time.perf_counter() - began, sum(process.cpu_times()[:2]) - before
                    memory = process.memory_info().rss
                    say(f"scheduler: {count} tasks in {wall:.1f} s")
                    del level
            finally:
                if workers is not None:
                    workers.kill()
                    workers.join()
                scheduler.terminate()
    return {"nodes": nodes, "tasks": count, "cpu": used / count, "wall": wall / count, "memory": memory}


def _columns(level: list[Any], width: int) -> list[list[Any]]:
    """Groups of so many, for `Client.map`, which takes a list for each argument."""
    whole = level + [level[-1]] * (-len(level) % width)
    return [whole[at::width] for at in range(width)]
