"""The loader's own functions: versions, handles, tables for tracing, teardown, and the calls of a static loader."""

from __future__ import annotations

import ctypes
import tomllib
from ctypes import byref, c_bool, c_char, c_int, c_size_t, c_uint32, c_void_p

import pytest

from codegen import loader_names
from tests.abi.calls import INVALID_ARGUMENT, INVALID_NULL_POINTER, OK, ROOT
from tests.abi.loaders import LOADER, run_loaded
from tests.abi.specification import api

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE = tuple(map(int, PROJECT["version"].split(".")))


class Component(ctypes.Structure):
    _fields_ = (("name", c_char * 64), ("spec", c_uint32), ("major", c_int), ("minor", c_int), ("patch", c_int))

    def numbers(self) -> tuple[int, int, int]:
        return self.major, self.minor, self.patch


@pytest.fixture(scope="module")
def lib() -> ctypes.CDLL:
    """Nothing here starts a driver."""
    library = ctypes.CDLL(str(LOADER))
    for name in loader_names.LOADER_API:
        getattr(library, name).restype = c_uint32
    library.zelCheckIsLoaderInTearDown.restype = c_bool
    library.zeLoaderGetTracingHandle.restype = library.zelLoaderGetContext.restype = c_void_p
    return library


@pytest.mark.parametrize("function", ["zelLoaderGetVersions", "zelLoaderGetVersionsInternal"])
def test_versions(lib: ctypes.CDLL, function: str) -> None:
    get = getattr(lib, function)
    count = c_size_t(99)
    assert get(byref(count), None) == OK
    assert count.value == 2
    found = (Component * 4)()
    count.value = 4
    assert get(byref(count), found) == OK
    assert count.value == 2
    loader, ours = found[0], found[1]
    assert (loader.name, loader.numbers()) == (b"loader", loader_names.RELEASE)
    assert (ours.name, ours.numbers()) == (b"anyzero", PACKAGE)
    assert loader.spec == ours.spec == api().enums["ze_api_version_t"]["ZE_API_VERSION_CURRENT"]
    assert bytes(found[2]) == bytes(ctypes.sizeof(Component))
    count.value = 1
    one = (Component * 2)()
    assert get(byref(count), one) == OK
    assert count.value == 1
    assert (one[0].name, one[1].name) == (b"loader", b"")
    assert get(None, None) == INVALID_NULL_POINTER


def test_programs_find_a_loader_that_is_new_enough() -> None:
    """The versions that known programs ask for: 1.18 for zeInitDrivers, 1.21.2 to be silent."""
    assert loader_names.RELEASE >= (1, 21, 2)
    assert loader_names.RELEASE[0] == 1


@pytest.mark.parametrize("function", ["zelGetLoaderVersion", "zelLoaderGetVersion"])
def test_version_of_the_loader_alone(lib: ctypes.CDLL, function: str) -> None:
    found = Component()
    assert getattr(lib, function)(byref(found)) == OK
    assert (found.name, found.numbers()) == (b"loader", loader_names.RELEASE)
    assert getattr(lib, function)(None) == INVALID_NULL_POINTER


@pytest.mark.parametrize("function", ["zelLoaderTranslateHandle", "zelLoaderTranslateHandleInternal"])
def test_a_handle_is_its_own_translation(lib: ctypes.CDLL, function: str) -> None:
    translate = getattr(lib, function)
    for kind in range(14):
        out = c_void_p()
        assert translate(kind, c_void_p(0x1234), byref(out)) == OK
        assert out.value == 0x1234
    assert translate(14, c_void_p(0x1234), byref(c_void_p())) == INVALID_ARGUMENT
    assert translate(0, c_void_p(0x1234), None) == INVALID_NULL_POINTER
    out = c_void_p(1)
    assert translate(0, None, byref(out)) == OK
    assert out.value is None


