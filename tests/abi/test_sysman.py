"""System management: what monitoring tools find, held against the core API and the operating system."""

from __future__ import annotations

import ctypes
import re
import textwrap
from ctypes import byref, c_double, c_uint32, c_uint64, c_void_p
from pathlib import Path

import pytest

from anyzero import ze
from codegen.model import Param
from tests.abi.calls import (
    INSUFFICIENT_PERMISSIONS,
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    INVALID_NULL_HANDLE,
    INVALID_NULL_POINTER,
    NOT_READY,
    OK,
    UNSUPPORTED_FEATURE,
    Calls,
    run_python,
)
from tests.abi.specification import api, implemented
from tests.abi.sysman import Sysman, functions, new, structure, value


def run(code: str, **variables: str) -> None:
    """A separate program, with the calls of system management."""
    run_python("from tests.abi.sysman import *\n" + textwrap.dedent(code), **variables)


@pytest.fixture(scope="module")
def sysman(az: Calls) -> Sysman:
    return Sysman()


# Finding devices


def test_drivers_and_devices_are_those_of_the_core_api(sysman: Sysman, az: Calls) -> None:
    drivers = [each.value for each in az.several("zeDriverGet")]
    assert [each.value for each in sysman.several("zesDriverGet")] == drivers
    assert [each.value for each in sysman.devices()] == [each.value for each in az.devices]


def test_drivers_are_listed_after_zes_init_only() -> None:
    run(
        """
        s = Sysman(init=False)
        count = c_uint32()
        assert s.call("zesDriverGet", byref(count), None) == UNINITIALIZED
        assert s.call("zesInit", 2) == INVALID_ENUMERATION
        assert s.call("zesDriverGet", byref(count), None) == UNINITIALIZED
        s.ok("zesInit", 0)
        s.ok("zesInit", 0)
        assert len(s.devices()) == 2
        # System management has not chosen for the core which drivers it will show.
        assert Calls(init=False).call("zeDriverGet", byref(count), None) in (OK, UNINITIALIZED)
        az = Calls()
        assert [d.value for d in az.devices] == [d.value for d in s.devices()]
        """,
        ANYZERO_DEVICES="cpu,cpu",
    )


def test_a_core_handle_is_accepted_without_zes_init() -> None:
    run(
        """
        az, s = Calls(), Sysman(init=False)
        properties = s.query("zesDeviceGetProperties", "zes_device_properties_t", az.device)
        assert properties.core.name == az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device).name
        assert s.several("zesDeviceEnumMemoryModules", az.device)
        """,
        ZES_ENABLE_SYSMAN="1",
    )


def test_properties_agree_with_the_core_api(sysman: Sysman, az: Calls) -> None:
    core = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device)
    driver = az.query("zeDriverGetProperties", ze.ze_driver_properties_t, az.driver)
    extended = new("zes_device_ext_properties_t")
    found = new("zes_device_properties_t", pNext=ctypes.addressof(extended))
    sysman.ok("zesDeviceGetProperties", az.device, byref(found))
    for name in ("type", "vendorId", "deviceId", "flags", "coreClockRate", "numSubslicesPerSlice", "timerResolution"):
        assert getattr(found.core, name) == getattr(core, name), name
    assert found.core.name == core.name
    assert bytes(found.core.uuid.id) == bytes(core.uuid.id) == bytes(extended.uuid.id)
    assert (extended.type, extended.flags) == (core.type, core.flags)
    assert core.name.startswith(found.modelName)
    assert len(found.modelName) == min(len(core.name), 63)
    assert found.vendorName == b"anyzero"
    version = [int(part) for part in found.driverVersion.split(b".")]
    assert version[0] << 24 | version[1] << 16 | version[2] == driver.driverVersion
    assert found.serialNumber == found.boardNumber == found.brandName == b"unknown"
    assert found.numSubdevices == 0


def test_the_inner_structures_chain_is_not_followed(sysman: Sysman, az: Calls) -> None:
    """Programs set the outer one and leave this to chance."""
    found = new("zes_device_properties_t")
    found.core.pNext = 0xDEAD0
    found.core.stype = 0x12345678
    sysman.ok("zesDeviceGetProperties", az.device, byref(found))
    assert found.core.name
    assert (found.core.pNext, found.core.stype) == (0xDEAD0, 0x12345678)


