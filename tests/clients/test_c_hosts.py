"""Programs without Python: the driver starts one beside them, and neither program nor surroundings notice."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.unit.planning import exporter, importer

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
LIBRARY = ROOT / "src" / "anyzero" / "lib"
DRIVER = LIBRARY / "libze_anyzero.so.1"
BUILT = ROOT / "build" / "clients" / "hosts"
SAXPY = ROOT / "tests" / "kernels" / "saxpy.spv"
FLAGS = (
    "-std=c11",
    "-O1",
    "-pthread",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-missing-field-initializers",
)
UNAVAILABLE = 0x70020000
UNINITIALIZED = 0x78000001


@functools.cache
def host(name: str, library: str = DRIVER.name) -> Path:
    """A program of `programs/`, linked with the driver itself unless another library is named."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is missing, so no C program can be compiled; on Debian: apt install gcc")
    source, header = PROGRAMS / f"host_{name}.c", ROOT / "engine" / "abi" / "gen" / "ze_api.h"
    content = hashlib.sha256(repr((FLAGS, library)).encode())
    for text in (source, header, PROGRAMS / "host.h", PROGRAMS / "check.h"):
        content.update(text.read_bytes())
    target = BUILT / f"{name}.{content.hexdigest()[:16]}"
    if not target.exists():
        includes = BUILT / "include" / "level_zero"
        includes.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(f".{os.getpid()}")
        # Whole at any time: others may compile, too.
        shutil.copy(header, part)
        part.replace(includes / header.name)
        link = (f"-L{LIBRARY}", f"-l:{library}", f"-Wl,-rpath,{LIBRARY}", "-ldl")
        command = ["gcc", *FLAGS, f"-I{includes.parent}", str(source), *link, "-o", str(part)]
        subprocess.run(command, check=True, timeout=PATIENCE)
        part.replace(target)
    return target


