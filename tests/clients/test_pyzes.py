"""Intel's own Python client of system management, `pyzes` from PyPI, finds our devices and reads them right.

It is in a separate environment without our package, as on a user's machine. The client opens
the loader by the path at which distributions install it; there, the environment gives it the loader under test.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from anyzero import ze
from tests.abi.calls import Calls
from tests.abi.fixtures import az
from tests.abi.sysman import Sysman
from tests.abi.test_sysman import told_by_the_system
from tests.clients.debian import MIDDLE, NEWEST, OLDEST, SUITES
from tests.clients.ways import BETWEEN, DRIVER, Loader, Way, environment
from tests.patience import PATIENCE

__all__ = ["az"]

VERSION = "0.1.3"
INSTALLED = "/usr/lib/x86_64-linux-gnu/libze_loader.so.1"

REDIRECT = f"""
import ctypes, os

class CDLL(ctypes.CDLL):
    def __init__(self, name, *args, **kwargs):
        super().__init__(os.environ["LOADER_UNDER_TEST"] if name == {INSTALLED!r} else name, *args, **kwargs)

ctypes.CDLL = CDLL
"""

WAYS = [Way(), Way(MIDDLE), Way(NEWEST), Way(NEWEST, "intercepted"), Way(None, "two")]
"""The oldest release's loader is from before zesInit, without which the client does nothing."""


class NoClientError(Exception):
    """It cannot be had, and why."""


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base, "anyzero", "pyzes", f"{VERSION}-{sys.version_info.major}.{sys.version_info.minor}")


@functools.cache
def interpreter() -> Path:
    """The Python that has the client, made the first time."""
    place = cache()
    if not (place / "bin" / "python").exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            made = Path(scratch, "environment")
            venv.create(made, with_pip=False, symlinks=True)
            (packages,) = made.glob("lib/python*/site-packages")
            with zipfile.ZipFile(download(Path(scratch))) as wheel:
                wheel.extractall(packages)
            (packages / "sitecustomize.py").write_text(REDIRECT)
            try:
                made.rename(place)
            except OSError:
                if not place.exists():  # otherwise another run was faster
                    raise
    return place / "bin" / "python"


def download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), f"pyzes=={VERSION}"], capture_output=True, text=True, timeout=300
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoClientError(f"pip cannot fetch it: {error}") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise NoClientError(f"pip cannot fetch it: {reason[-1] if reason else 'it does not say why'}")
    return next(folder.glob("pyzes-*.whl"))


@dataclass(frozen=True)
class Report:
    status: int
    text: str

    def number(self, label: str) -> float:
        """The first number behind a label."""
        found = re.search(rf"{re.escape(label)}: (-?[\d.]+)", self.text)
        assert found, f"no {label!r} in\n{self.text}"
        return float(found[1])

    @property
    def failures(self) -> set[str]:
        """Functions that failed, with their results."""
        return {f"{name} {result}" for name, result in re.findall(r"ERROR: (\w+).* failed with (\w+)", self.text)}