def test_a_device_is_found_by_its_uuid(sysman: Sysman, az: Calls) -> None:
    core = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device)
    uuid = structure("zes_uuid_t")(id=tuple(core.uuid.id))
    device, on_tile, tile = c_void_p(), ctypes.c_uint8(9), c_uint32(9)
    out = (byref(device), byref(on_tile), byref(tile))
    sysman.ok("zesDriverGetDeviceByUuidExp", az.driver, uuid, *out)
    assert (device.value, on_tile.value, tile.value) == (az.device.value, 0, 0)
    uuid.id[3] ^= 1
    assert sysman.call("zesDriverGetDeviceByUuidExp", az.driver, uuid, *out) == INVALID_ARGUMENT
    assert device.value == az.device.value


def test_tiles_are_parts_of_their_device() -> None:
    run(
        """
        az, s = Calls(), Sysman()
        (device,) = s.devices()
        tiles = az.several("zeDeviceGetSubDevices", device)
        properties = s.query("zesDeviceGetProperties", "zes_device_properties_t", device)
        assert properties.numSubdevices == len(tiles) == 2
        # A tile's handle means its device.
        through = s.query("zesDeviceGetProperties", "zes_device_properties_t", tiles[1])
        assert bytes(through.core.uuid.id) == bytes(properties.core.uuid.id)

        count = c_uint32()
        s.ok("zesDeviceGetSubDevicePropertiesExp", device, byref(count), None)
        described = (structure("zes_subdevice_exp_properties_t") * 3)()
        count.value = 3
        s.ok("zesDeviceGetSubDevicePropertiesExp", device, byref(count), described)
        assert count.value == 2
        for number, tile in enumerate(tiles):
            core = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, tile)
            assert bytes(described[number].uuid.id) == bytes(core.uuid.id)
            assert described[number].subdeviceId == core.subdeviceId == number
            found, on_tile, index = c_void_p(), c_uint8(), c_uint32()
            uuid = described[number].uuid
            s.ok("zesDriverGetDeviceByUuidExp", s.driver(), uuid, byref(found), byref(on_tile), byref(index))
            assert (found.value, on_tile.value, index.value) == (device.value, 1, number)

        # Memory on a tile counts there; memory on the whole device is taken from all of them.
        MIB = 1 << 20
        def free():
            modules = s.several("zesDeviceEnumMemoryModules", device)
            for number, module in enumerate(modules):
                known = s.query("zesMemoryGetProperties", "zes_mem_properties_t", module)
                assert (known.onSubdevice, known.subdeviceId, known.physicalSize) == (1, number, 512 * MIB)
            return [s.query("zesMemoryGetState", "zes_mem_state_t", module).free for module in modules]
        context = az.context()
        assert free() == [512 * MIB, 512 * MIB]
        az.memory(context, 100 * MIB, "device", device=tiles[0])
        assert free() == [412 * MIB, 512 * MIB]
        az.memory(context, 231 * MIB, "device", device=device)
        assert sum(free()) in range((924 - 231) * MIB - 2, (924 - 231) * MIB + 1), free()
        assert 0 < free()[0] < free()[1] < 512 * MIB

        kinds = [(bool(p.onSubdevice), p.subdeviceId) for _, p in s.groups(device)]
        assert kinds == sorted(kinds) and set(kinds) == {(False, 0), (True, 0), (True, 1)}
        # The work of a tile is work of the device, but not of the other tile.
        area = az.memory(context, 8 * MIB)
        queue = az.immediate(context, tiles[1], mode=SYNCHRONOUS)
        for _ in range(20):
            az.fill(queue, area, 1, 8 * MIB)
        active = {tile: s.activity(s.group(device, "ALL", tile))[0] for tile in (None, 0, 1)}
        assert active[None] == active[1] > 100 and active[0] == 0, active
        assert s.activity(s.group(device, "COMPUTE_SINGLE"))[0] == 0
        """,
        ANYZERO_DEVICES="cpu:tiles=2,memory=1G",
    )


# Memory


def test_memory_is_the_drivers_own_account(sysman: Sysman, az: Calls, context: c_void_p) -> None:
    (module,) = sysman.several("zesDeviceEnumMemoryModules", az.device)
    known = sysman.query("zesMemoryGetProperties", "zes_mem_properties_t", module)
    (memory,) = memories(az)
    assert known.physicalSize == memory.totalSize
    assert (known.type, known.location) == (value("ZES_MEM_TYPE_DDR"), value("ZES_MEM_LOC_SYSTEM"))
    assert (known.busWidth, known.numChannels, known.onSubdevice) == (-1, -1, 0)

    def free() -> int:
        state = sysman.query("zesMemoryGetState", "zes_mem_state_t", module)
        assert state.size == memory.totalSize
        usable = ze.ze_device_usablemem_size_ext_properties_t()
        core = ze.ze_device_properties_t(pNext=ctypes.addressof(usable))
        az.ok("zeDeviceGetProperties", az.device, byref(core))
        assert state.free == usable.currUsableMemSize
        return int(state.free)

    before = free()
    area = az.memory(context, 24 << 20, "device")
    assert before - free() == 24 << 20
    az.memory(context, 1 << 20, "host")
    assert before - free() == 24 << 20
    az.ok("zeMemFree", context, area)
    assert free() == before


