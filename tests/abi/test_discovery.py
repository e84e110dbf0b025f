"""zeInit, zeInitDrivers, drivers: a program's first calls. Each first call has a separate process."""

from __future__ import annotations

import ctypes
import threading
from ctypes import byref, c_char_p, c_uint32, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import INVALID_ARGUMENT, OK, Calls, run_python
from tests.abi.specification import core


def test_nothing_works_before_init_but_init() -> None:
    run_python(
        """
        az = Calls(init=False)
        count = c_uint32(7)
        az.error(UNINITIALIZED, "zeDriverGet", byref(count), None)
        assert count.value == 7
        # A handle from nowhere is refused before there is any object at all.
        for value in (1, 0xdeadbeef, 2**64 - 1, id(az)):
            az.error(INVALID_NULL_HANDLE, "zeContextGetStatus", c_void_p(value))
        az.ok("zeInit", 0)
        az.ok("zeDriverGet", byref(count), None)
        assert count.value >= 1
        """
    )


def test_npu_only_is_uninitialized_and_leaves_the_rest_usable() -> None:
    run_python(
        """
        az = Calls(init=False)
        az.error(UNINITIALIZED, "zeInit", ze.ZE_INIT_FLAG_VPU_ONLY)
        az.ok("zeInit", ze.ZE_INIT_FLAG_GPU_ONLY)
        driver = az.several("zeDriverGet")[0]
        device = az.several("zeDeviceGet", driver)[0]
        properties = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
        assert properties.type == ze.ZE_DEVICE_TYPE_GPU
        az.ok("zeInit", ze.ZE_INIT_FLAG_GPU_ONLY | ze.ZE_INIT_FLAG_VPU_ONLY)
        az.error(INVALID_ENUMERATION, "zeInit", 4)
        az.error(INVALID_ENUMERATION, "zeInit", 0x80000001)
        """
    )


def test_init_drivers_may_come_first_and_ignores_unknown_extensions() -> None:
    run_python(
        """
        class Unknown(ctypes.Structure):
            _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("value", c_uint32)]
        az = Calls(init=False)
        extra = Unknown(0x2004a, None, 0x00010012)
        gpu = ze.ze_init_driver_type_desc_t(flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU, pNext=ctypes.addressof(extra))
        npu = ze.ze_init_driver_type_desc_t(flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_NPU, pNext=ctypes.addressof(extra))
        every = ze.ze_init_driver_type_desc_t(flags=0xffffffff)
        none = ze.ze_init_driver_type_desc_t(flags=0)
        count = c_uint32(99)
        az.error(INVALID_ENUMERATION, "zeInitDrivers", byref(count), None, byref(none))
        count = c_uint32(0)
        az.ok("zeInitDrivers", byref(count), None, byref(gpu))
        assert count.value == 1
        found = (c_void_p * 4)(*[0x55] * 4)
        count = c_uint32(4)
        az.ok("zeInitDrivers", byref(count), found, byref(gpu))
        assert count.value == 1 and found[1] == 0x55
        az.ok("zeInitDrivers", byref(count), None, byref(every))
        assert count.value == 1
        count = c_uint32(0)
        az.ok("zeInitDrivers", byref(count), None, byref(npu))
        assert count.value == 0
        # The driver found this way is the one zeInit finds.
        az.ok("zeInit", 0)
        assert az.several("zeDriverGet")[0].value == found[0]
        assert (extra.stype, extra.value) == (0x2004a, 0x00010012)
        """
    )


def test_bad_environment_is_told_in_words_and_can_be_mended() -> None:
    run_python(
        """
        az = Calls(init=False)
        az.error(UNINITIALIZED, "zeInit", 0)
        os.environ["ANYZERO_DEVICES"] = "cpu"
        az.ok("zeInit", 0)
        assert len(az.several("zeDriverGet")) == 1
        """,
        ANYZERO_DEVICES="toaster",
    )


def test_first_init_from_many_threads() -> None:
    run_python(
        """
        lib = ze.Library(LIBRARY)
        gate, results = threading.Barrier(8), []
        def start(index):
            gate.wait()
            desc = ze.ze_init_driver_type_desc_t(flags=1)
            count = c_uint32(0)
            r = lib.zeInit(0) if index % 2 else lib.zeInitDrivers(byref(count), None, byref(desc))
            handle, one = c_void_p(), c_uint32(1)
            lib.zeDriverGet(byref(one), byref(handle))
            results.append((r, handle.value))
        threads = [threading.Thread(target=start, args=(i,)) for i in range(8)]
        [t.start() for t in threads]
        [t.join(200) for t in threads]
        assert len(results) == 8 and len(set(results)) == 1 and results[0][0] == 0, results
        """
    )


def test_too_small_and_too_large_counts(az: Calls) -> None:
    """The two-call pattern: ask with null, then with room; too much room is cut, too little fills what fits."""
    for name, args in (("zeDriverGet", ()), ("zeDeviceGet", (az.driver,))):
        total = len(az.several(name, *args))
        room = (c_void_p * (total + 3))(*[0x77] * (total + 3))
        count = c_uint32(total + 3)
        az.ok(name, *args, byref(count), room)
        assert count.value == total
        assert room[total] == 0x77
        # Zero with an array asks for the number, as null does.
        count = c_uint32(0)
        az.ok(name, *args, byref(count), room)
        assert count.value == total


