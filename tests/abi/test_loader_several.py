"""Our loader with several driver libraries: ours, a copy of it, and small ones made for the purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.abi.calls import LIBRARY
from tests.abi.loaders import LOADER, copy_of_driver, fake_driver, run_loaded

MARK = 0x1002A
CURRENT = "ZE_API_VERSION_CURRENT"

VERSIONS = """
def versions():
    az = Calls(init=False)
    az.ok("zeInit", 0)
    return [az.query("zeDriverGetApiVersion", c_uint32, driver) for driver in az.several("zeDriverGet")]
OURS, FAKE = ze.ZE_API_VERSION_CURRENT, 0x1002a
"""


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_driver(tmp_path_factory.mktemp("second"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drivers")


@pytest.fixture(scope="module")
def plain(folder: Path) -> Path:
    """A driver whose objects say nothing about where they come from."""
    return fake_driver(folder, "plain", MARK=MARK, INIT_DRIVERS=None)


@pytest.fixture(scope="module")
def tabled(folder: Path) -> Path:
    """A driver whose objects begin with its tables."""
    return fake_driver(folder, "tabled", MARK=MARK, TABLES=CURRENT, INIT_DRIVERS=None)


def test_the_drivers_of_all_libraries_work_side_by_side(second: Path) -> None:
    run_loaded(
        """
        first, second = map(on, Calls().several("zeDriverGet"))
        assert first.driver.value != second.driver.value
        for _ in range(2):
            work(first)
            work(second)
        one, two = first.context(), second.context()
        mixed = c_void_p()
        desc = ze.ze_command_queue_desc_t()
        first.error(INVALID_NULL_HANDLE, "zeCommandQueueCreate", one, second.device, byref(desc), byref(mixed))
        second.error(INVALID_NULL_HANDLE, "zeCommandQueueCreate", two, first.device, byref(desc), byref(mixed))
        first.error(INVALID_NULL_HANDLE, "zeCommandListClose", one)
        second.ok("zeContextDestroy", two)
        second.error(INVALID_NULL_HANDLE, "zeContextGetStatus", two)
        first.ok("zeContextGetStatus", one)
        """,
        drivers=[second],
    )


def test_each_library_has_its_own_functions_behind_its_handles(second: Path) -> None:
    run_loaded(
        """
        drivers = Calls().several("zeDriverGet")
        tables = {(c_uint64 * 4).from_address(driver.value)[0] for driver in drivers}
        assert len(tables) == 2
        contexts = [on(driver).context() for driver in drivers]
        assert {(c_uint64 * 4).from_address(context.value)[0] for context in contexts} == tables
        texts = []
        for driver in drivers:
            az = on(driver)
            az.call("zeDriverGetExtensionFunctionAddress", driver, str(driver.value).encode(), byref(c_void_p()))
            assert str(driver.value) in az.last_error()
        """,
        drivers=[second],
    )


def test_the_two_call_pattern_over_all_libraries(second: Path, tabled: Path) -> None:
    run_loaded(
        """
        az = Calls()
        desc = ze.ze_init_driver_type_desc_t(flags=1)
        everything = [handle.value for handle in az.several("zeDriverGet")]
        assert len(set(everything)) == 3
        for get in (lambda *a: az.ok("zeDriverGet", *a), lambda *a: az.ok("zeInitDrivers", *a, byref(desc))):
            for room in range(1, 6):
                count, found = c_uint32(room), (c_void_p * 6)()
                get(byref(count), found)
                assert count.value == min(room, 3)
                assert list(found)[: count.value] == everything[: count.value]
                assert not any(list(found)[count.value :])
            count, found = c_uint32(0), (c_void_p * 6)()
            get(byref(count), found)
            assert count.value == 3 and not any(found)
        az.error(INVALID_NULL_POINTER, "zeDriverGet", None, None)
        """,
        drivers=[second, tabled],
    )


def test_calls_without_an_object_are_refused_where_they_need_one(second: Path) -> None:
    run_loaded(
        """
        from codegen.loader import kind_of
        from tests.abi.specification import api
        Calls()
        slots = [slot.function for table in api().tables.values() for slot in table.slots]
        seen = 0
        for name in slots:
            function = api().functions[name]
            if kind_of(api(), function) != "FUNCTION" or any(param.type in api().structs for param in function.params):
                continue
            call = getattr(lib, name)
            call.restype = c_void_p if function.type.endswith("handle_t") else c_uint32
            call.argtypes = [c_void_p] * len(function.params)
            for value in (None, 1, 8, 4095, 0x7fffffffff01):
                answer = call(value, *[None] * (len(function.params) - 1))
                expected = {"ze_result_t": INVALID_NULL_HANDLE, "uint32_t": 0xffffffff}.get(function.type)
                assert answer == expected, f"{name}({value}): {answer}"
            seen += 1
        assert seen > 400
        link = Calls(init=False)
        link.error(INVALID_NULL_POINTER, "zeModuleDynamicLink", 1, None, None)
        link.error(INVALID_SIZE, "zeModuleDynamicLink", 0, handles([None]), None)
        link.error(INVALID_NULL_HANDLE, "zeModuleDynamicLink", 1, handles([None]), None)
        """,
        drivers=[second],
    )


def test_modules_are_linked_by_the_driver_they_come_from(second: Path) -> None:
    run_loaded(
        """
        code = (ROOT / "tests/kernels/saxpy.spv").read_bytes()
        text = ctypes.create_string_buffer(code, len(code))
        desc = ze.ze_module_desc_t(format=0, inputSize=len(code), pInputModule=ctypes.addressof(text))
        for driver in Calls().several("zeDriverGet"):
            az = on(driver)
            module = c_void_p()
            az.ok("zeModuleCreate", az.context(), az.device, byref(desc), byref(module), None)
            az.ok("zeModuleDynamicLink", 1, handles([module]), None)
        """,
        drivers=[second],
    )


def test_the_runtime_api_is_about_the_first_driver(second: Path) -> None:
    run_loaded(
        """
        first, second = map(on, Calls().several("zeDriverGet"))
        lib.zerTranslateDeviceHandleToIdentifier.restype = c_uint32
        lib.zerTranslateIdentifierToDeviceHandle.restype = lib.zerGetDefaultContext.restype = c_void_p
        identifier = lib.zerTranslateDeviceHandleToIdentifier(first.device)
        assert lib.zerTranslateIdentifierToDeviceHandle(identifier) == first.device.value
        assert lib.zerTranslateDeviceHandleToIdentifier(second.device) == 0xffffffff
        first.ok("zeContextGetStatus", c_void_p(lib.zerGetDefaultContext()))
        """,
        drivers=[second],
    )


def test_threads_use_both_libraries_from_the_start(second: Path) -> None:
    run_loaded(
        """
        gate, failures = threading.Barrier(8), []
        def use(index):
            try:
                gate.wait()
                drivers = Calls().several("zeDriverGet")
                assert len(drivers) == 2
                work(on(drivers[index % 2]))
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=use, args=(index,)) for index in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join(200)
        assert failures == []
        pid = os.fork()
        if pid == 0:
            signal.alarm(200)
            for driver in Calls().several("zeDriverGet"): work(on(driver))
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        drivers=[second],
    )


