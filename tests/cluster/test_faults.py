"""What goes wrong: results are right, or an error says what happened."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from distributed import KilledWorker

import anyzero as az
from tests.cluster import tasks
from tests.patience import PATIENCE


def test_a_fault_of_a_kernel_is_its_tasks_error(client: Any, workers: list[str]) -> None:
    x = client.submit(tasks.counted, 100, workers=workers[0], pure=False)
    failed = client.submit(tasks.faulting, workers=workers[0], pure=False)
    with pytest.raises(az.DeviceLost, match="kernel outside"):
        failed.result(PATIENCE)
    # What the worker held, and what comes after, is not affected.
    y = client.submit(tasks.launched, tasks.scale, x, 1.0, workers=workers[0], pure=False)
    assert client.submit(tasks.total, y, workers=workers[0], pure=False).result(PATIENCE) == 9900.0


def test_a_killed_worker_changes_no_result(client: Any, workers: list[str], tmp_path: Path) -> None:
    x = az.cluster.to_device(da.arange(40_000, chunks=2_000, dtype=np.float32)).persist()
    marker = str(tmp_path / "killed")
    values = client.map(lambda n: tasks.die_once(marker, n), range(20), pure=False)
    total = az.cluster.map(tasks.scale, x, 1.0).sum()
    assert sum(client.gather(values)) == 190
    assert (tmp_path / "killed").exists()
    assert total.compute().item() == pytest.approx(2 * np.arange(40_000, dtype=np.float64).sum(), rel=1e-5)
    client.wait_for_workers(2, timeout=PATIENCE)


def test_a_cut_launch_survives_a_killed_worker(
    client: Any, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from anyzero.cluster import launch

    pids = client.run(os.getpid)
    plain = client.scatter

    def scatter(values: Any, **options: Any) -> Any:
        """The first worker dies with the part that it was just given."""
        held = plain(values, **options)
        if pids:
            os.kill(pids.pop(workers[0]), signal.SIGKILL)
            pids.clear()
        return held

    monkeypatch.setattr(client, "scatter", scatter)
    out = np.zeros(1000, np.int32)
    az.cluster.run(tasks.numbered, 1000, [out, az.cluster.START, np.array([1], np.int32)], client=client)
    np.testing.assert_array_equal(out, np.arange(1000) + 1)
    assert launch._ATTEMPTS > 1
    client.wait_for_workers(2, timeout=PATIENCE)


def without_disk(dask_worker: Any) -> tuple[Any, ...]:
    """Leave a worker little memory for its values, and no space for files; what there was before."""
    data = dask_worker.data
    before = data.host.fast.n, data.ceiling, resource.getrlimit(resource.RLIMIT_FSIZE)
    data.host.fast.n, data.ceiling = 2 << 20, 8 << 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[2][1]))
    return before


def with_disk(before: tuple[Any, ...], dask_worker: Any) -> None:
    data = dask_worker.data
    data.host.fast.n, data.ceiling = before[:2]
    resource.setrlimit(resource.RLIMIT_FSIZE, before[2])


def test_a_full_disk_fails_tasks_and_not_the_worker(client: Any, workers: list[str]) -> None:
    there = {"workers": [workers[0]], "pure": False}
    pid = client.submit(os.getpid, **there).result(PATIENCE)
    before = client.run(without_disk, workers=[workers[0]])[workers[0]]
    try:
        values = client.map(tasks.filled, range(20), nbytes=1 << 20, **there)
        distributed.wait(values, PATIENCE)
    finally:
        client.run(with_disk, before, workers=[workers[0]])
    errors = [each.exception() for each in values if each.status == "error"]
    assert errors
    assert all(isinstance(each, az.cluster.SpillError) and "--local-directory" in str(each) for each in errors)
    kept = [(n, each) for n, each in enumerate(values) if each.status == "finished"]
    assert kept
    ends = client.map(tasks.ends, [each for _, each in kept], **there)
    assert client.gather(ends) == [(n, n) for n, _ in kept]
    # Those that failed can be computed again.
    client.retry([each for each in values if each.status == "error"])
    assert client.gather(client.map(tasks.ends, values, **there)) == [(n, n) for n in range(20)]
    assert client.submit(os.getpid, **there).result(PATIENCE) == pid


def test_a_task_that_kills_its_workers_is_an_error(client: Any, workers: list[str]) -> None:
    def allow(failures: int, dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = failures

    client.run_on_scheduler(allow, 0)  # one instead of four dead workers
    # However slow the machine is, a worker that starts anew is not given up.
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": "0s"})
    try:
        with pytest.raises(KilledWorker):
            client.submit(lambda: os.kill(os.getpid(), signal.SIGKILL), pure=False).result(PATIENCE)
    finally:
        client.run_on_scheduler(allow, 3)
    with patience:
        client.wait_for_workers(2, timeout=PATIENCE)
    assert len(client.cluster.workers) == 2


def test_a_lost_device_restarts_its_worker() -> None:
    from types import SimpleNamespace

    from anyzero.cluster import worker_setup

    closed: list[dict[str, Any]] = []

    async def close_gracefully(**options: Any) -> None:
        closed.append(options)

    async def fail(status: str) -> None:
        plugin = worker_setup.WorkerSetup()
        plugin._worker = SimpleNamespace(close_gracefully=close_gracefully)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(az, "device", lambda: SimpleNamespace(status=status))
            plugin.transition("key", "executing", "memory")
            plugin.transition("key", "executing", "error")
            plugin.transition("other", "executing", "error")
        if plugin._closing is not None:
            await plugin._closing

    import asyncio

    asyncio.run(fail("ok"))
    assert closed == []
    asyncio.run(fail("lost"))
    assert closed == [{"restart": True}]
