"""Libraries that are linked against an older C library than the one of this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.shape.tree import ROOT

WHEEL = ROOT / "wheel"
# `dlsym` moved to another library in 2.34, `pow` got a new version in 2.29, and random_device uses a function of 2.36.
SOURCE = """
#include <cmath>
#include <dlfcn.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
double f(double x) {
  struct stat s;
  return std::pow(x, gettid()) + (dlsym(nullptr, "f") ? 1 : 0) + std::random_device()() + stat("/", &s);
}
"""
needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") and shutil.which("nm")), reason="NOT TESTED: no g++; on Debian: apt install g++"
)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


@needs_compiler
def test_nothing_newer_is_needed(tmp_path: Path) -> None:
    stubs = tmp_path / "stubs"
    assert run(sys.executable, WHEEL / "old_glibc.py", "2.28", stubs).returncode == 0
    (tmp_path / "f.cpp").write_text(SOURCE)
    linked = [
        "g++",
        "-shared",
        "-fPIC",
        "-static-libstdc++",
        "-Wl,--no-undefined",
        "-o",
        tmp_path / "f.so",
        f"-L{stubs}",
    ]
    objects = [tmp_path / "f.o", tmp_path / "newer.o"]
    for source, compiled in zip((tmp_path / "f.cpp", WHEEL / "newer_functions.cpp"), objects, strict=True):
        made = run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", source, "-o", compiled)
        assert made.returncode == 0, made.stderr
    refused = run(*linked, objects[0])
    assert refused.returncode != 0
    assert "gettid" in refused.stderr
    made = run(*linked, *objects)
    assert made.returncode == 0, made.stderr
    needed = run("nm", "-D", "--undefined-only", "--with-symbol-versions", tmp_path / "f.so").stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"@GLIBC_([0-9.]+)", needed)}
    assert versions
    assert max(versions) <= (2, 28)
    assert "dlsym@GLIBC_2.2.5" in needed
    assert run(sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(tmp_path / 'f.so')!r})").returncode == 0