def test_the_table_of_tracer_functions(lib: ctypes.CDLL) -> None:
    table = (c_void_p * 6)()
    assert lib.zelGetTracerApiProcAddrTable(0x10011, table) == OK
    names = ("Create", "Destroy", "SetPrologues", "SetEpilogues", "SetEnabled")
    functions = [ctypes.cast(getattr(lib, f"zelTracer{name}"), c_void_p).value for name in names]
    assert list(table) == [*functions, None]
    assert lib.zelGetTracerApiProcAddrTable(0x10011, None) == INVALID_NULL_POINTER
    assert lib.zelLoaderGetContext() is None


@pytest.mark.parametrize(
    ("function", "names"),
    [("zelLoaderTracingLayerInit", "ze_dditable_t"), ("zelLoaderZerTracingLayerInit", "zer_dditable_t")],
)
def test_tables_for_tracing_have_functions_of_their_own(lib: ctypes.CDLL, function: str, names: str) -> None:
    place = c_void_p()
    assert getattr(lib, function)(byref(place)) == OK
    assert place.value
    slots = [slot.function for field in api().table_structs[names] for slot in api().tables[field.type].slots]
    filled = list((c_void_p * len(slots)).from_address(place.value))
    assert all(filled)
    assert len(set(filled)) == len(slots)
    assert not {ctypes.cast(getattr(lib, name), c_void_p).value for name in slots} & set(filled)
    assert getattr(lib, function)(None) == INVALID_NULL_POINTER


STATIC = """
# The calls of a statically linked loader, in its order.
for name in ("zeLoaderInit", "zelLoaderDriverCheck", "zelRegisterTeardownCallback", "zelSetDriverTeardown"):
    getattr(lib, name).restype = c_uint32
lib.zelCheckIsLoaderInTearDown.restype = ctypes.c_bool
assert lib.zeLoaderInit() == OK
assert count_drivers() == UNINITIALIZED
told = []
@ctypes.CFUNCTYPE(None)
def tell(): told.append(1)
def register():
    forget, index = c_void_p(), c_uint32()
    assert lib.zelRegisterTeardownCallback(tell, byref(forget), byref(index)) == OK
    return ctypes.CFUNCTYPE(None, c_uint32)(forget.value), index.value
"""


@pytest.mark.parametrize(
    "check", ["(0, None, None, None, byref(changed), False)", "(0, byref(desc), None, None, None, False)"]
)
def test_a_static_loader_above_ours_starts(check: str) -> None:
    run_loaded(
        STATIC
        + f"""
changed, desc = ctypes.c_bool(True), ze.ze_init_driver_type_desc_t(flags=1)
assert lib.zelLoaderDriverCheck{check} == OK
assert changed.value == {"desc" in check}
assert lib.zelLoaderDriverCheck(0, None, None, None, None, True) == OK
forget, index = register()
lib.zelSetDelayLoaderContextTeardown()
lib.zelLoaderContextTeardown()
work(Calls())
import atexit
atexit.register(lambda: forget(index))
"""
    )


def test_a_driver_that_goes_takes_the_loader_along() -> None:
    done = run_loaded(
        STATIC
        + """
work(Calls())
assert lib.zelCheckIsLoaderInTearDown() is False
forget, index = register()
forget(index)
forget(index)
first, second = register()[1], register()[1]
assert len({index, first, second}) == 3
assert lib.zelRegisterTeardownCallback(None, None, None) == INVALID_ARGUMENT
assert lib.zelRegisterTeardownCallback(tell, None, None) == INVALID_NULL_POINTER
assert lib.zelSetDriverTeardown() == OK
assert told == [1, 1]
assert lib.zelSetDriverTeardown() == OK
assert told == [1, 1]
assert lib.zelCheckIsLoaderInTearDown() is True
assert count_drivers() == UNINITIALIZED
assert lib.zeInit(0) & 0xffffffff == UNINITIALIZED
assert lib.zeLoaderInit() == UNINITIALIZED
assert lib.zeContextDestroy(None) & 0xffffffff == UNINITIALIZED
"""
    )
    assert done.stderr == ""