def memories(az: Calls) -> list[ze.ze_device_memory_properties_t]:
    count = c_uint32()
    az.ok("zeDeviceGetMemoryProperties", az.device, byref(count), None)
    found = (ze.ze_device_memory_properties_t * count.value)()
    az.ok("zeDeviceGetMemoryProperties", az.device, byref(count), found)
    return list(found)


def test_a_process_is_listed_when_it_uses_the_device() -> None:
    run(
        """
        az, s = Calls(), Sysman()
        def mine(room=4):
            count = c_uint32(room)
            found = (structure("zes_process_state_t") * max(room, 1))()
            s.ok("zesDeviceProcessesGetState", az.device, byref(count), found if room else None)
            return list(found[: count.value]) if room else count.value
        assert mine() == [] and mine(0) == 0
        context = az.context()
        area = az.memory(context, 3 << 20, "device")
        assert mine(0) == 1
        (state,) = mine()
        assert (state.processId, state.memSize, state.sharedSize, state.engines) == (os.getpid(), 3 << 20, 0, 0)
        queue = az.queue(context, ordinal=COPY)
        (state,) = mine(1)
        assert state.engines == value("ZES_ENGINE_TYPE_FLAG_DMA")
        az.immediate(context)
        (state,) = mine()
        assert state.engines == value("ZES_ENGINE_TYPE_FLAG_DMA") | value("ZES_ENGINE_TYPE_FLAG_COMPUTE")
        az.ok("zeMemGetIpcHandle", context, area, byref(ze.ze_ipc_mem_handle_t()))
        (state,) = mine()
        assert state.sharedSize == state.memSize == 3 << 20
        """
    )


# Values from the operating system


