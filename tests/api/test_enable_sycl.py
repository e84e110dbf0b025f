"""`anyzero.enable_sycl()`: what it prepares and what it refuses. `clients/` runs SYCL's own runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from anyzero.api.calls import loaders
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
REFUSED = """
import anyzero
try:
    anyzero.enable_sycl()
except anyzero.Error as error:
    print(error)
else:
    raise AssertionError("it was enabled")
"""


def program(source: str, *arguments: str, **variables: str) -> str:
    """The output of a program that has not loaded the driver yet."""
    dropped = ("ANYZERO_", "ZE_", "ZEL_", "ONEAPI_", "OCL_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *arguments],
        env={**kept, "PYTHONPATH": str(ROOT / "src"), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_runtime_would_find_our_loader_by_its_name() -> None:
    said = program(
        """
        import ctypes, os
        import anyzero
        anyzero.enable_sycl()
        anyzero.enable_sycl()
        found = ctypes.CDLL("libze_loader.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        count = ctypes.c_uint32()
        assert found.zeInit(1) == 0 and found.zeDriverGet(ctypes.byref(count), None) == 0 and count.value >= 1
        maps = open("/proc/self/maps").read()
        print({line.split()[5] for line in maps.splitlines() if "libze_loader" in line}, os.environ["ZEL_LIBRARY_PATH"])
        print(os.environ["OCL_ICD_FILENAMES"])
        """,
        ZEL_LIBRARY_PATH="/no/such/folder",
        OCL_ICD_FILENAMES="/theirs.so",
    )
    assert said == f"{ {os.path.realpath(loaders.OURS)} } {loaders.FOLDER}\n/theirs.so:{loaders.OPENCL}\n"


def test_kernels_are_compiled_beside_the_program() -> None:
    """Threads of the runtime create kernels while others hold the interpreter's lock."""
    program(
        """
        import sys, pathlib
        import anyzero as az
        az.enable_sycl()
        with az.device("cpu").context() as ctx:
            kernel = ctx.module(pathlib.Path(sys.argv[1]))["saxpy"]
        assert "anyzero.compiler" not in sys.modules and "anyzero.driver.modules.requests" not in sys.modules
        """,
        str(ROOT / "tests" / "kernels" / "saxpy.spv"),
    )


def test_another_loader_in_the_process_is_refused(tmp_path: Path) -> None:
    other = tmp_path / loaders.NAME
    shutil.copy(loaders.OURS, other)
    load = "import ctypes, sys; ctypes.CDLL(sys.argv[1])\n"
    assert f"the loader {other} is in this process already" in program(load + REFUSED, str(other))
    enabled = f"{load}import anyzero; anyzero.enable_sycl()"
    program(enabled, str(other), ZE_ENABLE_ALT_DRIVERS=str(loaders.DRIVER))
    program(enabled, str(loaders.OURS))


def test_a_runtime_that_has_looked_already_is_refused(tmp_path: Path) -> None:
    adapter = tmp_path / "libur_adapter_level_zero.so.0"
    shutil.copy(loaders.OURS, adapter)
    said = program("import ctypes, sys; ctypes.CDLL(sys.argv[1])\n" + REFUSED, str(adapter))
    assert "has looked for devices already" in said
    assert "before dpctl" in said


def test_a_selector_without_level_zero_is_refused() -> None:
    for selector in ("opencl:cpu", "!level_zero:*", "cuda:*;opencl:*"):
        assert "excludes Level Zero" in program(REFUSED, ONEAPI_DEVICE_SELECTOR=selector)
    program("import anyzero; anyzero.enable_sycl()", ONEAPI_DEVICE_SELECTOR="opencl:cpu;level_zero:gpu")


def test_a_driver_without_compute_devices_is_refused() -> None:
    assert "ANYZERO_DEVICES=npu names none" in program(REFUSED, ANYZERO_DEVICES="npu")


def test_a_driver_that_does_not_start_says_why() -> None:
    assert "ANYZERO_THREADS='many'" in program(REFUSED, ANYZERO_THREADS="many")
