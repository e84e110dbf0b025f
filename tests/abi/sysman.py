"""System management as the tests call it: structures and functions straight from the specification's facts."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_uint32, c_void_p
from functools import cache
from typing import Any

from anyzero import ze
from codegen import ctypes_types
from codegen.model import Function
from tests.abi.calls import LIBRARY, OK
from tests.abi.specification import api


class _Names(dict[str, Any]):
    """Names for the generator's expressions: types of ctypes, and structures of the specification."""

    def __missing__(self, name: str) -> Any:
        return getattr(ctypes, name) if hasattr(ctypes, name) else structure(name)


def _type(spelled: str) -> Any:
    return eval(ctypes_types.spell(api(), spelled), {"__builtins__": {}}, _Names())


@cache
def structure(name: str) -> Any:
    """The ctypes class of a structure; the core's own come from the package."""
    if name.startswith("ze_"):
        return getattr(ze, name)
    fields = [(str(field.name), _type(field.type)) for field in api().structs[name]]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def new(name: str, **fields: Any) -> Any:
    """A structure of that name, with its type filled in."""
    made = structure(name)(**fields)
    if hasattr(made, "stype"):
        made.stype = stype(name)
    return made


def stype(name: str) -> int:
    return value(f"ZES_STRUCTURE_TYPE_{name.removeprefix('zes_').removesuffix('_t').upper()}")


@cache
def value(name: str) -> int:
    """The value of an enumerator."""
    return next(members[name] for members in api().enums.values() if name in members)


@cache
def functions() -> dict[str, Function]:
    """Everything in the tables of system management."""
    slots = (slot for table in api().tables.values() if table.namespace == "zes" for slot in table.slots)
    return {slot.function: api().functions[slot.function] for slot in slots}


class Sysman:
    """The functions by their C names; `library` is the driver itself or a loader."""

    def __init__(self, library: str = str(LIBRARY), *, init: bool = True) -> None:
        self.lib = ctypes.CDLL(library)
        if init:
            self.ok("zesInit", 0)

    def call(self, name: str, *args: Any) -> int:
        function = getattr(self.lib, name)
        function.restype = c_uint32
        function.argtypes = [_type(param.type) for param in api().functions[name].params]
        return int(function(*args))

    def ok(self, name: str, *args: Any) -> None:
        result = self.call(name, *args)
        assert result == OK, f"{name}: {result:#x}"

    def several(self, name: str, *args: Any) -> list[c_void_p]:
        count = c_uint32()
        self.ok(name, *args, byref(count), None)
        found = (c_void_p * (count.value + 1))()
        if count.value:
            self.ok(name, *args, byref(count), found)
        assert found[count.value] is None, f"{name} wrote behind what it announced"
        return [c_void_p(each) for each in found[: count.value]]

    def query(self, name: str, kind: str, *args: Any) -> Any:
        filled = new(kind)
        self.ok(name, *args, byref(filled))
        return filled

    def driver(self) -> c_void_p:
        return self.several("zesDriverGet")[0]

    def devices(self) -> list[c_void_p]:
        return self.several("zesDeviceGet", self.driver())

    def groups(self, device: c_void_p) -> Iterator[tuple[c_void_p, Any]]:
        for each in self.several("zesDeviceEnumEngineGroups", device):
            yield each, self.query("zesEngineGetProperties", "zes_engine_properties_t", each)

    def group(self, device: c_void_p, kind: str, tile: int | None = None) -> c_void_p:
        """The first group of engines of a kind."""
        wanted = (value(f"ZES_ENGINE_GROUP_{kind}"), tile is not None, tile or 0)
        return next(g for g, p in self.groups(device) if (p.type, bool(p.onSubdevice), p.subdeviceId) == wanted)

    def activity(self, group: c_void_p) -> tuple[int, int]:
        """Microseconds at work, and the time of the look."""
        stats = self.query("zesEngineGetActivity", "zes_engine_stats_t", group)
        return stats.activeTime, stats.timestamp
