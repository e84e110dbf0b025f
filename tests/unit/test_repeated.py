"""What is written down twice, in C++ and in Python, because neither can ask the other: here the two are compared."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anyzero import config
from anyzero.driver.devices import boot, machine
from anyzero.tools.interpreter import for_c_programs
from tests.thorough import examples

PLANNING = Path(__file__).resolve().parents[2] / "engine" / "planning"
FALLBACK = (PLANNING / "fallback.cpp").read_text()

PROBE = """
#include <cstdio>
#include "interpreter.h"
int main() {
  std::string tried;
  const std::string found = anyzero::find_interpreter(&tried);
  std::fputs((found + "\\n" + (found.empty() ? tried : "")).c_str(), stdout);
}
"""


class Watched:
    """A configuration that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return getattr(config.Config(), name)


def test_without_python_no_variable_that_shapes_devices_is_passed_over() -> None:
    """They are what the description is made from, where there is no OpenVINO: nobody infers without Python."""
    watched = Watched()
    boot.compose(cast(config.Config, watched), machine.read())
    # A program without Python chooses its devices itself; with the threads of all tiles it is correct, too.
    watched.asked.discard("device")
    shaping = {row.name for field, row in config.variables() if field in watched.asked}
    listed = re.search(r"const char\* variable :\s*\{([^}]*)\}", FALLBACK)
    assert listed, "fallback.cpp has no list of variables that is written as it used to be"
    assert set(re.findall(r'"(\w+)"', listed[1])) == shaping


@pytest.mark.parametrize(
    ("name", "value"),
    [("kMemory", boot.MACHINES_MEMORY), ("kThreads", boot.MACHINES_THREADS)],
    ids=["memory", "threads"],
)
def test_placeholders_for_what_is_the_machines(name: str, value: int) -> None:
    stated = re.search(rf"constexpr \w+ {name} = (0x[0-9A-F']+);", FALLBACK)
    assert stated, f"fallback.cpp has no {name} that is written as it used to be"
    assert int(stated[1].replace("'", ""), 16) == value


@dataclass(frozen=True)
class Scene:
    """Folders with programs and what only looks like one, and the driver's own search, in two places."""

    root: Path
    environment: Path
    """As in a virtual environment."""
    elsewhere: Path

    def text(self, pattern: str) -> str:
        return pattern.replace("ROOT", str(self.root))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    root = tmp_path_factory.mktemp("repeated").resolve()
    made = Scene(root, root / "venv/lib/python3.99/site-packages/anyzero/lib", root / "lib")
    for folder in (made.environment, made.elsewhere, root / "here/folder", root / "path", root / "venv/bin"):
        folder.mkdir(parents=True)
    for name in ("here/mypython", "here/python3.99", "path/mypython", "path/python3.99", "here/plain"):
        (root / name).write_text("#!/bin/sh\n")
        (root / name).chmod(0o644 if name.endswith("plain") else 0o755)
    (root / "here/link").symlink_to("mypython")
    (root / "probe.cpp").write_text(PROBE)
    sources = [root / "probe.cpp", PLANNING / "interpreter.cpp", PLANNING / "environment.cpp"]
    subprocess.run(["g++", "-std=c++20", "-I", PLANNING, *sources, "-o", root / "probe"], check=True)
    for folder in (made.environment, made.elsewhere):
        shutil.copy(root / "probe", folder / "probe")
    return made


NAMED = (
    *(None, "", " ", "mypython", "plain", "folder", "link", "nothing", " mypython"),
    *("ROOT/here/mypython", "ROOT/here/link", "ROOT/here/plain", "ROOT/here/folder", "ROOT/here/nothing"),
    *("here/mypython", "./here/mypython", "../nothing", "here/mypython/", "ROOT/here/mypython "),
)
PATHS = (None, "", ":", "ROOT/here", ":ROOT/here", "here", "ROOT/none::ROOT/path", "ROOT/path:ROOT/here", "./path")
RECORDED = (
    *(None, b"", b"\n", b"\nROOT/here/mypython", b"ROOT/here/mypython", b"ROOT/here/mypython\n", b"here/mypython"),
    *(b"ROOT/here/mypython\r\nmore", b"ROOT/here/mypython ", b"ROOT/here/mypython\x0b", b"ROOT/here/plain"),
    *(b"ROOT/here/folder", b"/gone/python", b"ROOT/here/mypython\0", b"/gone/\xff", b"/" * 5000),
)


@settings(max_examples=examples(100, 400), deadline=None)
@given(
    st.sampled_from(NAMED),
    st.sampled_from(PATHS),
    st.sampled_from(RECORDED),
    st.booleans(),
    st.booleans(),
)
@example("mypython", ":", None, False, True)
@example(None, None, b"/gone/python", False, False)
@example(None, "here", b"/gone/python", False, True)
def test_the_doctor_finds_the_python_that_the_driver_finds(
    scene: Scene, named: str | None, path: str | None, recorded: bytes | None, near: bool, installed: bool
) -> None:
    folder = scene.environment if installed else scene.elsewhere
    note, neighbour = folder / "python", scene.root / "venv/bin/python3.99"
    note.unlink(missing_ok=True)
    neighbour.unlink(missing_ok=True)
    if recorded is not None:
        note.write_bytes(recorded.replace(b"ROOT", bytes(scene.root)))
    if near:
        neighbour.symlink_to(scene.root / "here/mypython")
    given_ = {"ANYZERO_PYTHON": named, "PATH": path}
    environ = {name: scene.text(value) for name, value in given_.items() if value is not None}
    done = subprocess.run(
        [folder / "probe"], cwd=scene.root, env=environ, capture_output=True, check=True, errors="surrogateescape"
    )
    found, _, tried = done.stdout.partition("\n")
    with contextlib.chdir(scene.root):
        ours = for_c_programs(environ, folder)
    assert (ours.path, "" if ours.path else ours.reason) == (found, tried)