def told_by_the_system() -> float | None:
    current = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
    if current.exists():
        return int(current.read_text()) / 1000
    rates = re.findall(r"^cpu MHz\s*: ([\d.]+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return float(rates[0]) if rates else None


def test_the_clock_rate_is_the_processors(sysman: Sysman, az: Calls) -> None:
    domains = sysman.several("zesDeviceEnumFrequencyDomains", az.device)
    rate = told_by_the_system()
    assert len(domains) == (rate is not None)
    for domain in domains:
        known = sysman.query("zesFrequencyGetProperties", "zes_freq_properties_t", domain)
        assert (known.type, known.canControl) == (value("ZES_FREQ_DOMAIN_GPU"), 0)
        assert known.min <= known.max
        state = sysman.query("zesFrequencyGetState", "zes_freq_state_t", domain)
        # Rates change all the time, but not by an order of magnitude.
        assert (rate or 0) / 10 < state.actual < (rate or 0) * 10
        assert state.request == state.tdp == state.currentVoltage == -1
        sysman.query("zesFrequencyGetRange", "zes_freq_range_t", domain)
        range_ = byref(new("zes_freq_range_t"))
        assert sysman.call("zesFrequencySetRange", domain, range_) == INSUFFICIENT_PERMISSIONS


def test_energy_and_temperature_are_there_when_the_system_has_them(sysman: Sysman, az: Calls) -> None:
    counters = [zone for zone in Path("/sys/class/powercap").glob("intel-rapl:*") if readable(zone / "energy_uj")]
    domains = sysman.several("zesDeviceEnumPowerDomains", az.device)
    assert len(domains) <= len(counters)
    for domain in domains:
        first, second = (
            sysman.query("zesPowerGetEnergyCounter", "zes_power_energy_counter_t", domain) for _ in range(2)
        )
        assert first.energy <= second.energy
        assert first.timestamp <= second.timestamp
        sysman.query("zesPowerGetProperties", "zes_power_properties_t", domain)
    for sensor in sysman.several("zesDeviceEnumTemperatureSensors", az.device):
        degrees = c_double()
        sysman.ok("zesTemperatureGetState", sensor, byref(degrees))
        assert -50 < degrees.value < 150
        sysman.query("zesTemperatureGetProperties", "zes_temp_properties_t", sensor)


def readable(path: Path) -> bool:
    try:
        path.read_text()
    except OSError:
        return False
    return True


# Absent components


NONE = sorted(
    name
    for name in functions()
    if re.match(r"zesDeviceEnum(?!Engine|Memory|Frequency|Power|Temperature|Fans|Firmwares|RasErrorSets)", name)
)


def test_what_a_processor_has_not_is_none_and_no_error(sysman: Sysman, az: Calls) -> None:
    assert len(NONE) == 10
    for name in NONE:
        assert sysman.several(name, az.device) == [], name
    count = c_uint32(5)
    sysman.ok("zesDevicePciGetBars", az.device, byref(count), None)
    assert count.value == 0


def test_the_address_on_no_bus_is_the_core_apis(sysman: Sysman, az: Calls) -> None:
    core = az.query("zeDevicePciGetPropertiesExt", ze.ze_pci_ext_properties_t, az.device)
    found = sysman.query("zesDevicePciGetProperties", "zes_pci_properties_t", az.device)
    for name in ("domain", "bus", "device", "function"):
        assert getattr(found.address, name) == getattr(core.address, name)
    assert (found.maxSpeed.gen, found.maxSpeed.width, found.maxSpeed.maxBandwidth) == (-1, -1, -1)
    state = sysman.query("zesDevicePciGetState", "zes_pci_state_t", az.device)
    assert (state.status, state.speed.gen) == (value("ZES_PCI_LINK_STATUS_UNKNOWN"), -1)
    stats = byref(new("zes_pci_stats_t"))
    assert sysman.call("zesDevicePciGetStats", az.device, stats) == UNSUPPORTED_FEATURE
    state = sysman.query("zesDeviceGetState", "zes_device_state_t", az.device)
    assert (state.reset, state.repaired) == (0, value("ZES_REPAIR_STATUS_UNSUPPORTED"))


def test_extensions_are_listed_and_reachable(sysman: Sysman, az: Calls) -> None:
    count = c_uint32()
    sysman.ok("zesDriverGetExtensionProperties", az.driver, byref(count), None)
    found = (structure("zes_driver_extension_properties_t") * count.value)()
    sysman.ok("zesDriverGetExtensionProperties", az.driver, byref(count), found)
    names = [each.name.decode() for each in found]
    assert api().constants["ZES_SYSMAN_DEVICE_MAPPING_EXP_NAME"] in names
    assert len(set(names)) == len(names)
    assert set(names) <= set(api().constants.values())
    assert all(each.version == 0x10000 for each in found)
    address = c_void_p()
    sysman.ok("zesDriverGetExtensionFunctionAddress", az.driver, b"zesDriverGetDeviceByUuidExp", byref(address))
    assert address.value == ctypes.cast(sysman.lib.zesDriverGetDeviceByUuidExp, c_void_p).value


def test_everything_else_says_that_it_is_not_there(sysman: Sysman, az: Calls) -> None:
    """Nothing is a handle of a part that no device has."""
    rest = functions().keys() - implemented()
    answers = {INVALID_NULL_HANDLE: 0, UNSUPPORTED_FEATURE: 0}
    for name in rest:
        args = [c_void_p(0x10 + index) for index in range(len(functions()[name].params))]
        raw = getattr(ctypes.CDLL(az.lib.path), name)
        raw.restype = c_uint32
        absent = functions()[name].params[0].type not in HANDLES
        answer = raw(*args)
        assert answer == (INVALID_NULL_HANDLE if absent else UNSUPPORTED_FEATURE), name
        answers[answer] += 1
        assert name in az.last_error()
    assert answers[INVALID_NULL_HANDLE] > 40
    assert answers[UNSUPPORTED_FEATURE] < 10


# Handles and bad input


def test_handles_begin_with_the_loaders_block(sysman: Sysman, az: Calls) -> None:
    device = list((c_uint64 * 4).from_address(az.device.value or 0))
    for name in ("EngineGroups", "MemoryModules", "FrequencyDomains"):
        handles = sysman.several(f"zesDeviceEnum{name}", az.device)
        again = sysman.several(f"zesDeviceEnum{name}", az.device)
        assert [each.value for each in handles] == [each.value for each in again]
        # A machine may hide its clock rates; engines and memory are always there.
        assert handles or name == "FrequencyDomains"
        for handle in handles:
            assert list((c_uint64 * 4).from_address(handle.value or 0)) == device


PARTS = {
    "zes_engine_handle_t": "zesDeviceEnumEngineGroups",
    "zes_mem_handle_t": "zesDeviceEnumMemoryModules",
    "zes_freq_handle_t": "zesDeviceEnumFrequencyDomains",
    "zes_pwr_handle_t": "zesDeviceEnumPowerDomains",
    "zes_temp_handle_t": "zesDeviceEnumTemperatureSensors",
    "zes_fan_handle_t": "zesDeviceEnumFans",
    "zes_firmware_handle_t": "zesDeviceEnumFirmwares",
    "zes_ras_handle_t": "zesDeviceEnumRasErrorSets",
}
HANDLES = {"zes_driver_handle_t", "ze_driver_handle_t", "zes_device_handle_t", *PARTS}

REFUSED = re.compile(
    r"zesDevice(Reset|ResetExt|PciGetStats|PciLinkSpeedUpdateExt|GetCardPowerDomain|SetEccState|SetOverclockWaiver|"
    r"GetOverclockControls|ResetOverclockSettings|ReadOverclockState)$|zesMemoryGetBandwidth|zesFan(Set|GetState)|"
    r"zesFirmware(?!GetProperties)|zesFrequency(Set|GetThrottleTime|Oc(?!GetCapabilities))|"
    r"zesPower(Set|GetEnergyThreshold)|zesRas(Set|Clear)|zesTemperatureSet"
)
"""Unsupported functions, or supported on some machines only."""


def right_arguments(sysman: Sysman, az: Calls, name: str) -> list[object] | None:
    """Arguments with which a call succeeds, or None where this machine has no such part."""
    args: list[object] = []
    for param in functions()[name].params:
        if param.type in ("zes_driver_handle_t", "ze_driver_handle_t"):
            args.append(az.driver)
        elif param.type == "zes_device_handle_t":
            args.append(az.device)
        elif param.type in PARTS:
            found = sysman.several(PARTS[param.type], az.device)
            if not found:
                return None
            args.append(found[0])
        elif param.type == "zes_uuid_t":
            core = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device)
            args.append(structure("zes_uuid_t")(id=tuple(core.uuid.id)))
        elif param.name == "name":
            args.append(b"zesInit")
        elif param.type == "zes_overclock_domain_t":
            args.append(value("ZES_OVERCLOCK_DOMAIN_CARD"))
        elif param.optional:
            args.append(None)
        elif param.pointer:
            args.append(ctypes.create_string_buffer(4096))
        else:
            args.append(0)
    return args