def test_our_own_driver_is_loaded_once_however_it_is_named(tmp_path: Path) -> None:
    link = tmp_path / "libze_link.so"
    link.symlink_to(LIBRARY)
    detour = LIBRARY.parent / ".." / LIBRARY.parent.name / LIBRARY.name
    for drivers in ([LIBRARY], [LIBRARY, link], [detour, link]):
        done = run_loaded(VERSIONS + "assert versions() == [OURS]\nwork(Calls())", drivers=drivers)
        assert done.stderr == ""


def test_what_is_no_driver_is_left_out_and_said_so(tmp_path: Path, tabled: Path) -> None:
    text, empty = tmp_path / "text.so", tmp_path / "empty.so"
    text.write_text("not a library")
    empty.write_bytes(b"")
    bad: list[Path | str] = [tmp_path / "missing.so", text, empty, tmp_path, "libm.so.6", LOADER]
    done = run_loaded(VERSIONS + "assert versions() == [OURS, FAKE]\nwork(Calls())", drivers=[*bad, "", tabled])
    lines = done.stderr.splitlines()
    assert len(lines) == len(bad)
    for path, line in zip(bad, lines, strict=True):
        assert "skipped" in line
        assert str(path) in line


def test_only_bad_paths_leave_our_driver(tmp_path: Path) -> None:
    done = run_loaded(VERSIONS + "assert versions() == [OURS]", drivers=[tmp_path / "missing.so"])
    assert "missing.so" in done.stderr


def test_the_order_is_ours_first_unless_chosen(tabled: Path) -> None:
    run_loaded(VERSIONS + "assert versions() == [OURS, FAKE]", drivers=[tabled])
    run_loaded(VERSIONS + "assert versions() == [FAKE, OURS]", drivers=[tabled, LIBRARY])


def test_a_driver_without_tables_is_left_out_beside_others(plain: Path, tabled: Path) -> None:
    done = run_loaded(
        VERSIONS + "assert versions() == [OURS]\nassert versions() == [OURS]\nwork(Calls())", drivers=[plain]
    )
    (line,) = done.stderr.splitlines()
    assert str(plain) in line
    assert "ZE_extension_driver_ddi_handles" in line
    run_loaded(VERSIONS + "assert versions() == [OURS, FAKE]\nwork(Calls())", drivers=[plain, tabled])
    run_loaded(
        """
        desc, count = ze.ze_init_driver_type_desc_t(flags=1), c_uint32()
        az = Calls(init=False)
        az.ok("zeInitDrivers", byref(count), None, byref(desc))
        assert count.value == 1
        """,
        drivers=[plain],
    )


