"""An unmodified third-party program: Debian's lstopo finds our devices through its Level Zero plugin."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.building import ROOT
from tests.clients.debian import NEWEST, NotAvailableError, packages
from tests.clients.ways import Way, debian, environment
from tests.patience import PATIENCE

NEEDED = ("hwloc", "libhwloc15", "libhwloc-plugins", "libpciaccess0", "libltdl7", "libxml2-16", "libnuma1", "libudev1")
WHERE = Path("usr", "lib", "x86_64-linux-gnu")


def lstopo(way: Way, devices: str) -> str:
    try:
        root = packages(NEWEST, *NEEDED, "libtinfo6", "zlib1g", "liblzma5")
    except NotAvailableError as error:
        pytest.skip(f"hwloc of Debian's {NEWEST} cannot be had: {error}")
    release = debian(NEWEST)
    linker, option, *_ = release.loader().start or pytest.skip(
        "the machine's C library is newer than the one hwloc is for"
    )
    runtime = release.root / "runtime"
    folders = [way.loader().folder, root / WHERE, runtime / WHERE, runtime / "lib" / WHERE.name]
    variables = way.variables() | {"HWLOC_PLUGINS_PATH": str(root / WHERE / "hwloc"), "ANYZERO_DEVICES": devices}
    done = subprocess.run(
        [
            linker,
            option,
            ":".join(map(str, folders)),
            str(root / "usr/bin/lstopo-no-graphics"),
            "-v",
            "--filter",
            "io:all",
        ],
        cwd=ROOT,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("way", [Way(), Way(NEWEST)], ids=str)
def test_it_shows_the_device(way: Way) -> None:
    text = lstopo(way, "cpu")
    device = re.search(r"Co-Processor\(LevelZero\) .*Backend=LevelZero .*\"ze0\"", text)
    assert device, text
    assert "LevelZeroDeviceType=GPU" in device[0]
    assert "LevelZeroVendor=anyzero" in device[0]
    assert "LevelZeroCQGroups=2" in device[0]


def test_it_shows_tiles_and_several_devices() -> None:
    names = re.findall(r"Co-Processor\(LevelZero\) .*\"(ze[\d.]+)\"", lstopo(Way(), "cpu:tiles=2,cpu"))
    assert {"ze0", "ze0.0", "ze0.1", "ze1"} <= set(names), names
