"""The loader's tracing layer: `zelTracer...`, the variable that switches it on, and what a tracer must not do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.abi.calls import ROOT
from tests.abi.loaders import LOADER, compiler, copy_of_driver, run_loaded, run_program

PROGRAMS = ROOT / "tests" / "clients" / "programs"

TRACERS = """
import codegen.loader_names as loader_names
from tests.abi.specification import api

PROLOGUE, EPILOGUE = 0, 1
IN_USE, INVALID_ENUMERATION = 0x78000006, 0x7800000c

class Desc(ctypes.Structure):
    _fields_ = (("stype", c_uint32), ("pNext", c_void_p), ("pUserData", c_void_p))

def zel(name, *arguments):
    function = getattr(lib, name)
    function.restype = c_uint32
    return function(*arguments)

def tracer(user=7):
    made = c_void_p()
    assert zel("zelTracerCreate", byref(Desc(1, None, user)), byref(made)) == OK
    return made

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(c_void_p), c_uint32, c_void_p, ctypes.POINTER(c_void_p))
seen = []
def callback(label):
    def called(parameters, result, user, instance):
        seen.append((label, result, user))
    made = CALLBACK(called)
    kept.append(made)
    return made
kept = []

def enable(handle, on=True):
    assert zel("zelTracerSetEnabled", handle, on) == OK
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with the package's own headers."""
    built = tmp_path_factory.mktemp("tracers") / "tracers"
    command = [compiler(), "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-pthread"]
    where = [f"-I{ROOT / 'src' / 'anyzero' / 'include'}", f"-L{LOADER.parent}", f"-Wl,-rpath,{LOADER.parent}"]
    source = str(PROGRAMS / "tracers.c")
    subprocess.run([*command, *where, source, f"-l:{LOADER.name}", "-o", str(built)], check=True)
    return built


@pytest.mark.parametrize("several", [False, True])
def test_tracers_of_a_program_with_threads(program: Path, several: bool, tmp_path: Path) -> None:
    output = run_program(program, drivers=[copy_of_driver(tmp_path)] if several else [], ANYZERO_PYTHON=python())
    assert "no call of any thread is missed" in output
    assert "FAILED" not in output


def python() -> str:
    return os.environ.get("ANYZERO_PYTHON", str(ROOT / ".venv" / "bin" / "python"))


def test_the_variable_switches_the_layer_on_at_the_first_initialization() -> None:
    """Tools set it in their own process, after the loader has been loaded."""
    run_loaded(
        TRACERS
        + """
import os
on = ctypes.c_bool()
assert zel("zelGetTracingLayerState", byref(on)) == OK and not on
handle = tracer()
assert zel("zelTracerInitRegisterCallback", handle, PROLOGUE, callback("before")) == OK
assert zel("zelTracerInitRegisterCallback", handle, EPILOGUE, callback("after")) == OK
enable(handle)
os.environ["ZE_ENABLE_TRACING_LAYER"] = "1"
assert lib.zeInit(0) == OK
assert seen == [("before", 0, 7), ("after", 0, 7)]
assert zel("zelGetTracingLayerState", byref(on)) == OK and on
work(Calls())
"""
    )


def test_every_function_of_the_core_and_runtime_apis_can_be_traced() -> None:
    """Each is called with nothing but zeros, which drivers refuse; its callbacks see the refusal and every argument."""
    run_loaded(
        TRACERS
        + """
handle = tracer()
functions = {register: api().functions[name] for register, name in loader_names.tracer_callbacks(api()).items()}
assert len(functions) > 250
calls = Calls()  # drivers are there
stay_away = {"zeInit"}  # the only one that would succeed
counts = []
def watch(name, places):
    def called(parameters, result, user, instance):
        counts.append((name, len([1 for place in range(places) if parameters[place]])))
    made = CALLBACK(called)
    kept.append(made)
    return made
for register, function in functions.items():
    for when in (PROLOGUE, EPILOGUE):
        assert zel(register, handle, when, watch(function.name, len(function.params))) == OK
    assert zel(register, handle, 2, None) == INVALID_ENUMERATION
    assert zel(register, None, PROLOGUE, None) == INVALID_NULL_HANDLE
enable(handle)
assert zel("zelEnableTracingLayer") == OK
for function in functions.values():
    if function.name in stay_away:
        continue
    call = getattr(lib, function.name)
    call.restype = c_void_p
    call(*[c_uint64(0)] * len(function.params))
    assert counts == [(function.name, len(function.params))] * 2, function.name
    counts.clear()
"""
    )