@dataclass
class Surroundings:
    """An environment for programs, and a mark by which their planning processes are found."""

    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_", "PYTHON"))}
        return kept | self.variables | {"HOST_MARK": self.mark} | more

    def run(
        self, name: str, *arguments: str | Path, expect: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [host(name), *map(str, arguments)],
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == expect, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "FAILED" not in done.stdout, done.stdout
        return done

    def processes(self) -> dict[int, bytes]:
        """All that have the mark, with their command lines."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"HOST_MARK={self.mark}".encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_bytes()
            except OSError:
                continue
        return found

    def planning(self) -> list[int]:
        """The planning processes of these programs."""
        return [number for number, line in self.processes().items() if b"service.serve" in line]

    def alone(self) -> bool:
        """Do they all end?"""
        return _until(lambda: not self.planning())


def _until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    # One cache for all, so that LLVM is needed once.
    cache = tmp_path_factory.getbasetemp() / "kernels of hosts"
    made = Surroundings(variables={"ANYZERO_PYTHON": sys.executable, "ANYZERO_CACHE_DIR": str(cache)})
    yield made
    assert made.alone(), "a planning process has outlived its program"


def test_a_program_notices_nothing(around: Surroundings) -> None:
    """Signals, children, locale, descriptors, session, working folder: all as before, and none of them shared."""
    assert around.run("quiet", SAXPY).stderr == ""


def test_a_killed_planning_process_is_replaced(around: Surroundings, tmp_path: Path) -> None:
    modules = tmp_path / "importer.spv", tmp_path / "exporter.spv"
    modules[0].write_bytes(importer())
    modules[1].write_bytes(exporter())
    around.run("killed", SAXPY, *modules)


def test_a_stopped_planning_process_is_replaced(around: Surroundings) -> None:
    around.run("stopped", SAXPY, ANYZERO_PLANNER_TIMEOUT="0.2")


IN_PLACE_OF_PYTHON = """
import sys, threading, time
sys.path.insert(0, {folder!r})
from anyzero.driver import service
real = service._call
def call(function, request):
    if function == "build":
        {instead}
    return real(function, request)
service._call = call
service.serve(3)
"""


def slow_planner(folder: Path, instead: str) -> str:
    """An interpreter whose planner does something else before it builds a module."""
    (folder / "planner.py").write_text(IN_PLACE_OF_PYTHON.format(folder=str(ROOT / "src"), instead=instead))
    (folder / "python").write_text(f"#!/bin/sh\nexec '{sys.executable}' -I '{folder / 'planner.py'}'\n")
    (folder / "python").chmod(0o755)
    return str(folder / "python")


def test_a_planning_process_that_does_nothing_is_ended(around: Surroundings, tmp_path: Path) -> None:
    python = slow_planner(tmp_path, "threading.Event().wait()")
    said = around.run("start", SAXPY, expect=1, ANYZERO_PYTHON=python, ANYZERO_PLANNER_TIMEOUT="0.2").stderr
    assert f"returned {UNAVAILABLE:#x}" in said
    assert "neither answered nor used the processor" in said


def test_a_planning_process_that_works_may_take_its_time(around: Surroundings, tmp_path: Path) -> None:
    python = slow_planner(tmp_path, "while time.thread_time() < 1: pass")
    around.run("start", SAXPY, ANYZERO_PYTHON=python, ANYZERO_PLANNER_TIMEOUT="0.5")


def test_a_program_that_forks(around: Surroundings) -> None:
    around.run("fork", SAXPY)
    # A `sleep` that it has started continues, but holds no descriptor of ours.
    assert around.alone()


def test_a_program_that_adopts_orphans(around: Surroundings) -> None:
    """As the first process of a container does."""
    around.run("adopts", SAXPY)
    assert _until(lambda: around.processes() == {})


def test_many_threads(around: Surroundings) -> None:
    around.run("threads", SAXPY)


@pytest.mark.parametrize(
    ("way", "status"),
    [("destroy", 0), ("build", 0), ("thread", 0), ("callback", 0), ("execute", 0), ("killed", -9), ("aborted", -6)],
)
def test_ways_to_end(around: Surroundings, way: str, status: int) -> None:
    around.run("exit", way, SAXPY, expect=status)
    assert around.alone()


def test_the_driver_is_closed_and_opened_again(around: Surroundings) -> None:
    around.run("exit", "dlclose", DRIVER)


def test_standard_descriptors_that_are_closed(around: Surroundings, tmp_path: Path) -> None:
    around.run("closed", SAXPY, tmp_path / "said")
    assert (tmp_path / "said").read_text().count("ok: ") == 2


@pytest.mark.parametrize("redirection", ["", "2>&1"])
def test_a_pipeline_ends_with_its_program(around: Surroundings, redirection: str) -> None:
    line = f"'{host('start')}' '{SAXPY}' {redirection} | cat"
    done = subprocess.run(
        ["sh", "-c", line], env=around.environment(), capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert "ok: the kernel ran" in done.stdout
    assert around.alone()


def test_a_terminal_interrupts_the_program_only(around: Surroundings) -> None:
    """The planning process is in no process group that a terminal or a shell would signal."""
    import signal

    with subprocess.Popen(
        [host("exit"), "wait", str(SAXPY)],
        env=around.environment(),
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert "ran" in process.stdout.readline()
        process.stdout.readline()
        before = around.planning()
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert around.planning() == before != []
        process.stdin.close()
        assert "again" in process.stdout.read()
    assert process.returncode == 0


def test_an_empty_environment(around: Surroundings) -> None:
    """No PATH, no HOME, and the recorded interpreter."""
    done = subprocess.run(
        [host("start"), SAXPY],
        env={"HOST_MARK": around.mark},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "ok: the kernel ran" in done.stdout


def test_variables_for_another_python_do_no_harm(around: Surroundings, tmp_path: Path) -> None:
    (tmp_path / "struct.py").write_text("raise SystemExit('not this one')\n")
    around.run("start", SAXPY, PYTHONPATH=str(tmp_path), PYTHONHOME=str(tmp_path), PYTHONSTARTUP=str(tmp_path / "x"))


def test_relative_paths_are_those_of_the_program(around: Surroundings, tmp_path: Path) -> None:
    done = subprocess.run(
        [host("start"), SAXPY],
        env=around.environment(ANYZERO_CACHE_DIR="here", ANYZERO_DUMP="there"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "ok: the kernel ran" in done.stdout
    assert list((tmp_path / "here" / "kernels").rglob("*.kernel"))
    assert list((tmp_path / "there").iterdir())


def test_variables_that_shape_devices_are_heard(around: Surroundings) -> None:
    said = around.run("start", SAXPY, expect=1, ANYZERO_DEVICES="gpu").stderr
    assert "ANYZERO_DEVICES='gpu'" in said
    assert f"{UNINITIALIZED:#x}" in said
    around.run("start", SAXPY, ANYZERO_DEVICES="cpu:tiles=2")


STRANGERS = {
    "missing": ("/no/such/python", "ANYZERO_PYTHON=/no/such/python is not a program"),
    "a folder": ("/", "is not a program"),
    "not on the path": ("python-of-nobody", "is not a program"),
    "no Python": (shutil.which("true") or "/bin/true", "ended without an answer"),
}


@pytest.mark.parametrize(("python", "said"), STRANGERS.values(), ids=STRANGERS)
def test_without_python_there_is_a_device_but_no_compiler(around: Surroundings, python: str, said: str) -> None:
    log = around.run("start", SAXPY, expect=1, ANYZERO_PYTHON=python).stderr
    assert f"returned {UNAVAILABLE:#x}" in log
    assert said in log
    assert "Set ANYZERO_PYTHON to the Python (3.11 or newer)" in log
    assert around.run("bare", ANYZERO_PYTHON=python).stdout.count("ok: ") == 4


def test_without_python_variables_that_shape_devices_are_not_ignored(around: Surroundings) -> None:
    said = around.run("bare", expect=1, ANYZERO_PYTHON="/no/such/python", ANYZERO_DEVICES="cpu").stderr
    assert "ANYZERO_DEVICES cannot take effect" in said


def test_a_python_that_lacks_the_compiler_is_named(around: Surroundings, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True, timeout=PATIENCE)
    python = tmp_path / "bare" / "bin" / "python"
    said = around.run("start", SAXPY, expect=1, ANYZERO_PYTHON=str(python), ANYZERO_CACHE="off").stderr
    assert f"zeKernelCreate(module, &desc, &kernel) returned {UNAVAILABLE:#x}" in said


def test_an_installed_package_finds_its_python(around: Surroundings, tmp_path: Path) -> None:
    """By the folder it is in; nothing is recorded there."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True, timeout=PATIENCE)
    (site,) = (tmp_path / "env" / "lib").glob("python3.*/site-packages")
    (site / "more.pth").write_text(sysconfig.get_path("purelib"))
    (site / "anyzero" / "lib").mkdir(parents=True)
    for entry in (ROOT / "src" / "anyzero").iterdir():
        if entry.name != "lib":
            (site / "anyzero" / entry.name).symlink_to(entry)
    shutil.copy(DRIVER, site / "anyzero" / "lib")
    del around.variables["ANYZERO_PYTHON"]
    # The name under which the program finds it does not matter.
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / DRIVER.name).symlink_to(site / "anyzero" / "lib" / DRIVER.name)
    around.run("exit", "destroy", SAXPY, LD_LIBRARY_PATH=str(tmp_path / "system"))
    (tmp_path / "env" / "bin").rename(tmp_path / "env" / "elsewhere")
    without = {"PATH": "/nowhere", "LD_LIBRARY_PATH": str(tmp_path / "system")}
    if not any(Path(folder, site.parent.name).exists() for folder in ("/usr/bin", "/usr/local/bin")):
        said = around.run("bare", expect=1, **without).stderr
        assert f"no Python belongs to the folder {site / 'anyzero' / 'lib'}" in said


@functools.cache
def libpython() -> Path:
    """One whose programs can use the packages that are installed here."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folders = [sysconfig.get_config_var("LIBDIR"), "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
    for folder in filter(None, folders):
        for path in sorted(Path(folder).glob(f"libpython{version}.so.1*")):
            return path
    pytest.skip(
        f"libpython{version}.so is nowhere, so no program can embed Python; on Debian: apt install libpython3-dev"
    )


def test_a_program_that_starts_its_own_python_later(around: Surroundings) -> None:
    said = around.run("python", "later", SAXPY, libpython()).stdout
    assert said.count("planning processes: 1") == 2


def test_a_program_whose_own_python_does_not_know_the_package(around: Surroundings) -> None:
    said = around.run("python", "first", SAXPY, libpython(), PYTHONNOUSERSITE="1").stdout
    assert said.count("planning processes: 1") == 2


def test_a_program_whose_own_python_could_know_the_package(around: Surroundings) -> None:
    """It did not ask for it, so its Python is left alone."""
    folders = [str(ROOT / "src"), sysconfig.get_path("purelib")]
    said = around.run("python", "first", SAXPY, libpython(), PYTHONPATH=os.pathsep.join(folders)).stdout
    assert said.count("planning processes: 1") == 2