def test_extension_properties(az: Calls) -> None:
    count = c_uint32(0)
    az.ok("zeDriverGetExtensionProperties", az.driver, byref(count), None)
    total = count.value
    listed = (ze.ze_driver_extension_properties_t * (total + 1))()
    listed[total].version = 0xABCD
    count = c_uint32(total + 1)
    az.ok("zeDriverGetExtensionProperties", az.driver, byref(count), listed)
    assert count.value == total
    assert listed[total].version == 0xABCD
    names = [extension.name.decode() for extension in listed[:total]]
    assert len(set(names)) == total
    assert all(name.startswith("ZE_") for name in names)
    assert all(extension.version >> 16 >= 1 for extension in listed[:total])
    first = ze.ze_driver_extension_properties_t()
    count = c_uint32(1)
    az.ok("zeDriverGetExtensionProperties", az.driver, byref(count), byref(first))
    assert count.value == 1
    assert first.name.decode() == names[0]


def test_extension_function_address(az: Calls) -> None:
    address = c_void_p()
    az.ok("zeDriverGetExtensionFunctionAddress", az.driver, b"zeContextGetStatus", byref(address))
    status = ctypes.CFUNCTYPE(c_uint32, c_void_p)(address.value)
    context = az.context()
    assert status(context) == OK
    az.ok("zeContextDestroy", context)
    assert status(context) != OK
    for name in (b"", b"zeNothing", b"zeContextGetStatu", b"zeContextGetStatusX", b"\xff" * 300):
        az.error(INVALID_ARGUMENT, "zeDriverGetExtensionFunctionAddress", az.driver, name, byref(address))


def test_every_function_can_be_found_by_name(az: Calls) -> None:
    lib = ctypes.CDLL(az.lib.path)
    for name in core():
        address = c_void_p()
        az.ok("zeDriverGetExtensionFunctionAddress", az.driver, name.encode(), byref(address))
        assert address.value == ctypes.cast(getattr(lib, name), c_void_p).value, name


def test_last_error_belongs_to_the_thread(az: Calls) -> None:
    az.error(ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "zeContextGetStatus", c_void_p(0x1234))
    assert "zeContextGetStatus" in az.last_error()
    assert "0x1234" in az.last_error()
    seen = []

    def other() -> None:
        seen.append(az.last_error())
        az.call("zeFenceReset", None)
        seen.append(az.last_error())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen[0] == ""
    assert "zeFenceReset" in seen[1]
    assert "0x1234" in az.last_error()


def test_last_error_survives_long_names(az: Calls) -> None:
    address = c_void_p()
    az.error(INVALID_ARGUMENT, "zeDriverGetExtensionFunctionAddress", az.driver, b"%s%n" * 4000, byref(address))
    assert "%s%n%s%n" in az.last_error()


def test_versions_and_identity(az: Calls) -> None:
    version = az.query("zeDriverGetApiVersion", c_uint32, az.driver)
    assert version == ze.ZE_API_VERSION_CURRENT
    assert version >> 16 == 1
    first = az.query("zeDriverGetProperties", ze.ze_driver_properties_t, az.driver)
    again = az.query("zeDriverGetProperties", ze.ze_driver_properties_t, az.driver)
    assert bytes(first.uuid.id) == bytes(again.uuid.id) != bytes(16)
    assert first.driverVersion > 0
    ipc = az.query("zeDriverGetIpcProperties", ze.ze_driver_ipc_properties_t, az.driver)
    assert ipc.flags & ze.ZE_IPC_PROPERTY_FLAG_MEMORY
    assert ipc.flags & ze.ZE_IPC_PROPERTY_FLAG_EVENT_POOL


def test_driver_properties_chain(az: Calls) -> None:
    handles_ext = ze.ze_driver_ddi_handles_ext_properties_t()
    free = ze.ze_driver_memory_free_ext_properties_t(pNext=ctypes.addressof(handles_ext))
    properties = ze.ze_driver_properties_t(pNext=ctypes.addressof(free))
    az.ok("zeDriverGetProperties", az.driver, byref(properties))
    assert handles_ext.flags & ze.ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED
    assert free.freePolicies == 3
    assert properties.pNext == ctypes.addressof(free)


def test_default_context(az: Calls) -> None:
    context = az.lib.zeDriverGetDefaultContext(az.driver)
    assert context
    assert context == az.lib.zeDriverGetDefaultContext(az.driver)
    az.ok("zeContextGetStatus", context)
    assert az.call("zeContextDestroy", context) != OK
    az.ok("zeContextGetStatus", context)
    address = az.memory(c_void_p(context), 100)
    az.ok("zeMemFree", context, address)
    for value in (None, 1, context):
        assert az.lib.zeDriverGetDefaultContext(value) is None


@pytest.mark.parametrize("flags", [1, 2, 3])
def test_get_needs_a_count(az: Calls, flags: int) -> None:
    desc = ze.ze_init_driver_type_desc_t(flags=flags)
    az.error(ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zeInitDrivers", None, None, byref(desc))
    az.error(ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zeInitDrivers", byref(c_uint32()), None, None)


def test_error_text_is_a_c_string_that_stays(az: Calls) -> None:
    """The pointer is read after further good calls: it must neither dangle nor change under a successful call."""
    az.call("zeContextGetStatus", None)
    text = c_char_p()
    az.ok("zeDriverGetLastErrorDescription", az.driver, byref(text))
    before = text.value
    for _ in range(100):
        az.query("zeDriverGetApiVersion", c_uint32, az.driver)
    assert text.value == before
