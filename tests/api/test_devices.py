"""Drivers and devices: what they say, and how one is picked."""

from __future__ import annotations

import time

import pytest

import anyzero as az
from anyzero.config import DeviceSelector
from tests.api.conftest import RunPython
from tests.patience import PATIENCE


def test_a_device_describes_itself() -> None:
    device = az.device()
    assert device.name.startswith("anyzero CPU")
    assert (device.type, device.backend) == ("gpu", "cpu")
    assert device.integrated
    assert device.on_demand_paging
    assert device.status == "ok"
    assert device.compute_units >= 1
    assert device.execution_units >= 16
    assert device.execution_units % device.compute_units == 0
    assert device.memory_total == sum(memory.size for memory in device.memories) >= device.max_allocation > 0
    assert all(cache.size > 0 for cache in device.caches)
    assert device.max_group_size <= max(device.max_group_shape)
    assert min(device.max_group_count) > 1
    assert device.local_memory >= 32 << 10
    assert set(device.sub_group_sizes) <= {1, 2, 4, 8, 16, 32, 64}
    assert device.image_limits.side_2d >= 1024
    assert (device.timer_resolution, device.timestamp_bits) == (1, 64)
    assert device.vendor_id == 0x415A
    assert device.device_id == 1
    assert device.pci_address.startswith("415a:")


def test_a_driver_describes_itself() -> None:
    driver = az.drivers()[0]
    assert driver.api_version == "1.17"
    assert driver.version > 0
    assert driver.uuid.int != 0
    assert driver.extensions
    assert all(name.startswith("ZE_") for name in driver.extensions)
    assert az.device().driver == driver
    assert str(driver.uuid) in repr(driver)


def test_devices_are_values() -> None:
    first, again = az.devices()[0], az.device(0)
    assert first == again
    assert hash(first) == hash(again)
    assert first != "0"
    assert {first: 1}[again] == 1
    assert first.name in repr(first)
    assert first.root is first
    assert not first.is_tile
    assert first.tiles == ()


def test_free_memory_is_live(ctx: az.Context) -> None:
    before = az.device().memory_free
    buffer = ctx.buffer(1 << 20)
    assert az.device().memory_free <= before - (1 << 20)
    buffer.close()
    assert az.device().memory_free == before


def test_queue_groups_are_found_by_kind() -> None:
    device = az.device()
    assert device.queue_group().compute
    assert device.queue_group("copy").kind == "copy"
    assert [group.ordinal for group in device.queue_groups] == list(range(len(device.queue_groups)))
    with pytest.raises(az.InvalidArgument, match="0: compute, 1: copy"):
        device.queue_group("render")  # type: ignore[arg-type]


def test_both_clocks_advance() -> None:
    device = az.device()
    first = device.timestamp()
    time.sleep(0.01)
    second = device.timestamp()
    # The clock of the pause and these two differ by less than a hundredth.
    assert second.host - first.host >= 9_900_000
    assert second.device - first.device >= 9_900_000


def test_synchronize_waits_for_the_whole_device(ctx: az.Context) -> None:
    x = ctx.buffer(8 << 20)
    lst = ctx.immediate()
    done = lst.fill(x, 1)
    ctx.device.synchronize()
    assert done.done


@pytest.mark.parametrize("selector", [0, "0", "cpu", "cpu:0", "gpu", "gpu:0", DeviceSelector(), None])
def test_selectors_that_name_the_first(selector: int | str | DeviceSelector | None) -> None:
    assert az.device(selector) == az.devices()[0]
    assert az.device(az.device(selector)) == az.devices()[0]


@pytest.mark.parametrize("selector", [7, -1, "cpu:1", "0.0", "npu:1", "cuda:0", "what is this", ""])
def test_an_unknown_device_error_lists_those_there_are(selector: int | str) -> None:
    with pytest.raises(az.DeviceNotFound) as caught:
        az.device(selector)
    assert az.device().name in str(caught.value)
    assert "ANYZERO_DEVICE " in str(caught.value)
    assert "0 or cpu:0" in str(caught.value)


