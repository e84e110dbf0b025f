"""Programs that go through our loader, and driver libraries to put beside ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.abi.calls import LIBRARY, ROOT, environment, run_python
from tests.patience import PATIENCE

LOADER = LIBRARY.with_name("libze_loader.so.1")
HEADERS = ROOT / "engine" / "abi" / "gen"

OPENING = """
import tests.abi.calls as calls
from tests.abi.loaders import LOADER, ROOT
DRIVER = calls.LIBRARY
calls.LIBRARY = LOADER
lib = ctypes.CDLL(str(LOADER))

def count_drivers():
    count = c_uint32()
    result = lib.zeDriverGet(byref(count), None) & 0xffffffff
    return result or count.value

def on(driver):
    "Calls about one of several drivers."
    az = Calls(init=False)
    az.driver = driver
    az.devices = az.several("zeDeviceGet", driver)
    az.device = az.devices[0]
    return az

def work(az):
    "A fill, a copy and a launch, on everything that takes part in them."
    context = az.context()
    code = (ROOT / "tests/kernels/saxpy.spv").read_bytes()
    text = ctypes.create_string_buffer(code, len(code))
    desc = ze.ze_module_desc_t(format=0, inputSize=len(code), pInputModule=ctypes.addressof(text))
    module = c_void_p()
    az.ok("zeModuleCreate", context, az.device, byref(desc), byref(module), None)
    kernel = az.new("zeKernelCreate", module, byref(ze.ze_kernel_desc_t(pKernelName=b"saxpy")))
    x, y = az.memory(context, 400), az.memory(context, 400)
    (ctypes.c_float * 100).from_address(x)[:] = range(100)
    l = az.immediate(context)
    done = az.event(az.pool(context, 1))
    az.fill(l, y, 0, 400, signal=done)
    values = (c_void_p(y), c_void_p(x), ctypes.c_float(2), c_uint64(100))
    for index, value in enumerate(values):
        az.ok("zeKernelSetArgumentValue", kernel, index, ctypes.sizeof(value), byref(value))
    az.ok("zeKernelSetGroupSize", kernel, 10, 1, 1)
    az.ok("zeCommandListAppendLaunchKernel", l, kernel, byref(ze.ze_group_count_t(10, 1, 1)), None, 1, handles([done]))
    az.copy(l, x, y, 400)
    az.ok("zeCommandListHostSynchronize", l, SOON)
    assert list((ctypes.c_float * 100).from_address(x)) == [2.0 * i for i in range(100)]
    for name, handle in (("Kernel", kernel), ("Module", module), ("CommandList", l), ("Context", context)):
        az.ok(f"ze{name}Destroy", handle)
"""


def run_loaded(
    code: str, *, drivers: Sequence[Path | str] = (), expect: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python program whose calls go through our loader, with further driver libraries beside ours."""
    everything: dict[str, Any] = {**variables, **alternatives(drivers)}
    return run_python(OPENING + textwrap.dedent(code), expect=expect, **everything)


def alternatives(drivers: Sequence[Path | str]) -> dict[str, str]:
    return {"ZE_ENABLE_ALT_DRIVERS": ",".join(map(str, drivers))} if drivers else {}


def compiler() -> str:
    return os.environ.get("CC", "gcc")


def copy_of_driver(folder: Path) -> Path:
    """A second driver library: a copy at another path is loaded separately, with its own objects."""
    return Path(shutil.copy(LIBRARY, folder / "libze_second.so.1"))


def fake_driver(folder: Path, name: str, **options: int | str | None) -> Path:
    """A driver library made of fake_driver.c."""
    built = folder / f"lib{name}.so"
    flags = [f"-D{option}" if value is None else f"-D{option}={value}" for option, value in options.items()]
    source = ROOT / "tests" / "abi" / "fake_driver.c"
    command = [compiler(), "-shared", "-fPIC", "-fvisibility=hidden", "-O1", "-Wall", "-Werror", f"-I{HEADERS}"]
    subprocess.run([*command, *flags, str(source), "-o", str(built)], check=True)
    return built


def build_program(folder: Path, name: str, source: str, library: Path) -> Path:
    """A C program that is linked with a loader, or with a driver."""
    text, program = folder / f"{name}.c", folder / name
    text.write_text(source)
    command = [
        compiler(),
        "-O2",
        "-Wall",
        "-Werror",
        "-Wno-unused-function",
        f"-I{HEADERS}",
        str(text),
        "-o",
        str(program),
    ]
    where = [f"-L{library.parent}", f"-l:{library.name}", f"-Wl,-rpath,{library.parent}", "-pthread"]
    subprocess.run([*command, *where], check=True)
    return program


def run_program(program: Path, *, drivers: Sequence[Path | str] = (), **variables: str) -> str:
    done = subprocess.run(
        [str(program)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(**variables, **alternatives(drivers)),
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def write_description(path: Path) -> Path:
    """The device description, for programs without Python."""
    command = [sys.executable, "-m", "anyzero.driver"]
    path.write_bytes(subprocess.run(command, stdout=subprocess.PIPE, env=environment(), check=True).stdout)
    return path
