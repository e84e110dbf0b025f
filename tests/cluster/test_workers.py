"""Workers: one for each device, on its processors, with its resources."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.cluster.placement import Seat, nanny_options, seats
from anyzero.cluster.worker import _plan, main
from anyzero.cluster.worker_options import add_options
from anyzero.tools.cli import _parser


def test_every_device_has_a_worker_on_its_processors(client: Any, workers: list[str]) -> None:
    found = az.cluster.devices(client)
    assert sorted(device.worker for device in found) == workers
    assert {device.backend for device in found} == {"cpu"}
    assert len({device.uuid for device in found}) == 2
    everything = set(os.sched_getaffinity(0))
    assert all(set(device.processors) <= everything for device in found)
    if len(everything) > 1:
        assert not set(found[0].processors) & set(found[1].processors)
    assert sum(device.threads for device in found) == max(2, len(everything))
    inside = client.run(lambda: sorted(os.sched_getaffinity(0)))
    assert {device.worker: list(device.processors) for device in found} == inside


def test_tasks_are_placed_by_resources(client: Any, workers: list[str]) -> None:
    told = client.scheduler_info()["workers"]
    for address in workers:
        resources = told[address]["resources"]
        assert resources["device"] == resources["cpu"] == 1
        assert resources["device-memory"] > 0
        assert told[address]["memory_limit"] == 1 << 30
    assert client.submit(lambda: 5, resources={"cpu": 1}, pure=False).result() == 5


def test_a_worker_uses_the_device_of_its_seat(client: Any, workers: list[str]) -> None:
    found = client.run(lambda: (str(az.device().uuid), str(az.cluster.context().device.uuid)))
    assert all(device == of_context for device, of_context in found.values())
    assert len({device for device, _ in found.values()}) == 2


def pool_threads() -> int:
    x = az.cluster.context().full(1 << 24, 1.0, np.float32)
    assert (x + x).sum().item() == 2 << 24
    return sum(path.read_text() == "az-worker\n" for path in Path("/proc/self/task").glob("*/comm"))


def test_a_worker_starts_the_threads_of_its_tile(client: Any) -> None:
    expected = {device.worker: device.threads - 1 for device in az.cluster.devices(client)}
    assert client.run(pool_threads) == expected


def seat(selector: str = "0", **changes: Any) -> Seat:
    values = {"name": "CPU", "backend": "cpu", "memory": 1 << 30, "threads": 2, "processors": (0,), **changes}
    return Seat(selector=selector, **values)


def test_limits_follow_the_device() -> None:
    options = nanny_options(seat(memory=1 << 28), 2)
    assert options["memory_limit"] == 1 << 28
    spilling = options["data"][1]
    assert spilling["device_limit"] is None  # the CPU has no memory of its own
    assert 0 < spilling["target"] == spilling["process_limit"] < spilling["ceiling"] < 1 << 28
    assert options["env"]["ANYZERO_DEVICE"] == "0"
    assert int(options["env"]["ANYZERO_KEPT_MEMORY"]) == 1 << 23
    chosen = nanny_options(seat(), 1, environment={"ANYZERO_THREADS": "1", "ANYZERO_KEPT_MEMORY": "0"})["env"]
    assert (chosen["ANYZERO_THREADS"], chosen["ANYZERO_KEPT_MEMORY"]) == ("1", "0")
    gpu = nanny_options(seat(backend="gpu", memory=1 << 28), 2, memory_limit="1GiB")["data"][1]
    assert gpu["target"] > gpu["device_limit"] == int(0.8 * (1 << 28))
    given = nanny_options(seat(), 1, memory_limit="100MB", device_memory_limit="10MB", resources={"licence": 2})
    assert given["memory_limit"] == 100_000_000
    assert given["data"][1]["target"] == 10_000_000
    assert given["resources"] == {"device": 1, "cpu": 1, "device-memory": 1 << 30, "licence": 2}


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(az.DeviceNotFound, match=r"'0\.7'"):
        seats({"ANYZERO_DEVICES": "cpu:tiles=2"}, ["0.0", "0.7"])
    with pytest.raises(az.DeviceNotFound, match="tile"):
        seats({"ANYZERO_DEVICES": "cpu:tile=2"})


# As dask-jobqueue and dask-kubernetes write them.
COMMANDS = (
    "tcp://10.0.0.1:8786 --name SLURMCluster-0 --nthreads 4 --memory-limit 29.80GiB --nanny --death-timeout 60"
    " --local-directory /tmp/scratch --interface ib0 --protocol tcp",
    "tls://10.0.0.1:8786 --name pbs-0 --nthreads 1 --nworkers 2 --memory-limit 4GiB --nanny --death-timeout 60"
    " --tls-ca-file ca.pem --tls-key key.pem --tls-cert cert.pem",
    "--name pod-1 --dashboard --dashboard-address 8788 --resources GPU=2",
)


@pytest.mark.parametrize("text", COMMANDS)
def test_job_systems_start_workers_with_their_own_options(text: str) -> None:
    chosen = _parser().parse_args(["worker", *text.split()])
    assert chosen.nanny
    assert chosen.name in text


def test_options_reach_the_workers(tmp_path: Any) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_options(parser)
    text = "tcp://127.0.0.1:1 --devices cpu:tiles=2 --name box --nthreads 3 --resources GPU=2,X=1 --memory-limit 1GiB"
    first, second = _plan(parser.parse_args(text.split()))
    assert (first["name"], second["name"]) == ("box-0", "box-1")
    assert second["env"]["ANYZERO_DEVICE"] == "0.1"
    assert second["env"]["ANYZERO_DEVICES"] == "cpu:tiles=2"
    assert second["nthreads"] == 3
    assert second["resources"]["GPU"] == 2
    assert second["scheduler_ip"] == "tcp://127.0.0.1:1"


def test_a_worker_needs_a_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert "dask scheduler" in capsys.readouterr().err
