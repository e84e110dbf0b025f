"""Values go from the device to the host and to disk, and memory stays within its limits."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

import anyzero as az
from anyzero.cluster import spilling
from anyzero.cluster.spilling import DeviceHostDisk, SpillError, device_bytes
from tests.cluster import tasks
from tests.patience import PATIENCE

SIZE = 1 << 16


def mapping(folder: Path, **changes: Any) -> DeviceHostDisk:
    limits = {"device_limit": 4 * SIZE, "target": 4 * SIZE, "ceiling": 12 * SIZE, **changes}
    return DeviceHostDisk(str(folder), **limits)


def fill(data: DeviceHostDisk, kept: list[int]) -> None:
    for number in range(100):
        data[number] = value(number)
        kept.append(number)


def value(number: int) -> az.Buffer:
    return az.cluster.context().full(SIZE, number, np.uint8)


def test_ten_times_the_limit_streams_through(tmp_path: Path) -> None:
    data = mapping(tmp_path)
    for number in range(80):
        data[f"k{number}"] = value(number)
        assert data.device_total <= data.device_limit
        assert data.host.fast.total_weight <= 4 * SIZE
    assert len(data) == 80
    assert len(data.device) == 4
    assert len(data.disk) >= 70
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) >= 70 * SIZE // 100
    for number in (0, 40, 79):
        found = data[f"k{number}"]
        assert isinstance(found, az.Buffer)
        assert (found.copy_to() == number).all()
        assert data.device_total <= data.device_limit
    del data["k40"]
    assert "k40" not in data
    assert sorted(data) == sorted(f"k{number}" for number in range(80) if number != 40)


def test_values_with_buffers_inside_return_as_they_were(tmp_path: Path) -> None:
    data = mapping(tmp_path)
    data["a"] = {"x": [value(1), "text"], "n": 5}
    for number in range(12):
        data[number] = value(number)
    assert "a" in data.host
    found = data["a"]
    assert found["n"] == 5
    assert found["x"][1] == "text"
    assert (found["x"][0].copy_to() == 1).all()
    assert device_bytes(found) == SIZE


def test_values_without_buffers_are_dasks(tmp_path: Path) -> None:
    data = mapping(tmp_path)
    data["plain"] = np.ones(100)
    data["large"] = az.cluster.context().zeros(8 * SIZE, np.uint8)  # larger than what the device may hold
    assert not data.device
    assert data["plain"].sum() == 100
    assert data["large"].nbytes == 8 * SIZE
    data["plain"] = 7
    assert data["plain"] == 7
    with pytest.raises(KeyError):
        data["none"]


def test_dasks_monitor_can_evict_everything(tmp_path: Path) -> None:
    data = mapping(tmp_path)
    for number in range(6):
        data[number] = value(number)
    while data.fast:
        assert data.evict() > 0
    assert len(data.disk) == 6
    assert data.evict() == -1
    assert (data[3].copy_to() == 3).all()
    assert data.spilled_total.disk > 0


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = mapping(tmp_path)
    monkeypatch.setattr(type(data.host.slow.data.d), "__setitem__", full)
    kept: list[int] = []
    with pytest.raises(SpillError, match="local-directory"):
        fill(data, kept)
    assert 8 <= len(kept) < 16
    assert data.evict() == -1
    monkeypatch.undo()
    for number in kept:
        assert (data[number].copy_to() == number).all()


def test_dasks_limit_of_the_disk_holds(tmp_path: Path) -> None:
    data = mapping(tmp_path, max_spill=2000)
    with pytest.raises(SpillError):
        fill(data, [])


def test_memory_that_is_the_machines_is_not_copied_within_it(tmp_path: Path) -> None:
    data = mapping(tmp_path, device_limit=None)
    for number in range(12):
        data[number] = value(number)
        assert data.host.fast.total_weight <= 4 * SIZE
    assert not data.device
    assert isinstance(data.host.fast[11], az.Buffer)  # no copy on the host instead
    assert len(data.disk) == 8
    assert (data[3].copy_to() == 3).all()


def test_large_values_keep_the_process_below_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def process_memory() -> int:
        """What an empty process has, and its values."""
        asked.append(len(data.host.fast))
        return 100 + sum(map(len, data.host.fast.values()))

    monkeypatch.setattr(spilling, "process_memory", process_memory)
    monkeypatch.setattr(spilling, "LARGE", SIZE)
    data = mapping(tmp_path, target=1 << 30, process_limit=2 * SIZE + 100)
    data["small"] = np.zeros(10, np.uint8)
    assert not asked
    for number in range(6):
        data[number] = np.full(SIZE, number, np.uint8)
        assert len(data.host.fast) <= 3
    assert (data[0] == 0).all()
    assert list(data.host.fast) == [5, 0]  # what has just come stays
    data.process_limit = 0
    assert (data[1] == 1).all()
    assert list(data.host.fast) == [1]


def test_several_times_the_limit_streams_through_a_worker(tmp_path: Path) -> None:
    # Freed memory that the driver kept, and a process that is larger than its values, paused or ended the worker.
    limit, size = 1 << 28, 1 << 24
    with (
        az.cluster.LocalZeroCluster(
            topology="cpu", memory_limit=limit, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        ((pid, _),) = client.run(tasks.most_memory).values()
        values = client.map(tasks.filled, range(40), nbytes=size, pure=False)
        found = [each.result(PATIENCE) for each in client.map(tasks.ends, values, pure=False)]
        assert found == [(n, n) for n in range(40)]
        ((after, most),) = client.run(tasks.most_memory).values()
    assert after == pid
    assert most < 0.95 * limit
