"""Our loader with our driver behind it: start-up, every call before and after it, threads, forks, exits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.abi.loaders import LOADER, run_loaded

EVERY_CALL = """
from tests.abi.specification import api
from codegen.loader import STARTING
slots = [slot.function for table in api().tables.values() for slot in table.slots]
def answers(library):
    "What each function returns when it is given nothing."
    found = {}
    for name in slots:
        params, function = api().functions[name].params, getattr(library, name)
        if name in STARTING or any(param.type in api().structs for param in params):
            continue
        function.restype = c_void_p if api().functions[name].type.endswith("handle_t") else c_uint32
        function.argtypes = [c_void_p] * len(params)
        found[name] = function(*[None] * len(params))
    return found
"""


def test_a_copy_and_a_launch() -> None:
    run_loaded("work(Calls())")


def test_before_zeinit_every_call_says_so() -> None:
    run_loaded(
        EVERY_CALL
        + """
for name, answer in answers(lib).items():
    none = {"ze_result_t": UNINITIALIZED, "uint32_t": 0xffffffff}.get(api().functions[name].type)
    assert answer == none, f"{name}: {answer}"
assert not any("libze_anyzero" in line for line in open("/proc/self/maps")), "no driver was requested yet"
"""
    )


def test_with_one_driver_library_calls_go_straight_through() -> None:
    run_loaded(
        EVERY_CALL
        + """
az = Calls()
direct, loaded = answers(ctypes.CDLL(str(DRIVER))), answers(lib)
assert len(direct) > 400
assert {name: (loaded[name], direct[name]) for name in direct if loaded[name] != direct[name]} == {}
for garbage in (0x10, 0xdeadbeef, 0x7fff12345678):
    az.error(INVALID_NULL_HANDLE, "zeContextGetStatus", c_void_p(garbage))
context = az.context()
az.ok("zeContextDestroy", context)
az.error(INVALID_NULL_HANDLE, "zeContextGetStatus", context)
block = (c_uint64 * 4).from_address(az.driver.value)
assert all(block), "the handle is the driver's own"
"""
    )


def test_zeinitdrivers_first_and_alone() -> None:
    run_loaded(
        """
        az = Calls(init=False)
        desc, count = ze.ze_init_driver_type_desc_t(flags=1), c_uint32()
        az.error(INVALID_NULL_POINTER, "zeInitDrivers", None, None, byref(desc))
        az.error(INVALID_NULL_POINTER, "zeInitDrivers", byref(count), None, None)
        no_type = ze.ze_init_driver_type_desc_t(flags=0)
        az.error(INVALID_ENUMERATION, "zeInitDrivers", byref(count), None, byref(no_type))
        assert count_drivers() == UNINITIALIZED, "a failed call has started nothing"
        az.ok("zeInitDrivers", byref(count), None, byref(desc))
        assert count.value == 1
        found = (c_void_p * 3)()
        count.value = 3
        az.ok("zeInitDrivers", byref(count), found, byref(desc))
        assert count.value == 1 and found[0] and not found[1]
        assert count_drivers() == 1
        work(on(c_void_p(found[0])))
        desc.flags = 2
        az.ok("zeInitDrivers", byref(count), None, byref(desc))
        assert count.value == 0
        desc.flags = 0xffffffff
        az.ok("zeInitDrivers", byref(count), None, byref(desc))
        assert count.value == 1
        """
    )


def test_flags_of_zeinit() -> None:
    run_loaded(
        """
        az = Calls(init=False)
        az.error(INVALID_ENUMERATION, "zeInit", 0x40)
        az.error(UNINITIALIZED, "zeInit", 2)
        assert count_drivers() == UNINITIALIZED
        az.ok("zeInit", 1)
        az.ok("zeInit", 0)
        assert count_drivers() == 1
        work(Calls())
        """
    )


@pytest.mark.parametrize("holding", ["ctypes.CDLL", "ctypes.PyDLL"])
def test_many_threads_start_at_once(holding: str) -> None:
    """With and without the interpreter's lock: a loader that waits for itself with the lock held never returns."""
    run_loaded(
        f"""
        holding = {holding}(str(LOADER))
        free = ctypes.CDLL(str(LOADER))
        gate, results = threading.Barrier(16), []
        def start(index):
            gate.wait()
            library = holding if index % 2 else free
            code = library.zeInit(0)
            results.append(code or count_drivers())
        threads = [threading.Thread(target=start, args=(index,)) for index in range(16)]
        for thread in threads: thread.start()
        for thread in threads: thread.join(200)
        assert results == [1] * 16, results
        work(Calls())
        """
    )


def test_forks_before_and_after_the_start() -> None:
    run_loaded(
        """
        def fork(task):
            pid = os.fork()
            if pid == 0:
                signal.alarm(200)
                code = 1
                try:
                    task()
                    code = 0
                finally:
                    os._exit(code)
            return pid
        def reap(pid):
            assert os.waitpid(pid, 0)[1] == 0, "14 means that it hung"
        reap(fork(lambda: work(Calls())))
        work(Calls())
        reap(fork(lambda: work(Calls())))
        """
    )


def test_calls_from_exit_handlers() -> None:
    done = run_loaded(
        """
        import atexit
        az = Calls()
        context = az.context()
        room, l = az.memory(context, 64), az.immediate(context, mode=1)
        def late():
            az.fill(l, room, 9, 64)
            assert read(room, 64) == bytes([9]) * 64
            az.ok("zeMemFree", context, room)
            print("late")
        atexit.register(late)
        """
    )
    assert done.stdout == "late\n"


def test_the_driver_that_python_already_uses_is_shared() -> None:
    run_loaded(
        """
        import anyzero
        device = anyzero.device()
        az = Calls()
        direct = ctypes.CDLL(str(DRIVER))
        found, count = (c_void_p * 4)(), c_uint32(4)
        assert direct.zeDriverGet(byref(count), found) == 0
        assert found[0] == az.driver.value
        """
    )


def test_a_relative_path_and_another_directory() -> None:
    """The driver is beside the loader, for any working folder."""
    run_loaded(
        """
        import shutil, tempfile
        folder = tempfile.mkdtemp()
        for name in (LOADER, DRIVER): shutil.copy(name, folder)
        os.symlink(os.path.join(folder, LOADER.name), os.path.join(folder, "link.so"))
        os.chdir(folder)
        moved = ctypes.CDLL("./link.so")
        os.chdir("/")
        assert moved.zeInit(0) == 0
        assert any(folder + "/libze_anyzero" in line for line in open("/proc/self/maps"))
        shutil.rmtree(folder)
        """
    )


def test_without_the_driver_there_is_nothing(tmp_path: Path) -> None:
    done = run_loaded(
        """
        import shutil
        alone = ctypes.CDLL(shutil.copy(LOADER, os.environ["FOLDER"]))
        assert alone.zeInit(0) & 0xffffffff == UNINITIALIZED
        desc = ze.ze_init_driver_type_desc_t(flags=1)
        assert alone.zeInitDrivers(byref(c_uint32()), None, byref(desc)) & 0xffffffff == UNINITIALIZED
        assert alone.zesInit(0) & 0xffffffff == UNINITIALIZED
        assert alone.zeLoaderInit() & 0xffffffff == UNINITIALIZED
        assert alone.zeDriverGet(byref(c_uint32()), None) & 0xffffffff == UNINITIALIZED
        """,
        FOLDER=str(tmp_path),
    )
    assert "libze_anyzero.so.1" in done.stderr
    assert "no driver can be used" in done.stderr


def test_the_loader_is_built() -> None:
    assert LOADER.is_file(), "make build"