def test_the_variable_picks_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_DEVICE", "cpu:0")
    assert az.device() == az.devices()[0]
    monkeypatch.setenv("ANYZERO_DEVICE", "cpu:5")
    with pytest.raises(az.DeviceNotFound, match="which ANYZERO_DEVICE asks for"):
        az.device()
    monkeypatch.setenv("ANYZERO_DEVICE", "!")
    with pytest.raises(az.ConfigError, match="ANYZERO_DEVICE"):
        az.device()


def test_tiles_and_several_devices(run_python: RunPython) -> None:
    source = """
    first, second = az.devices()
    assert len(first.tiles) == 2 and not second.tiles
    tile = az.device("0.1")
    assert tile == first.tiles[1] and tile.is_tile and tile.root == first and tile != first
    assert "tile 1" in repr(tile)
    assert az.device() == first.tiles[0], "ANYZERO_DEVICE"
    assert az.device("cpu:1") == second == az.device(1)
    assert first.can_access(second) and first.peer(second).access
    assert len({first, second, *first.tiles}) == 4 == len({d.uuid for d in (first, second, *first.tiles)})

    both = az.Context(first, second)
    x = both.full(8, 3, np.int32, device=first)
    y = both.zeros(8, np.int32, device=second)
    assert (x.device, y.device) == (first, second)
    with both.immediate(device=second) as lst:
        lst.copy(y, x).wait(timeout=200)
    assert y.copy_to().tolist() == [3] * 8

    with tile.context() as ctx:
        before = first.memory_free
        z = ctx.full(1 << 16, 5, np.uint8)
        assert first.memory_free < before and z.copy_to().all()

    try:
        first.context().buffer(4, device=second)
    except az.InvalidArgument as error:
        assert "not one of this context" in str(error)
    else:
        raise AssertionError
    print("done")
    """
    out = run_python(source, ANYZERO_DEVICES="cpu:tiles=2,cpu", ANYZERO_DEVICE="0.0")
    assert out == "done\n"


def test_devices_that_are_tiles_know_their_root(run_python: RunPython) -> None:
    source = """
    one, other, whole = az.devices()
    assert one.is_tile and one.root == other.root not in az.devices() and one.root.tiles == (one, other)
    assert not one.root.is_tile and not one.tiles and not whole.is_tile and whole.root is whole
    assert "tile 1" in repr(other)
    ctx = az.Context(one.root, one)
    assert ctx.full(8, 3, np.int32, device=one).copy_to().tolist() == [3] * 8
    print("done")
    """
    out = run_python(source, ANYZERO_DEVICES="cpu:tiles=2,cpu", ZE_FLAT_DEVICE_HIERARCHY="COMBINED")
    assert out == "done\n"


def test_a_bad_variable_is_named(run_python: RunPython) -> None:
    source = """
    try:
        az.devices()
    except az.ConfigError as error:
        print(error)
    """
    assert "ANYZERO_THREADS='many'" in run_python(source, ANYZERO_THREADS="many")


def test_importing_the_driver_half_imports_neither_numpy_nor_the_api(run_python: RunPython) -> None:
    import os
    import subprocess
    import sys

    program = (
        "import sys, anyzero, anyzero.driver.devices.boot\n"
        "print([name for name in sys.modules if name == 'numpy' or name.startswith('anyzero.api')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, env=os.environ
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_every_public_name_is_there_for_type_checkers_too() -> None:
    import ast
    import inspect

    import anyzero.api.public
    import anyzero.arrays.public
    import anyzero.checking.public
    import anyzero.language.public
    import anyzero.profiling.public
    import anyzero.tracing.public

    parts = (
        *(anyzero.api, anyzero.arrays, anyzero.checking),
        *(anyzero.language, anyzero.profiling, anyzero.tracing),
    )
    lists = [ast.parse(inspect.getsource(each.public)) for each in parts]
    nodes = [node for each in lists for node in ast.walk(each)]
    # Only a name that is repeated is exported.
    named = {alias.asname for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert named == set(az.__all__) - {"__version__"}
    assert set(az.__all__) <= set(dir(az))
    with pytest.raises(AttributeError, match="nothing"):
        az.nothing  # noqa: B018