def test_a_driver_alone_needs_no_tables(plain: Path) -> None:
    """Without our driver beside the loader, other drivers work, even with few functions."""
    done = run_loaded(
        """
        import shutil, tempfile
        folder = tempfile.mkdtemp()
        calls.LIBRARY = shutil.copy(LOADER, folder)
        az = Calls()
        assert az.query("zeDriverGetApiVersion", c_uint32, az.driver) == 0x1002a
        az.error(UNSUPPORTED_FEATURE, "zeContextCreate", az.driver, byref(ze.ze_context_desc_t()), byref(c_void_p()))
        az.error(UNSUPPORTED_FEATURE, "zeDeviceSynchronize", az.device)
        shutil.rmtree(folder)
        """,
        drivers=[plain],
    )
    assert "libze_anyzero.so.1" in done.stderr


def test_an_older_driver_is_asked_for_what_it_has(folder: Path) -> None:
    """It refuses our version, lacks zeInitDrivers, and its tables end before newer functions."""
    older = fake_driver(folder, "older", MARK=MARK, TABLES="ZE_API_VERSION_1_13", NEWEST="ZE_API_VERSION_1_3")
    run_loaded(
        """
        desc, count, found = ze.ze_init_driver_type_desc_t(flags=1), c_uint32(2), (c_void_p * 2)()
        az = Calls(init=False)
        az.ok("zeInitDrivers", byref(count), found, byref(desc))
        assert count.value == 2
        old = on(c_void_p(found[1]))
        assert old.query("zeDriverGetApiVersion", c_uint32, old.driver) == 0x1002a
        old.error(UNSUPPORTED_FEATURE, "zeDeviceSynchronize", old.device)
        old.error(UNSUPPORTED_FEATURE, "zeContextCreate", old.driver, byref(ze.ze_context_desc_t()), byref(c_void_p()))
        desc.flags = 2
        count.value = 2
        az.ok("zeInitDrivers", byref(count), found, byref(desc))
        assert count.value == 0
        """,
        drivers=[older],
    )


def test_a_table_that_cannot_be_had_is_missing(folder: Path) -> None:
    sick = fake_driver(folder, "sick", MARK=MARK, SICK=None)
    run_loaded(
        """
        import shutil, tempfile
        folder = tempfile.mkdtemp()
        calls.LIBRARY = shutil.copy(LOADER, folder)
        az = Calls()
        az.error(UNSUPPORTED_FEATURE, "zeContextCreate", az.driver, byref(ze.ze_context_desc_t()), byref(c_void_p()))
        shutil.rmtree(folder)
        """,
        drivers=[sick],
    )


def test_a_driver_that_does_not_start_leaves_the_others(folder: Path) -> None:
    broken = fake_driver(folder, "broken", MARK=MARK, TABLES=CURRENT, INIT="ZE_RESULT_ERROR_DEVICE_LOST")
    run_loaded(VERSIONS + "assert versions() == [OURS]\nwork(Calls())", drivers=[broken])
    run_loaded(
        """
        assert lib.zeInit(0) & 0xffffffff == DEVICE_LOST
        assert count_drivers() == UNINITIALIZED
        """,
        drivers=[broken, LIBRARY],
        ANYZERO_DEVICES="nonsense",
    )


def test_what_happens_can_be_traced(second: Path) -> None:
    done = run_loaded(VERSIONS + "versions()", drivers=[second], ZE_ENABLE_LOADER_DEBUG_TRACE="1")
    assert f"driver library {second}" in done.stderr
    assert f"driver library {LIBRARY}" in done.stderr
    done = run_loaded("lib.zeInit(0)", ZE_ENABLE_LOADER_DEBUG_TRACE="1", ANYZERO_DEVICES="nonsense")
    assert "nonsense" in done.stderr, "the driver's reason is told"


def test_system_management_of_all_libraries(second: Path, tabled: Path, plain: Path) -> None:
    """Also without zeInit. Libraries without it are skipped, independent of the core API."""
    done = run_loaded(
        """
        assert lib.zesInit(0) == OK
        count, drivers = c_uint32(8), (c_void_p * 8)()
        assert lib.zesDriverGet(byref(count), drivers) == OK
        assert count.value == 2
        seen = set()
        for driver in drivers[:2]:
            devices, modules = (c_void_p * 8)(), (c_void_p * 8)()
            count.value = 8
            assert lib.zesDeviceGet(c_void_p(driver), byref(count), devices) == OK
            assert count.value == 1
            count.value = 8
            assert lib.zesDeviceEnumMemoryModules(c_void_p(devices[0]), byref(count), modules) == OK
            assert count.value >= 1
            state = (c_uint64 * 8)()
            state[0] = 0x1e
            assert lib.zesMemoryGetState(c_void_p(modules[0]), state) == OK
            seen |= {driver, devices[0], modules[0]}
        assert len(seen) == 6
        """,
        drivers=[second, tabled, plain],
    )
    assert done.stderr == ""


def test_system_management_of_one_library() -> None:
    run_loaded(
        """
        assert lib.zesDriverGet(byref(c_uint32()), None) & 0xffffffff == UNINITIALIZED
        assert lib.zesInit(0) == OK
        count = c_uint32()
        assert lib.zesDriverGet(byref(count), None) == OK
        assert count.value == 1
        """
    )