def nothing(param: Param) -> object:
    """The neutral value: null, zero, or a structure of zeros."""
    if param.type == "zes_uuid_t":
        return structure("zes_uuid_t")()
    return None if param.pointer or api().handle(param.type) else 0


@pytest.mark.parametrize("name", sorted(functions().keys() & implemented()))
def test_bad_handles_and_null_pointers_get_their_error(sysman: Sysman, az: Calls, context: c_void_p, name: str) -> None:
    params = functions()[name].params
    args = right_arguments(sysman, az, name)
    if args is not None:
        answers = (OK, UNSUPPORTED_FEATURE, INSUFFICIENT_PERMISSIONS) if REFUSED.match(name) else (OK,)
        # Nobody has brought about an event.
        answers = (NOT_READY,) if name.startswith("zesDriverEventListen") else answers
        assert sysman.call(name, *args) in answers
        for position, param in enumerate(params):
            if param.pointer and not param.optional:
                broken = [*args[:position], None, *args[position + 1 :]]
                assert sysman.call(name, *broken) == INVALID_NULL_POINTER, param.name
    if api().handle(params[0].type):
        rest = [nothing(param) for param in params[1:]]
        for handle in (None, c_void_p(0x10), context, c_void_p((az.device.value or 0) + 64), c_void_p(2**64 - 64)):
            assert sysman.call(name, handle, *rest) == INVALID_NULL_HANDLE


def test_unknown_flags_are_refused(sysman: Sysman) -> None:
    assert sysman.call("zesInit", 0x80) == INVALID_ENUMERATION


def test_it_needs_no_interpreter_after_start() -> None:
    """The planner's package is removed by then; a query of the planner would fail."""
    run(
        """
        az, s = Calls(), Sysman()
        s.driver()
        for name in [name for name in sys.modules if name.startswith("anyzero.driver")]:
            sys.modules[name] = None
        device = s.devices()[0]
        for name in ("EngineGroups", "MemoryModules", "FrequencyDomains", "PowerDomains", "TemperatureSensors"):
            s.several(f"zesDeviceEnum{name}", device)
        s.query("zesDeviceGetProperties", "zes_device_properties_t", device)
        assert s.activity(s.group(device, "ALL"))[1] > 0
        """
    )
