"""The graph extension as Python calls it: tables of functions, one set for each driver that has it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors
from anyzero.api.library import check, function
from anyzero.installed import install
from anyzero.ze import npu

if TYPE_CHECKING:
    from anyzero.api.driver import Driver

__all__ = ["Extension", "extension", "queue_extension", "text_of"]

_get_address: Final = function("zeDriverGetExtensionFunctionAddress")
_NEEDED: Final = (1, 16)
"""The first version that is known to have the whole table."""


class Extension:
    """Functions of the extension as attributes, by their names without ``pfn``. Each call releases the GIL."""

    def __init__(self, driver: Driver) -> None:
        self.version = _version_of(driver, npu.ZE_GRAPH_EXT_NAME)
        if self.version < _NEEDED:
            raise errors.UnsupportedFeature(
                "this driver has no graphs" if self.version == (0, 0) else "the graph extension is too old here",
                remedy=f"Graphs run on an NPU: az.device('npu'). `{install('npu')}` installs one, "
                "and `anyzero info` lists the devices.",
            )
        self._graph = _table(driver, npu.ZE_GRAPH_EXT_NAME, npu.ze_graph_dditable_ext_t)
        self._profiling: Any = None
        if _version_of(driver, npu.ZE_PROFILING_DATA_EXT_NAME) > (0, 0):
            self._profiling = _table(driver, npu.ZE_PROFILING_DATA_EXT_NAME, npu.ze_graph_profiling_dditable_ext_t)

    def __getattr__(self, name: str) -> Callable[..., int]:
        field = f"pfn{name}"
        table = self._graph if hasattr(npu.ze_graph_dditable_ext_t, field) else self._profiling
        found: Any = getattr(table, field, None)
        if not found:
            raise errors.UnsupportedFeature(f"this driver's graph extension has no {field}")
        found.__name__ = field
        # An instance attribute: the next access does not call `__getattr__`.
        setattr(self, name, found)
        return found  # type: ignore[no-any-return]


@cache
def extension(driver: Driver) -> Extension:
    """The extension of a driver; raise UnsupportedFeature where it has none."""
    return Extension(driver)


@cache
def queue_extension(driver: Driver) -> Any:
    """The functions that an NPU's queues have beyond the specification, or UnsupportedFeature."""
    if npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME not in driver.extensions:
        raise errors.UnsupportedFeature(
            "queues of this driver have no workload type", remedy="Give the queue a priority when you create it."
        )
    return _table(driver, npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME, npu.ze_command_queue_npu_dditable_ext_t)


def _version_of(driver: Driver, name: str) -> tuple[int, int]:
    major, _, minor = driver.extensions.get(name, "0.0").partition(".")
    return int(major), int(minor)


def _table(driver: Driver, name: str, kind: type[Any]) -> Any:
    address = ctypes.c_void_p()
    check(_get_address(driver.handle, name.encode(), ctypes.byref(address)), _get_address)
    if not address.value:
        raise errors.UnsupportedFeature(f"the driver lists {name}, but has no functions for it")
    return kind.from_address(address.value)


def text_of(called: Callable[..., int], handle: int | None, size: Any = None) -> str:
    """The text from a function that is called twice: for the length, then for the text itself."""
    length = ctypes.c_uint32() if size is None else size
    if called(handle, ctypes.byref(length), None) or not length.value:
        return ""
    room = ctypes.create_string_buffer(length.value + 1)
    if called(handle, ctypes.byref(length), room):
        return ""
    return room.value.decode(errors="replace").rstrip()
