"""`ZE_AFFINITY_MASK`, `ZE_FLAT_DEVICE_HIERARCHY`, `ZE_ENABLE_PCI_ID_DEVICE_ORDER`: what each function then returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anyzero.config import Config
from anyzero.driver.devices import boot, description, machine
from tests.abi.calls import INVALID_ARGUMENT, UNINITIALIZED, run_python

TWO_CARDS = "cpu:tiles=2,cpu:tiles=2"
LOOK = """
import ctypes, json
from tests.abi.sysman import Sysman, structure
import anyzero.driver.devices.boot  # once for all children

CORE = ctypes.CDLL(str(LIBRARY))
CORE.zerTranslateDeviceHandleToIdentifier.restype = c_uint32
CORE.zerTranslateIdentifierToDeviceHandle.restype = c_void_p

def look():
    az = Calls(init=False)
    status = az.call("zeInit", 0)
    if status:
        text = c_char_p()
        CORE.zerGetLastErrorDescription(byref(text))
        return {"status": status, "text": text.value.decode(), **manage(None)}

    def about(device):
        properties = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
        return properties.uuid.id[15] - 1, bytes(properties.uuid.id[:15]), properties

    def root(device):
        handle = c_void_p(1)
        az.ok("zeDeviceGetRootDevice", device, byref(handle))
        return handle

    def below(device):
        return az.several("zeDeviceGetSubDevices", device)

    az.driver = az.several("zeDriverGet")[0]
    cards, listed = [], []
    everything = az.several("zeDeviceGet", az.driver)
    for device in tuple(everything):
        tile, card, properties = about(device)
        above = root(device)
        if above.value and all(above.value != each.value for each in everything):
            everything.append(above)
        everything += below(device)
        assert all(root(each).value == device.value for each in below(device))
        if card not in cards:
            cards.append(card)
        listed.append({
            "card": cards.index(card),
            "tile": tile,
            "flag": bool(properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE),
            "below": [about(each)[0] for each in below(device)],
            "above": [about(each)[0] for each in below(above)] if above.value else None,
            "memory": properties.maxMemAllocSize,
            "units": properties.numSubslicesPerSlice,
            "bus": az.query("zeDevicePciGetPropertiesExt", ze.ze_pci_ext_properties_t, device).address.bus,
        })
    # Visible devices can be used: contexts, memory, queues.
    context = az.context()
    for device in everything:
        az.ok("zeMemFree", context, az.memory(context, 4096, "device", device=device))
        az.finish(az.queue(context, device))
    # The identifiers count what is shown.
    numbers = [CORE.zerTranslateDeviceHandleToIdentifier(device) for device in everything]
    assert sorted(numbers) == list(range(len(numbers))), numbers
    assert all(CORE.zerTranslateIdentifierToDeviceHandle(n) == d.value for n, d in zip(numbers, everything))
    assert not CORE.zerTranslateIdentifierToDeviceHandle(len(numbers))
    assert not CORE.zerTranslateIdentifierToDeviceHandle(c_uint32(2**32 - 1))
    return {"status": status, "listed": listed, **manage(about(everything[0])[2].uuid.id)}

def manage(uuid):
    sysman = Sysman()
    handles = sysman.several("zesDeviceGet", sysman.driver())
    managed = {"managed": len(handles)}
    if uuid is not None:
        handle, on, number = c_void_p(), c_uint8(), c_uint32()
        arguments = sysman.driver(), structure("zes_uuid_t")(tuple(uuid)), byref(handle), byref(on), byref(number)
        sysman.ok("zesDriverGetDeviceByUuidExp", *arguments)
        managed["place"] = [[each.value for each in handles].index(handle.value), on.value, number.value]
    else:
        made = c_void_p()
        desc = byref(ze.ze_context_desc_t())
        managed["context"] = sysman.lib.zeContextCreate(sysman.driver(), desc, byref(made))
    return managed

# A process enumerates its devices once, so each case is a forked child: faster to start than an interpreter.
for case in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        os.environ.update(case)
        try:
            print(json.dumps(look()), flush=True)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, case
"""


def looks(*cases: dict[str, str]) -> list[Any]:
    """The visible devices of processes with these variables."""
    settled = [{"ANYZERO_DEVICES": TWO_CARDS} | case for case in cases]
    return [json.loads(line) for line in run_python(LOOK, arguments=[json.dumps(settled)]).stdout.splitlines()]


def seen(*cases: dict[str, str]) -> list[list[dict[str, Any]]]:
    """The devices of zeDeviceGet, each with its tile's number (-1 for a whole card) and its relations."""
    found = looks(*cases)
    assert all(each["status"] == 0 for each in found)
    return [each["listed"] for each in found]


def places(listed: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["card"], each["tile"], each["below"]) for each in listed]