def run(way: Way, *arguments: str, loader: Loader | None = None, **variables: str) -> Report:
    """The output of the client, in its own environment."""
    try:
        python = interpreter()
    except NoClientError as error:
        pytest.skip(f"pyzes {VERSION} cannot be had: {error}")
    chosen = loader or way.loader()
    done = subprocess.run(
        [*chosen.start, str(python), *arguments],
        cwd="/",
        env=environment(way.variables() | {"LOADER_UNDER_TEST": str(chosen.path)} | variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    return Report(done.returncode, done.stdout)


def test_the_client_has_not_our_package() -> None:
    report = run(Way(), "-c", "import pyzes, anyzero")
    assert report.status == 1
    assert "No module named 'anyzero'" in report.text


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_its_black_box_test_finds_everything_it_looks_for(way: Way, az: Calls) -> None:
    report = run(way, "-m", "pyzes.examples.pyzes_black_box_test", "-a")
    assert report.status == 0, report.text
    assert "Test Completed" in report.text
    # Nobody counts packets on a bus that is not there, or bytes that kernels read and write.
    assert report.failures == {
        "zesDevicePciGetStats ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
        "zesMemoryGetBandwidth ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
    }, report.text
    assert "UUID mapping successful" in report.text
    sysman = Sysman()
    known = sysman.query("zesDeviceGetProperties", "zes_device_properties_t", az.device)
    assert f"Core Device Name: {known.core.name.decode()}\n" in report.text
    assert f"Model Name: {known.modelName.decode()}\n" in report.text
    assert "-".join(f"{byte:02x}" for byte in known.core.uuid.id) in report.text
    (module,) = sysman.several("zesDeviceEnumMemoryModules", az.device)
    size = sysman.query("zesMemoryGetProperties", "zes_mem_properties_t", module).physicalSize
    assert report.number("Physical Size") == report.number("Size") == report.number("Free") == size
    assert len(re.findall("Type: ZES_ENGINE_GROUP_ALL", report.text)) == 10 * len(way.drivers)
    rate = told_by_the_system()
    if rate is not None:
        assert rate / 10 < report.number("Actual Frequency") < rate * 10


def test_its_example_runs_to_the_end() -> None:
    report = run(Way(), "-m", "pyzes.examples.pyzes_example")
    assert report.status == 0, report.text
    assert "zesDriverGetDeviceByUuidExp: SUCCESS same_handle=True on_subdevice=False subdevice_id=0" in report.text
    assert "Actual Frequency" in report.text or told_by_the_system() is None


def test_it_sees_the_tiles_of_several_devices() -> None:
    report = run(
        Way(), "-m", "pyzes.examples.pyzes_black_box_test", "-g", "-m", ANYZERO_DEVICES="cpu:tiles=2,memory=1G,cpu"
    )
    assert report.status == 0, report.text
    assert "Found 2 device(s)" in report.text
    assert report.number("Number of subdevices") == 2
    assert re.findall(r"Physical Size: (\d+)", report.text)[:2] == [str(512 << 20)] * 2
    assert re.findall(r"On Subdevice: (\w+)", report.text) == ["True", "True", "False"]


WORK = """
import os
from ctypes import *
import pyzes as pz

def ok(result):
    assert result == 0, hex(result & 0xFFFFFFFF)

# The core API of the same process, through the same library.
core = pz.gpuLib
count, driver, device, context = c_uint32(1), c_void_p(), c_void_p(), c_void_p()
ok(core.zeInit(0))
ok(core.zeDriverGet(byref(count), byref(driver)))
ok(core.zeDeviceGet(driver, byref(count), byref(device)))
ok(core.zeContextCreate(driver, CONTEXT, byref(context)))

managed = cast(device, pz.zes_device_handle_t)

def new(kind, **fields):
    return getattr(pz, kind)(**fields)

if INIT:
    ok(pz.zesInit(0))

def parts(name, kind):
    count = c_uint32()
    ok(getattr(pz, name)(managed, byref(count), None))
    found = (kind * count.value)()
    ok(getattr(pz, name)(managed, byref(count), found))
    return list(found)

(memory,) = parts("zesDeviceEnumMemoryModules", pz.zes_mem_handle_t)
engines = parts("zesDeviceEnumEngineGroups", pz.zes_engine_handle_t)

def free():
    state = new("zes_mem_state_t", stype=pz.ZES_STRUCTURE_TYPE_MEM_STATE)
    ok(pz.zesMemoryGetState(memory, byref(state)))
    return state.free

def activity():
    stats = new("zes_engine_stats_t")
    ok(pz.zesEngineGetActivity(engines[0], byref(stats)))
    return stats.activeTime, stats.timestamp

size = 32 << 20
before = free()
area = c_void_p()
ok(core.zeMemAllocDevice(context, MEMORY, c_size_t(size), c_size_t(0), device, byref(area)))
assert before - free() == size, (before, free())
print("memory:", before - free())

lst = c_void_p()
ok(core.zeCommandListCreateImmediate(context, device, QUEUE, byref(lst)))
idle, then = activity()
pattern = c_uint32(7)
for _ in range(20):
    ok(core.zeCommandListAppendMemoryFill(lst, area, byref(pattern), c_size_t(4), c_size_t(size), None, 0, None))
busy, now = activity()
assert 0 < busy - idle <= now - then + 1, (busy - idle, now - then)
print("busy:", busy - idle)

count = c_uint32(1)
process = new("zes_process_state_t", stype=pz.ZES_STRUCTURE_TYPE_PROCESS_STATE)
ok(pz.zesDeviceProcessesGetState(managed, byref(count), byref(process)))
assert (count.value, process.processId, process.memSize) == (1, os.getpid(), size)
ok(core.zeMemFree(context, area))
assert free() == before
print("done")
"""


def ways_to_work() -> list[tuple[Way, bool]]:
    """The oldest loader knows only how it was done before zesInit: a handle of the core API and ZES_ENABLE_SYSMAN=1."""
    through = [(Way(suite, between), suite == OLDEST) for suite in SUITES for between in BETWEEN if between != "traced"]
    return [(Way(), False), (Way(), True), *through]


def test_the_oldest_loader_is_too_old_for_the_client() -> None:
    assert "undefined symbol: zesInit" in run(Way(OLDEST), "-m", "pyzes.examples.pyzes_example").text


@pytest.mark.parametrize(("way", "legacy"), ways_to_work(), ids=str)
def test_it_sees_the_work_of_its_own_process(way: Way, legacy: bool) -> None:
    given = {
        "INIT": not legacy,
        "CONTEXT": bytes(ze.ze_context_desc_t()),
        "MEMORY": bytes(ze.ze_device_mem_alloc_desc_t()),
        "QUEUE": bytes(ze.ze_command_queue_desc_t(mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)),
    }
    start = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    report = run(way, "-c", start + WORK, **({"ZES_ENABLE_SYSMAN": "1"} if legacy else {}))
    assert report.status == 0, report.text
    assert report.number("memory") == 32 << 20
    assert report.number("busy") > 0
    assert "done" in report.text


def test_the_driver_itself_will_do_as_a_loader(tmp_path: Path) -> None:
    (tmp_path / "libze_loader.so.1").symlink_to(DRIVER)
    report = run(Way(), "-m", "pyzes.examples.pyzes_black_box_test", "-e", loader=Loader("driver", tmp_path))
    assert report.status == 0, report.text
    assert "ZES_ENGINE_GROUP_COMPUTE_SINGLE" in report.text