def test_what_a_tracer_refuses() -> None:
    run_loaded(
        TRACERS
        + """
calls = Calls()
assert zel("zelEnableTracingLayer") == OK
assert zel("zelTracerCreate", None, byref(c_void_p())) == INVALID_NULL_POINTER
assert zel("zelTracerCreate", byref(Desc(1)), None) == INVALID_NULL_POINTER
handle = tracer()
table = (c_void_p * 400)()
nowhere = c_void_p(0x1230)
for wrong in (None, nowhere):
    assert zel("zelTracerDestroy", wrong) == INVALID_NULL_HANDLE
    assert zel("zelTracerSetPrologues", wrong, table) == INVALID_NULL_HANDLE
    assert zel("zelTracerSetEpilogues", wrong, table) == INVALID_NULL_HANDLE
    assert zel("zelTracerSetEnabled", wrong, 1) == INVALID_NULL_HANDLE
    assert zel("zelTracerResetAllCallbacks", wrong) == INVALID_NULL_HANDLE
assert zel("zelTracerSetPrologues", handle, None) == INVALID_NULL_POINTER

register = "zelTracerDriverGetRegisterCallback"
results = []
def meddle(*arguments):
    results.append(zel("zelTracerDestroy", handle))
    results.append(zel("zelTracerSetEnabled", handle, 0))
    results.append(zel("zelTracerDestroy", handle))
kept.append(CALLBACK(meddle))
assert zel(register, handle, PROLOGUE, kept[-1]) == OK
assert zel(register, handle, EPILOGUE, callback("after")) == OK
enable(handle)
assert zel(register, handle, PROLOGUE, None) == INVALID_ARGUMENT
assert zel("zelTracerResetAllCallbacks", handle) == INVALID_ARGUMENT
assert zel("zelTracerDestroy", handle) == IN_USE
assert count_drivers() > 0
# Disabled by its own callback: the epilogue of that call still comes, and the tracer cannot go before.
assert results == [IN_USE, OK, IN_USE]
assert seen == [("after", 0, 7)]
count_drivers()
assert len(results) == 3

# It may be enabled again, with other callbacks.
assert zel("zelTracerResetAllCallbacks", handle) == OK
enable(handle)
count_drivers()
assert len(results) == 3 and len(seen) == 1
enable(handle, False)
assert zel(register, handle, PROLOGUE, callback("again")) == OK
enable(handle)
count_drivers()
assert seen[1:] == [("again", 0, 7)]
enable(handle, False)
assert zel("zelTracerDestroy", handle) == OK
assert zel("zelTracerDestroy", handle) == INVALID_NULL_HANDLE
"""
    )


def test_a_tracer_goes_when_the_last_call_that_knows_it_has_ended() -> None:
    """A wait in another thread has called its prologue; destroying the tracer waits for the epilogue."""
    run_loaded(
        TRACERS
        + """
import threading
calls = Calls()
assert zel("zelEnableTracingLayer") == OK
handle = tracer()
entered = threading.Event()
def enter(*arguments):
    entered.set()
kept.append(CALLBACK(enter))
assert zel("zelTracerEventHostSynchronizeRegisterCallback", handle, PROLOGUE, kept[-1]) == OK
assert zel("zelTracerEventHostSynchronizeRegisterCallback", handle, EPILOGUE, callback("after")) == OK
enable(handle)
event = calls.event(calls.pool(calls.context(), 1))
waits = threading.Thread(target=lambda: lib.zeEventHostSynchronize(event, c_uint64(2**64 - 1)))
waits.start()
entered.wait()
enable(handle, False)
ends = []
destroys = threading.Thread(target=lambda: ends.append((zel("zelTracerDestroy", handle), list(seen))))
destroys.start()
assert not seen
calls.ok("zeEventHostSignal", event)
destroys.join()
waits.join()
assert ends == [(OK, [("after", 0, 7)])]
"""
    )


