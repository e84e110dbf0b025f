"""The grammar of ANYZERO_DEVICES and its refusals."""

from __future__ import annotations

import pytest

from anyzero.config import Config, ConfigError
from anyzero.driver.devices import topology
from anyzero.driver.devices.topology import DeviceShape


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("cpu", [DeviceShape("cpu")]),
        (" cpu ", [DeviceShape("cpu")]),
        ("cpu,cpu", [DeviceShape("cpu"), DeviceShape("cpu")]),
        ("cpu:tiles=2", [DeviceShape("cpu", tiles=2)]),
        ("cpu:tiles=2,cpu:tiles=2", [DeviceShape("cpu", tiles=2)] * 2),
        ("cpu:tiles=2,memory=4G,cpu", [DeviceShape("cpu", tiles=2, memory=4 << 30), DeviceShape("cpu")]),
        ("cpu,cpu:paging=off", [DeviceShape("cpu"), DeviceShape("cpu", paging=False)]),
        ("cpu:paging=on", [DeviceShape("cpu")]),
        ("cpu: queues = 4 , copy=2 , threads=3", [DeviceShape("cpu", queues=4, copy=2, threads=3)]),
        ("cpu:copy=0", [DeviceShape("cpu", copy=0)]),
        ("npu", [DeviceShape("npu")]),
        (
            "npu:threads=4,memory=2G,copy=0,cpu",
            [DeviceShape("npu", threads=4, memory=2 << 30, copy=0), DeviceShape("cpu")],
        ),
        # An option after a plain device belongs to it: nothing else it could mean.
        ("cpu,tiles=2", [DeviceShape("cpu", tiles=2)]),
    ],
)
def test_devices_and_options_are_told_apart(text: str, shapes: list[DeviceShape]) -> None:
    assert list(topology.parse(text)) == shapes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a device has no name"),
        (",", "a device has no name"),
        ("cpu,", "a device has no name"),
        ("cpu,,cpu", "a device has no name"),
        (":tiles=2", "a device has no name"),
        ("gpu", "'gpu' is not a device; known devices are cpu, cuda, npu"),
        ("cpu tiles", "known devices are cpu, cuda, npu"),
        ("CPU", "known devices are cpu, cuda, npu"),
        ("cuda", "'cuda' (an NVIDIA GPU) is not available in this version; available: cpu, npu"),
        ("npu,npu", "there can be no more than 1 npu"),
        ("npu:tiles=2", "'tiles=2' is not an option of npu; known options are memory, copy, threads"),
        ("cpu,npu:queues=2", "'queues=2' is not an option of npu"),
        ("tiles=2", "comes before any device"),
        ("tiles=2,cpu", "comes before any device"),
        ("cpu:", "'' is not an option"),
        ("cpu:2", "known options are tiles, memory, paging, queues, copy, threads"),
        ("cpu:tile=2", "'tile=2' is not an option of cpu; known options are tiles"),
        ("cpu:cpu:tiles=2", "is not an option"),
        ("cpu:tiles=2,tiles=3", "'tiles' is given twice"),
        ("cpu:tiles=0", "a whole number from 1 to 32, not '0'"),
        ("cpu:tiles=two", "a whole number"),
        ("cpu:tiles=", "not ''"),
        ("cpu:tiles=33", "from 1 to 32"),
        ("cpu:queues=0", "from 1 to 64"),
        ("cpu:copy=65", "from 0 to 64"),
        ("cpu:threads=0", "from 1 to 1024"),
        ("cpu:memory=lots", "takes a size such as 4G"),
        ("cpu:memory=4K", "at least 64K"),
        ("cpu:paging=yes", "takes on or off, not 'yes'"),
        (",".join(["cpu"] * 65), "65 devices and tiles are more than 64"),
        ("cpu:tiles=32,cpu:tiles=32", "66 devices and tiles are more than 64"),
    ],
)
def test_a_refusal_names_the_variable_and_what_is_known(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        topology.parse(text)
    message = str(caught.value)
    assert message.startswith(f"ANYZERO_DEVICES={text!r}: ")
    assert said in message
    assert "Accepted: backend[:option=value" in message


def test_open_choices_are_settled_from_variables_then_from_the_machine() -> None:
    plain = DeviceShape("cpu")
    assert topology.settle(plain, Config(threads=3), machine_memory=8 << 30) == DeviceShape(
        "cpu", memory=8 << 30, threads=3
    )
    assert topology.settle(plain, Config(memory=1 << 30), machine_memory=8 << 30).memory == 1 << 30
    chosen = DeviceShape("cpu", memory=2 << 30, threads=5)
    assert topology.settle(chosen, Config(memory=1 << 30, threads=3), machine_memory=8 << 30) == chosen


def test_tiles_too_small_to_hold_anything_are_refused() -> None:
    with pytest.raises(ConfigError, match="less than 64K a tile"):
        topology.settle(DeviceShape("cpu", tiles=4), Config(memory=128 << 10), machine_memory=8 << 30)


def test_every_option_is_a_field_of_the_shape() -> None:
    assert {option.name for option in topology.OPTIONS} == set(DeviceShape.__slots__) - {"backend"}