CARDS = [(0, -1, [0, 1]), (1, -1, [0, 1])]
TILES = [(0, 0, []), (0, 1, []), (1, 0, []), (1, 1, [])]


MASKS = {
    "": CARDS,
    "0,1": CARDS,
    " 1 , 0 ": CARDS,
    "0": CARDS[:1],
    "0,0,0.1": CARDS[:1],
    "0.1": [(0, 1, [])],
    "1.0,1.1": CARDS[:1],
    "1.1,0.0": [(0, 0, []), (1, 1, [])],
    "0.1,1": [(0, 1, []), (1, -1, [0, 1])],
    "0,x,-1,1.x,1.0.1,7,0.9,.,,0x1,99999999999": CARDS[:1],
}


def test_masks_of_cards_and_tiles() -> None:
    found = seen(*({"ZE_AFFINITY_MASK": mask, "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"} for mask in MASKS))
    for listed, (mask, shown) in zip(found, MASKS.items(), strict=True):
        assert places(listed) == shown, mask
        assert all(not each["flag"] and each["above"] is None for each in listed)


def test_the_hierarchies() -> None:
    values = ("", "SIDEWAYS", "COMPOSITE", "FLAT", "COMBINED")
    default, unknown, composite, flat, combined = seen(*({"ZE_FLAT_DEVICE_HIERARCHY": value} for value in values))
    assert default == unknown == composite
    assert places(composite) == CARDS
    assert places(flat) == places(combined) == TILES
    assert all(not each["flag"] and each["above"] is None for each in flat)
    assert all(each["flag"] and each["above"] == [0, 1] for each in combined)
    alone = seen(*({"ANYZERO_DEVICES": "cpu", "ZE_FLAT_DEVICE_HIERARCHY": value} for value in values))
    assert all(each == alone[0] for each in alone)


def test_the_mask_counts_what_the_hierarchy_lists() -> None:
    flat, combined, mixed = seen(
        {"ZE_FLAT_DEVICE_HIERARCHY": "flat", "ZE_AFFINITY_MASK": "3,0"},
        {"ZE_FLAT_DEVICE_HIERARCHY": "COMBINED", "ZE_AFFINITY_MASK": "1,0.0"},
        {"ANYZERO_DEVICES": "cpu,cpu:tiles=2", "ZE_FLAT_DEVICE_HIERARCHY": "FLAT", "ZE_AFFINITY_MASK": "0,2"},
    )
    assert places(flat) == [TILES[0], TILES[3]]
    assert places(combined) == TILES[1:2]
    assert combined[0]["above"] == [1]
    assert [(each["card"], each["tile"]) for each in mixed] == [(0, -1), (1, 1)]


def test_a_card_shows_what_its_visible_tiles_have() -> None:
    shape = {"ANYZERO_DEVICES": "cpu:tiles=3,memory=96M,threads=6"}
    (whole,), (part,) = seen(shape, shape | {"ZE_AFFINITY_MASK": "0.2,0.0"})
    assert (whole["memory"], whole["units"]) == (96 << 20, 6)
    assert (part["memory"], part["units"], part["below"]) == (64 << 20, 4, [0, 2])


def test_nothing_is_left() -> None:
    """No device is no driver to zeInit, as with hardware drivers."""
    masks = ("2", "x", "0.7", ",", "0.0.0")
    for mask, found in zip(masks, looks(*({"ZE_AFFINITY_MASK": mask} for mask in masks)), strict=True):
        assert found["status"] == UNINITIALIZED
        assert f"ZE_AFFINITY_MASK={mask} hides every device" in found["text"]
        assert found["context"] == INVALID_ARGUMENT
        assert found["managed"] == 2


def test_system_management_is_not_affected() -> None:
    (found,) = looks({"ZE_AFFINITY_MASK": "3", "ZE_FLAT_DEVICE_HIERARCHY": "FLAT"})
    assert len(found["listed"]) == 1
    assert found["managed"] == 2
    assert found["place"] == [1, 1, 1]


def test_a_description_from_a_file_is_masked_too(tmp_path: Path) -> None:
    path = tmp_path / "description"
    path.write_bytes(description.encode(boot.compose(Config(devices=TWO_CARDS), machine.read())))
    (listed,) = seen({"ANYZERO_DESCRIPTION": str(path), "ANYZERO_DEVICES": "", "ZE_AFFINITY_MASK": "1.1"})
    assert places(listed) == [(0, 1, [])]


def test_devices_are_in_the_order_of_their_addresses() -> None:
    shape = {"ANYZERO_DEVICES": "cpu,cpu:tiles=2,cpu"}
    found = seen(shape, shape | {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1"})
    assert [[each["bus"] for each in listed] for listed in found] == [[0, 1, 2]] * 2