def test_a_fork_leaves_the_calls_of_other_threads_behind() -> None:
    run_loaded(
        TRACERS
        + """
import os, threading
calls = Calls()
assert zel("zelEnableTracingLayer") == OK
handle = tracer()
entered = threading.Event()
def enter(*arguments):
    entered.set()
kept.append(CALLBACK(enter))
assert zel("zelTracerEventHostSynchronizeRegisterCallback", handle, PROLOGUE, kept[-1]) == OK
enable(handle)
event = calls.event(calls.pool(calls.context(), 1))
threading.Thread(target=lambda: lib.zeEventHostSynchronize(event, c_uint64(2**64 - 1)), daemon=True).start()
entered.wait()
child = os.fork()
if not child:
    enable(handle, False)
    os._exit(zel("zelTracerDestroy", handle))
assert os.waitpid(child, 0)[1] == 0
calls.ok("zeEventHostSignal", event)
"""
    )


def test_experimental_tracers_are_the_same_tracers() -> None:
    run_loaded(
        TRACERS
        + """
calls = Calls()
context = calls.context()
made = c_void_p()
assert zel("zetTracerExpCreate", context, byref(Desc(0x10001, None, 7)), byref(made)) == OK
offsets, place = {}, 0
for table in api().structs["ze_callbacks_t"]:
    for field in api().structs[table.type]:
        offsets[field.type] = place
        place += 1
table = (c_void_p * place)()
table[offsets["ze_pfnDriverGetCb_t"]] = ctypes.cast(callback("get"), c_void_p).value
assert zel("zetTracerExpSetPrologues", made, table) == OK
assert zel("zetTracerExpSetEpilogues", made, table) == OK
assert zel("zetTracerExpSetEnabled", made, 1) == OK
count_drivers()
assert len(seen) == 2
assert zel("zetTracerExpDestroy", made) == IN_USE
assert zel("zetTracerExpSetEnabled", made, 0) == OK
assert zel("zetTracerExpDestroy", made) == OK
assert zel("zetTracerExpCreate", None, byref(Desc()), byref(made)) == INVALID_NULL_HANDLE
""",
        ZET_ENABLE_API_TRACING_EXP="1",
    )


def test_a_loader_inside_of_a_program_traces_through_its_own_switch() -> None:
    """It takes the tables and the functions of tracers from this library, and its calls are traced with ours off."""
    run_loaded(
        TRACERS
        + """
lib.zeLoaderGetTracingHandle.restype = c_void_p
own = ctypes.CDLL(None, handle=lib.zeLoaderGetTracingHandle())
assert ctypes.cast(own.zelTracerCreate, c_void_p).value == ctypes.cast(lib.zelTracerCreate, c_void_p).value
table = c_void_p()
assert zel("zelLoaderTracingLayerInit", byref(table)) == OK
slots = [slot.function for field in api().table_structs["ze_dditable_t"] for slot in api().tables[field.type].slots]
pointers = (c_void_p * len(slots)).from_address(table.value)
def through(name, *types):
    return ctypes.CFUNCTYPE(c_uint32, *types)(pointers[slots.index(name)])
handle = tracer()
assert zel("zelTracerDriverGetRegisterCallback", handle, EPILOGUE, callback("get")) == OK
enable(handle)
count = c_uint32()
get = through("zeDriverGet", c_void_p, c_void_p)
assert get(byref(count), None) == UNINITIALIZED
assert through("zeInit", c_uint32)(0) == OK
assert get(byref(count), None) == OK and count.value
assert seen == [("get", UNINITIALIZED, 7), ("get", OK, 7)]
assert count_drivers() and len(seen) == 2
"""
    )
