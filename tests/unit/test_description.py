"""The description given to the engine: its encoding, read back by a reader of its own, and what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anyzero import ze
from anyzero.config import Config, ConfigError, DeviceSelector
from anyzero.driver import __main__ as command
from anyzero.driver.devices import boot, compute_driver, description, machine, profiles
from anyzero.driver.devices.machine import Cache, Machine
from anyzero.installed import OpenVINO
from tests.unit.described import HOST, ReadDevice, Reader, read

ROOT = Path(__file__).resolve().parents[2]


def everything(described: description.Description) -> Iterator[description.Blob]:
    for driver in described.drivers:
        yield from driver.blobs
        for device in driver.devices:
            yield from device.blobs
            for tile in device.tiles:
                yield from tile.blobs


def test_the_description_of_this_machine_can_be_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_DEVICES", "cpu:tiles=2,cpu")
    seen = Reader(boot.describe())
    assert [len(device.tiles) for device in seen.devices] == [2, 0]
    assert {device.backend for device in seen.devices} == {"cpu"}
    assert seen.kind == 1


def test_settings_carry_the_variables_that_tune_execution() -> None:
    seen = read(threads=3, spin_us=50, inline_bytes=4096, kept_memory=1 << 20, log="off", kernel_timeout=2.5)
    assert seen.settings == {
        "threads": 3,
        "spin_ns": 50_000,
        "inline_bytes": 4096,
        "kept_bytes": 1 << 20,
        "log_level": 0,
        "slow_wait_ms": 5000,
        "kernel_timeout_ms": 2500,
        "strict": 0,
    }
    assert read().settings["kernel_timeout_ms"] == 0
    assert read(kernel_timeout=0.0001).settings["kernel_timeout_ms"] == 1


def test_the_pool_is_as_large_as_the_largest_device() -> None:
    assert read(devices="cpu:threads=2,cpu:threads=5", threads=8).settings["threads"] == 5
    assert read(devices="cpu:threads=2,cpu", threads=8).settings["threads"] == 8


@pytest.mark.parametrize(
    ("named", "threads"),
    [
        ("0", 8),
        ("0.0", 3),
        ("0.2", 2),
        ("1.1", 1),
        ("cpu:1.0", 1),
        ("gpu:0.1", 3),
        ("0.3", 8),
        ("2.0", 8),
        ("npu:0.0", 8),
    ],
)
def test_a_process_for_one_tile_has_the_threads_of_that_tile(named: str, threads: int) -> None:
    seen = read(devices="cpu:tiles=3,cpu:tiles=2,threads=1", device=DeviceSelector.parse(named))
    assert seen.settings["threads"] == threads


def test_no_structure_has_a_field_that_the_specification_lacks() -> None:
    # ctypes takes any keyword as an attribute, so a misspelt field would be lost in silence.
    blobs = list(everything(boot.compose(Config(devices="cpu:tiles=2"), HOST)))
    assert len(blobs) > 20
    for blob in blobs:
        assert blob.structures
        for structure in blob.structures:
            assert not vars(structure), type(structure).__name__
            assert structure.stype == blob.stype
            assert not structure.pNext


def test_extensions_say_what_they_extend() -> None:
    """The engine fills a structure in a chain only where it belongs, and looks at no chain that nothing belongs to."""
    seen = read(openvino=OpenVINO("2026.4.1", "/lib", "/lib/libopenvino_c.so"), devices="cpu,npu")
    for driver in seen.drivers:
        for blobs in (driver.blobs, *(device.blobs for device in driver.devices)):
            for stype, blob in blobs.items():
                named = ze.ze_structure_type_t(stype).name
                chained = "_EXT" in named.replace("EXTERNAL", "") or "_EXP" in named or "EVENT_PROPERTIES" in named
                query = stype in (
                    ze.ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES,
                    ze.ZE_STRUCTURE_TYPE_DEVICE_VECTOR_WIDTH_PROPERTIES_EXT,
                )
                assert (blob.extends != 0) == (chained and not query), named
                assert not blob.extends or blobs[blob.extends].extends == 0
    compute = seen.drivers[0].devices[0].blobs
    assert ze.ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES not in {blob.extends for blob in compute.values()}


def test_devices_and_tiles_answer_the_same_queries() -> None:
    (device,) = read(devices="cpu:tiles=2").devices
    assert set(device.blobs) == set(device.tiles[0].blobs) == set(device.tiles[1].blobs)


def test_a_blob_refuses_mixed_and_missing_structures() -> None:
    with pytest.raises(ValueError, match="at least one"):
        description.Blob.of()
    with pytest.raises(ValueError, match="all of one structure type"):
        description.Blob.of(ze.ze_eu_count_ext_t(), ze.ze_device_ip_version_ext_t())


def test_names_too_long_for_their_field_are_refused() -> None:
    with pytest.raises(ValueError, match="longer than 23"):
        description.encode(description.Description({"x" * 24: 1}, ()))
    with pytest.raises(ValueError, match="longer than 23"):
        description.encode(description.Description({}, (), {"x" * 24: "text"}))


@pytest.mark.parametrize("text", ["", "seven..", "eight...", "a path/ü", os.fsdecode(b"no UTF-8: \xff")])
def test_texts_arrive_as_the_bytes_that_a_file_system_takes(text: str) -> None:
    written = description.encode(replace(boot.compose(Config(), HOST), texts={"place": text, "next": "one"}))
    seen = Reader(written)
    assert seen.texts == {"place": os.fsencode(text), "next": b"one"}


def test_the_driver_says_who_it_is_and_what_it_shares() -> None:
    seen = read()
    (driver,) = seen.driver_blobs[ze.ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES].structures(ze.ze_driver_properties_t)
    assert bytes(driver.uuid.id) == compute_driver.UUID
    (ipc,) = seen.driver_blobs[ze.ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES].structures(ze.ze_driver_ipc_properties_t)
    assert ipc.flags == ze.ZE_IPC_PROPERTY_FLAG_MEMORY | ze.ZE_IPC_PROPERTY_FLAG_EVENT_POOL
    assert ze.ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES in seen.driver_blobs
    assert ze.ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES in seen.driver_blobs


def test_the_driver_version_is_the_package_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert profiles.find("default").driver_version == profiles.pack_version(*map(int, version.split(".")))


def test_extensions_are_listed_once_each_with_a_version() -> None:
    listed = {Reader.string(name): version for name, version in read().extensions}
    assert len(listed) == len(read().extensions)
    assert all(name.startswith(("ZE_extension_", "ZE_experimental_")) for name in listed)
    assert all(version >= 0x10000 for version in listed.values())
    assert listed[ze.ZE_MEMORY_FREE_POLICIES_EXT_NAME] == ze.ZE_MEMORY_FREE_POLICIES_EXT_VERSION_CURRENT
    assert ze.ZE_RAYTRACING_EXT_NAME not in listed


def test_a_device_is_a_gpu_with_the_processor_in_its_name() -> None:
    (device,) = read().devices
    seen = device.properties
    assert seen.type == ze.ZE_DEVICE_TYPE_GPU
    assert seen.name == b"anyzero CPU (Test Processor 9)"
    assert seen.vendorId == profiles.VENDOR_ANYZERO
    assert seen.coreClockRate == 2500
    assert seen.physicalEUSimdWidth == 8
    assert seen.maxMemAllocSize == HOST.memory
    assert seen.timestampValidBits == seen.kernelTimestampValidBits == 64
    assert seen.numSlices * seen.numSubslicesPerSlice * seen.numEUsPerSubslice * seen.numThreadsPerEU == 16
    assert device.get(ze.ZE_STRUCTURE_TYPE_EU_COUNT_EXT, ze.ze_eu_count_ext_t).numTotalEUs == 16
    assert seen.numSlices * seen.numSubslicesPerSlice == 8


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 15, 16, 17, 64])
def test_a_device_has_the_eus_and_the_ip_version_that_libraries_ask_for(threads: int) -> None:
    """oneMKL raises for an IP version that it does not know and divides by a sixteenth of the EUs."""
    (device,) = read(threads=threads).devices
    seen = device.properties
    assert seen.numSlices * seen.numSubslicesPerSlice == threads
    eus = seen.numSlices * seen.numSubslicesPerSlice * seen.numEUsPerSubslice
    assert max(16, threads) <= eus < max(16, threads) + threads
    assert device.get(ze.ZE_STRUCTURE_TYPE_EU_COUNT_EXT, ze.ze_eu_count_ext_t).numTotalEUs == eus
    ip = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT, ze.ze_device_ip_version_ext_t)
    assert ip.ipVersion == 0x03000000


def test_the_plain_profile_shows_the_processor_and_nothing_else() -> None:
    (device,) = read(threads=2, profile="plain").devices
    assert device.properties.numEUsPerSubslice == 1
    ip = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT, ze.ze_device_ip_version_ext_t)
    assert ip.ipVersion == 0


def test_the_timer_is_in_nanoseconds_and_in_hertz() -> None:
    (device,) = read().devices
    newer = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2, ze.ze_device_properties_t)
    assert device.properties.timerResolution == 1
    assert newer.timerResolution == 1_000_000_000
    assert bytes(newer.uuid.id) == bytes(device.properties.uuid.id)


def test_long_names_keep_their_terminator() -> None:
    (device,) = read(replace(HOST, model="x" * 400)).devices
    assert len(device.properties.name) == 255


def test_tiles_split_threads_and_memory() -> None:
    (device,) = read(devices="cpu:tiles=3,memory=3M,threads=8").devices
    assert [tile.properties.numSubslicesPerSlice for tile in device.tiles] == [3, 3, 2]
    for number, tile in enumerate(device.tiles):
        memory = tile.get(ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, ze.ze_device_memory_properties_t)
        assert memory.totalSize == 1 << 20
        assert tile.properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
        assert tile.properties.subdeviceId == number
    assert not device.properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
    whole = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, ze.ze_device_memory_properties_t)
    assert whole.totalSize == 3 << 20


def test_more_tiles_than_threads_leave_each_tile_one() -> None:
    (device,) = read(devices="cpu:tiles=4", threads=2).devices
    assert [tile.properties.numSubslicesPerSlice for tile in device.tiles] == [1, 1, 1, 1]


def test_one_tile_is_no_sub_device() -> None:
    assert read(devices="cpu:tiles=1").devices[0].tiles == []


def test_memory_is_whole_pages() -> None:
    (device,) = read(memory=(1 << 30) + 1).devices
    memory = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES, ze.ze_device_memory_properties_t)
    assert memory.totalSize == 1 << 30


def test_uuids_are_stable_distinct_and_related() -> None:
    def uuids(host: Machine = HOST) -> list[bytes]:
        return [
            bytes(each.properties.uuid.id)
            for device in read(host, devices="cpu:tiles=2,cpu:tiles=2").devices
            for each in [device, *device.tiles]
        ]

    seen = uuids()
    assert seen == uuids()
    assert len(set(seen)) == 6
    assert seen[0][:15] == seen[1][:15] == seen[2][:15] != seen[3][:15]
    assert not set(seen) & set(uuids(replace(HOST, identity="another")))
    assert all(HOST.identity.encode() not in uuid for uuid in seen)


def test_devices_have_addresses_of_their_own_and_tiles_their_device_s() -> None:
    def bus(device: ReadDevice) -> int:
        pci = device.get(ze.ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES, ze.ze_pci_ext_properties_t)
        assert pci.maxSpeed.maxBandwidth == -1
        return int(pci.address.bus)

    first, second = read(devices="cpu,cpu:tiles=2").devices
    assert (bus(first), bus(second)) == (0, 1)
    assert {bus(tile) for tile in second.tiles} == {1}


def test_a_device_without_paging_reaches_no_system_memory() -> None:
    def access(device: ReadDevice) -> Any:
        stype = ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES
        return device.get(stype, ze.ze_device_memory_access_properties_t)

    paging, fixed = read(devices="cpu,cpu:paging=off").devices
    assert paging.properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING
    assert access(paging).sharedSystemAllocCapabilities == 0xF
    assert not fixed.properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING
    assert access(fixed).sharedSystemAllocCapabilities == 0
    assert access(fixed).deviceAllocCapabilities == 0xF


@pytest.mark.parametrize(
    ("devices", "groups"),
    [("cpu", [(7, 1), (2, 1)]), ("cpu:queues=4,copy=2", [(7, 4), (2, 2)]), ("cpu:copy=0", [(7, 1)])],
)
def test_queue_groups_are_compute_first_then_copies(devices: str, groups: list[tuple[int, int]]) -> None:
    (device,) = read(devices=devices).devices
    stype = ze.ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES
    seen = device.all(stype, ze.ze_command_queue_group_properties_t)
    assert [(group.flags, group.numQueues) for group in seen] == groups
    assert [group.maxMemoryFillPatternSize for group in seen] == [1 << 16, 128][: len(groups)]
    assert device.blobs[ze.ZE_STRUCTURE_TYPE_COPY_BANDWIDTH_EXP_PROPERTIES].count == len(groups)


def test_caches_are_the_machine_s() -> None:
    (device,) = read().devices
    caches = device.all(ze.ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, ze.ze_device_cache_properties_t)
    assert [cache.cacheSize for cache in caches] == [32 << 10, 1 << 20, 32 << 20]
    lines = device.all(ze.ZE_STRUCTURE_TYPE_DEVICE_CACHELINE_SIZE_EXT, ze.ze_device_cache_line_size_ext_t)
    assert [line.cacheLineSize for line in lines] == [64, 64, 64]


def test_kernels_find_the_limits_that_clients_count_on() -> None:
    (device,) = read().devices
    compute = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES, ze.ze_device_compute_properties_t)
    assert compute.maxTotalGroupSize == 1024
    assert compute.maxSharedLocalMemory == 64 << 10
    assert list(compute.subGroupSizes)[: compute.numSubGroupSizes] == [8, 16, 32]
    module = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, ze.ze_device_module_properties_t)
    assert module.spirvVersionSupported == 0x10006
    assert module.flags == 7
    widths = device.get(
        ze.ZE_STRUCTURE_TYPE_DEVICE_VECTOR_WIDTH_PROPERTIES_EXT, ze.ze_device_vector_width_properties_ext_t
    )
    assert (widths.native_vector_width_float, widths.native_vector_width_char) == (8, 32)


def test_a_profile_changes_the_identity_and_nothing_else() -> None:
    plain, dressed = read(), read(profile="intel-gpu")
    (device,) = dressed.devices
    assert device.properties.vendorId == 0x8086
    assert b"Test Processor 9" in device.properties.name
    ip = device.get(ze.ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT, ze.ze_device_ip_version_ext_t)
    assert ip.ipVersion == 0x03000000
    assert bytes(device.properties.uuid.id) == bytes(plain.devices[0].properties.uuid.id)
    changed = {stype for stype, blob in device.blobs.items() if blob != plain.devices[0].blobs[stype]}
    assert changed == {
        ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2,
        # Its compatibility id names the driver's version.
        ze.ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
    }


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"ANYZERO_PROFILE='arc'.*default, plain, intel-gpu"):
        read(profile="arc")


def test_a_machine_that_tells_nothing_still_has_usable_facts(tmp_path: Path) -> None:
    bare = machine.read(tmp_path)
    assert bare.model == os.uname().machine
    assert bare.clock_mhz == machine.FALLBACK_CLOCK_MHZ
    assert bare.caches == machine.FALLBACK_CACHES
    assert (bare.cache_line, bare.vector_bits, bare.memory) == (64, 128, 1 << 30)
    assert bare.identity
    assert read(bare).devices


def test_facts_come_from_the_files_of_the_machine(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast(R)  CPU @ 3GHz\ncpu MHz\t\t: 2999.9\n"
        "flags\t\t: fma avx2\n\nprocessor\t: 1\nmodel name\t: Other\n",
        "proc/meminfo": "MemTotal:        4194304 kB\nMemFree: 1 kB\n",
        "sys/fs/cgroup/memory.max": "1073741824\n",
        "etc/machine-id": "feed\n",
        "sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
        "sys/devices/system/cpu/cpu0/cache/index0/type": "Data\n",
        "sys/devices/system/cpu/cpu0/cache/index0/size": "48K\n",
        "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size": "128\n",
        "sys/devices/system/cpu/cpu0/cache/index1/level": "1\n",
        "sys/devices/system/cpu/cpu0/cache/index1/type": "Instruction\n",
        "sys/devices/system/cpu/cpu0/cache/index1/size": "32K\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert machine.read(tmp_path) == Machine(
        model="Fast CPU @ 3GHz",
        clock_mhz=2999,
        vector_bits=256,
        fused_multiply_add=True,
        native_half=False,
        caches=(Cache(1, 48 << 10),),
        cache_line=128,
        memory=1 << 30,
        identity="feed",
    )
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    assert machine.read(tmp_path).memory == 4 << 30


def test_start_up_needs_neither_numpy_nor_llvmlite() -> None:
    program = (
        "import sys, anyzero.driver.devices.boot as boot; boot.describe();"
        "heavy = {'numpy', 'llvmlite'} & set(sys.modules); sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_the_command_shows_the_description(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_DEVICES", "cpu:tiles=2")
    assert command.main(["--show"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "threads = ",
        "GPU driver",
        "device 0 (cpu)",
        "tile 1 (cpu)",
        "ZE_extension_image_copy 1.0",
        "totalSize",
    ):
        assert part in shown


def test_the_command_writes_the_bytes_that_the_engine_would_be_given() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "ANYZERO_DEVICES": "cpu:tiles=2"}
    written = subprocess.run([sys.executable, "-m", "anyzero.driver"], check=True, env=environment, capture_output=True)
    assert len(Reader(written.stdout).devices[0].tiles) == 2


def test_the_command_reports_a_bad_variable_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYZERO_DEVICES", "gpu")
    assert command.main(["--show"]) == 2
    assert capsys.readouterr().err.startswith("error: ANYZERO_DEVICES='gpu'")
