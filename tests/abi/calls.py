"""The C ABI as the tests call it: every call by its C name, checked unless the test wants the code."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Sequence
from ctypes import byref, c_char_p, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from anyzero import ze
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
LIBRARY = Path(ze.__file__).parents[1] / "lib" / "libze_anyzero.so.1"

OK = ze.ZE_RESULT_SUCCESS
NOT_READY = ze.ZE_RESULT_NOT_READY
INSUFFICIENT_PERMISSIONS = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
DEVICE_LOST = ze.ZE_RESULT_ERROR_DEVICE_LOST
INVALID_ARGUMENT = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
INVALID_ENUMERATION = ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
INVALID_LIST_TYPE = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
INVALID_NULL_HANDLE = ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
INVALID_NULL_POINTER = ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
INVALID_SIZE = ze.ZE_RESULT_ERROR_INVALID_SIZE
INVALID_SYNC = ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT
OUT_OF_DEVICE_MEMORY = ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
OVERLAPPING_REGIONS = ze.ZE_RESULT_ERROR_OVERLAPPING_REGIONS
UNINITIALIZED = ze.ZE_RESULT_ERROR_UNINITIALIZED
UNSUPPORTED_ALIGNMENT = ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
UNSUPPORTED_FEATURE = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
UNSUPPORTED_SIZE = ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE
UNSUPPORTED_VERSION = ze.ZE_RESULT_ERROR_UNSUPPORTED_VERSION

FOREVER = 2**64 - 1
SECOND = 10**9
SOON = PATIENCE * SECOND
"""Time limit for everything that must happen; a longer wait is a hang."""

SYNCHRONOUS = ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
ASYNCHRONOUS = ze.ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
COMPUTE, COPY = 0, 1
"""Ordinals of the two queue groups of a default device."""

HostFunction = ctypes.CFUNCTYPE(None, c_void_p)


def handles(items: Iterable[c_void_p]) -> ctypes.Array[c_void_p]:
    """An array of handles as the API takes it."""
    listed = list(items)
    return (c_void_p * len(listed))(*listed)


class Calls:
    """One driver and one of its devices, with short ways to make what tests need."""

    def __init__(self, device: int = 0, *, init: bool = True) -> None:
        self.lib = ze.Library(LIBRARY)
        if init:
            self.ok("zeInit", 0)
            self.driver = self.several("zeDriverGet")[0]
            self.devices = self.several("zeDeviceGet", self.driver)
            self.device = self.devices[device]

    def call(self, name: str, *args: Any) -> int:
        return getattr(self.lib, name)(*args)

    def ok(self, name: str, *args: Any) -> None:
        result = self.call(name, *args)
        assert result == OK, f"{name}: {result:#x} {self.last_error()}"

    def error(self, expected: int, name: str, *args: Any) -> None:
        result = self.call(name, *args)
        assert result == expected, f"{name}: {result:#x} instead of {expected:#x}; text: {self.last_error()}"

    def last_error(self) -> str:
        text = c_char_p()
        if not hasattr(self, "driver"):
            return "(no driver)"
        self.lib.zeDriverGetLastErrorDescription(self.driver, byref(text))
        return (text.value or b"").decode()

    def new(self, name: str, *args: Any) -> c_void_p:
        handle = c_void_p()
        self.ok(name, *args, byref(handle))
        assert handle.value
        return handle

    def several(self, name: str, *args: Any) -> list[c_void_p]:
        count = c_uint32()
        self.ok(name, *args, byref(count), None)
        found = (c_void_p * count.value)()
        if count.value:
            self.ok(name, *args, byref(count), found)
        return [c_void_p(value) for value in found]

    def query(self, name: str, kind: Any, *args: Any) -> Any:
        """The structure or scalar that a query fills."""
        filled = kind()
        self.ok(name, *args, byref(filled))
        return filled if isinstance(filled, ctypes.Structure) else filled.value

    def context(self) -> c_void_p:
        return self.new("zeContextCreate", self.driver, byref(ze.ze_context_desc_t()))

    def queue(self, context: c_void_p, device: c_void_p | None = None, **fields: Any) -> c_void_p:
        desc = ze.ze_command_queue_desc_t(**fields)
        return self.new("zeCommandQueueCreate", context, device or self.device, byref(desc))

    def immediate(self, context: c_void_p, device: c_void_p | None = None, **fields: Any) -> c_void_p:
        desc = ze.ze_command_queue_desc_t(**fields)
        return self.new("zeCommandListCreateImmediate", context, device or self.device, byref(desc))

    def list(self, context: c_void_p, device: c_void_p | None = None, **fields: Any) -> c_void_p:
        desc = ze.ze_command_list_desc_t(**fields)
        return self.new("zeCommandListCreate", context, device or self.device, byref(desc))

    def fence(self, queue: c_void_p, flags: int = 0) -> c_void_p:
        return self.new("zeFenceCreate", queue, byref(ze.ze_fence_desc_t(flags=flags)))

    def pool(self, context: c_void_p, count: int, flags: int = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE) -> c_void_p:
        desc = ze.ze_event_pool_desc_t(flags=flags, count=count)
        return self.new("zeEventPoolCreate", context, byref(desc), 0, None)

    def event(self, pool: c_void_p, index: int = 0, signal: int = 0, wait: int = 0) -> c_void_p:
        desc = ze.ze_event_desc_t(index=index, signal=signal, wait=wait)
        return self.new("zeEventCreate", pool, byref(desc))

    def events(self, context: c_void_p, count: int, flags: int = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE) -> list[c_void_p]:
        pool = self.pool(context, count, flags)
        return [self.event(pool, index) for index in range(count)]

    def counter(self, context: c_void_p, flags: int | None = None) -> c_void_p:
        usual = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
        desc = ze.ze_event_counter_based_desc_t(
            flags=usual | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE if flags is None else flags
        )
        return self.new("zeEventCounterBasedCreate", context, self.device, byref(desc))

    def memory(
        self, context: c_void_p, size: int, kind: str = "host", alignment: int = 0, device: c_void_p | None = None
    ) -> int:
        address = c_void_p()
        device_desc, host_desc = byref(ze.ze_device_mem_alloc_desc_t()), byref(ze.ze_host_mem_alloc_desc_t())
        where = device or self.device
        out = byref(address)
        if kind == "host":
            self.ok("zeMemAllocHost", context, host_desc, size, alignment, out)
        elif kind == "device":
            self.ok("zeMemAllocDevice", context, device_desc, size, alignment, where, out)
        else:
            self.ok("zeMemAllocShared", context, device_desc, host_desc, size, alignment, where, out)
        assert address.value
        return address.value

    def copy(
        self, command_list: c_void_p, to: int, source: int, size: int, signal: Any = None, waits: Sequence[Any] = ()
    ) -> None:
        self.ok("zeCommandListAppendMemoryCopy", command_list, to, source, size, signal, *waiting(waits))

    def fill(
        self, command_list: c_void_p, to: int, value: int, size: int, signal: Any = None, waits: Sequence[Any] = ()
    ) -> None:
        pattern = c_uint8(value)
        self.ok("zeCommandListAppendMemoryFill", command_list, to, byref(pattern), 1, size, signal, *waiting(waits))

    def barrier(self, command_list: c_void_p, signal: Any = None, waits: Sequence[Any] = ()) -> None:
        self.ok("zeCommandListAppendBarrier", command_list, signal, *waiting(waits))

    def execute(self, queue: c_void_p, *lists: c_void_p, fence: Any = None) -> None:
        self.ok("zeCommandQueueExecuteCommandLists", queue, len(lists), handles(lists), fence)

    def close(self, *lists: c_void_p) -> None:
        for each in lists:
            self.ok("zeCommandListClose", each)

    def finish(self, queue: c_void_p) -> None:
        self.ok("zeCommandQueueSynchronize", queue, SOON)

    def timestamp(self) -> int:
        host, device = c_uint64(), c_uint64()
        self.ok("zeDeviceGetGlobalTimestamps", self.device, byref(host), byref(device))
        return device.value


def waiting(events: Sequence[Any]) -> tuple[int, Any]:
    """The two parameters at the end of every append."""
    return (len(events), handles(events)) if events else (0, None)


def read(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size)


def write(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))


def descriptors() -> int:
    """Number of open files of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def environment(**variables: str) -> dict[str, str]:
    """Our environment without the variables of the driver, which a test sets where it wants them.

    But for one: whether OpenVINO is installed decides about a second driver, and no test of the first is about that.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYZERO_")}
    path = os.pathsep.join([str(ROOT), kept.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return kept | {"PYTHONPATH": path, "ANYZERO_PYTHON": sys.executable, "ANYZERO_DEVICES": "cpu"} | variables


OPENING = """
import ctypes, faulthandler, os, signal, sys, threading, time
from ctypes import byref, c_char_p, c_uint8, c_uint32, c_uint64, c_void_p
from anyzero import ze
from tests.abi.calls import *
from tests.asleep import await_sleep, await_sleep_of_others
"""


def run_python(
    code: str, *, timeout: float = PATIENCE, arguments: Sequence[str] = (), expect: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program with these calls in a separate process; a crash, a hang or another exit code fails the test."""
    program = OPENING + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(**variables),
        check=False,
    )
    assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done
