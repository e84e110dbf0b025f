"""Programs that discover the NPU device, and go no further than what needs no OpenVINO."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.npu.conftest import ROOT
from tests.patience import PATIENCE

OPENING = """
import ctypes, os, sys
from ctypes import byref, c_uint32, c_void_p
from anyzero import ze
from tests.abi.calls import *
def types(flags):
    az = Calls(init=False)
    desc = ze.ze_init_driver_type_desc_t(flags=flags)
    count = c_uint32()
    az.ok("zeInitDrivers", byref(count), None, byref(desc))
    found = (c_void_p * count.value)()
    if count.value: az.ok("zeInitDrivers", byref(count), found, byref(desc))
    seen = []
    for driver in found:
        for device in az.several("zeDeviceGet", c_void_p(driver)):
            seen.append(az.query("zeDeviceGetProperties", ze.ze_device_properties_t, device).type)
    return seen
"""


def looks_like_openvino(folder: Path, version: str = "2026.4.1") -> Path:
    """Fill a folder so that it looks, on Python's path, as if OpenVINO were installed in it."""
    (folder / "openvino" / "libs").mkdir(parents=True)
    (folder / "openvino" / "__init__.py").touch()
    (folder / "openvino" / "libs" / "libopenvino_c.so.2641").touch()
    (folder / f"openvino-{version}.dist-info").mkdir()
    return folder


def discover(site: Path, program: str, *arguments: str, expect: int = 0, **variables: str) -> str:
    """The output of a program, on stderr if it should fail, with that folder first on Python's path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_", "ZEL_"))}
    path = [str(site), str(ROOT), str(ROOT / "src"), kept.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", OPENING + textwrap.dedent(program), *arguments],
        env={**kept, "PYTHONPATH": os.pathsep.join(filter(None, path)), **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stderr if expect else done.stdout
