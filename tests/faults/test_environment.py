"""Variables that hold the worst: no path may hang or end a program, no number may wrap, and every refusal says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from anyzero import config, errors
from anyzero import kernel_cache as cache
from anyzero.api import library
from anyzero.compiler import dump
from anyzero.config import Config, ConfigError
from anyzero.driver.devices import boot, machine
from anyzero.driver.devices.description import encode
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "src" / "anyzero" / "lib" / "libze_anyzero.so.1"
LOADER = DRIVER.with_name("libze_loader.so.1")
KEY = bytes(32)

PATHS: dict[str, Callable[[Path], str]] = {
    "endless": lambda _: "/dev/zero",
    "empty": lambda _: "/dev/null",
    "pipe": lambda place: _made(place, os.mkfifo),
    "folder": lambda place: _made(place, os.mkdir),
    "forbidden": lambda place: _made(place, lambda path: os.close(os.open(path, os.O_CREAT, 0))),
    "dangling": lambda place: _made(place, lambda path: path.symlink_to(f"{path}.none/further")),
    "circle": lambda place: _made(place, lambda path: path.symlink_to(path)),
    "long name": lambda _: "/" + "x" * 5000,
    "long path": lambda place: str(place) + "/x" * 2500,
}

NUMBERS = [
    *("0", "1", "-1", "+1", "1.5", "1e3", "inf", "nan", "0x10", "1_000", "١", "２", "many"),
    *("4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615"),
    *("18446744073709551616", "999999999999T", "8388607T", "8388608T", "16777216T", "9" * 5000, "9" * 5000 + "T"),
    *("0." + "0" * 5000 + "1", "9" * 400 + ".0", "1 T", "T", "1TT", "-1T"),
]


def _made(place: Path, make: Callable[[Path], object]) -> str:
    make(place / "made")
    return str(place / "made")


def is_folder(path: str) -> bool:
    return len(path) < 4096 and "x" * 256 not in path and Path(path).is_dir()


def without_ours() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_"))}


REFUSED = """
import ctypes, json, os, sys
driver = ctypes.CDLL(sys.argv[1])
said = {}
for name, path in json.loads(sys.argv[3]).items():
    os.environ[sys.argv[2]] = path
    assert driver.zeInit(0) != 0, name
    text = ctypes.c_char_p()
    driver.zerGetLastErrorDescription(ctypes.byref(text))
    said[name] = text.value.decode()
print(json.dumps(said))
"""


@pytest.mark.parametrize(
    ("variable", "expected"), [("ANYZERO_DESCRIPTION", "damaged"), ("ANYZERO_PYTHON", "no program")]
)
def test_paths_that_the_engine_opens(tmp_path: Path, variable: str, expected: str) -> None:
    """A start that failed can be tried again, so one process tries them all."""
    paths = {name: make(tmp_path / str(index)) for index, (name, make) in enumerate(_folders(tmp_path).items())}
    # With a variable that no description without Python could obey, a missing Python is a failure.
    command = [sys.executable, "-I", "-c", REFUSED, DRIVER, variable, json.dumps(paths)]
    environ = {**without_ours(), "ANYZERO_THREADS": "1"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=True)
    said = json.loads(done.stdout)
    assert said.keys() == PATHS.keys()
    for name, text in said.items():
        assert f"{variable}={paths[name][:100]}" in text or expected in text, f"{name}: {text}"
        assert len(text) < 1000


def _folders(place: Path) -> dict[str, Callable[[Path], str]]:
    for index in range(len(PATHS)):
        (place / str(index)).mkdir()
    return PATHS


@pytest.mark.parametrize("make", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("variable", ["ANYZERO_CACHE_DIR", "XDG_CACHE_HOME"])
def test_paths_of_caches(tmp_path: Path, variable: str, make: Callable[[Path], str]) -> None:
    environ = {variable: make(tmp_path)}
    place = cache.folder(config.read(environ), environ)
    assert place is not None
    kept = cache.Cache(place, 1 << 20)
    kept.store(KEY, b"content")
    usable = not kept.trouble
    assert kept.load(KEY) == (b"content" if usable else None)
    assert usable == is_folder(environ[variable])


@pytest.mark.parametrize("make", PATHS.values(), ids=PATHS)
def test_a_cache_entry_that_is_something_else(tmp_path: Path, make: Callable[[Path], str]) -> None:
    kept = cache.Cache(tmp_path / "kernels", 1 << 20)
    kept.store(KEY, b"content")
    entry = kept._path(KEY)
    entry.unlink()
    entry.symlink_to(make(tmp_path)[:200])
    assert kept.load(KEY) is None
    kept.store(KEY, b"content")
    assert kept.load(KEY) == b"content"
    if (tmp_path / "made").exists() and not (tmp_path / "made").is_dir():
        (tmp_path / "made").rename(entry)
        assert kept.load(KEY) is None


@pytest.mark.parametrize("make", PATHS.values(), ids=PATHS)
def test_paths_of_dumps(tmp_path: Path, make: Callable[[Path], str]) -> None:
    path = make(tmp_path)
    if is_folder(path):
        dump.write(path, "a kernel", {"ll": "text"})
        assert Path(path, "a_kernel.ll").read_text() == "text"
        os.mkfifo(Path(path, "pipe.ll"))
        with pytest.raises(ConfigError, match=r"pipe\.ll"):
            dump.write(path, "pipe", {"ll": "text"})
        return
    with pytest.raises(ConfigError, match=r"ANYZERO_DUMP=.*cannot be written to.*Accepted: the path of a folder"):
        dump.write(path, "a kernel", {"ll": "text"})


@pytest.mark.parametrize("make", PATHS.values(), ids=PATHS)
def test_paths_of_loaders(tmp_path: Path, make: Callable[[Path], str]) -> None:
    with pytest.raises(errors.Unavailable, match="the loader cannot be loaded"):
        library._load(make(tmp_path))


def test_paths_of_other_drivers(tmp_path: Path) -> None:
    paths = {name: make(tmp_path / str(index)) for index, (name, make) in enumerate(_folders(tmp_path).items())}
    code = f"import ctypes; print(ctypes.CDLL({str(LOADER)!r}).zeInit(0))"
    environ = {**without_ours(), "ZE_ENABLE_ALT_DRIVERS": ",".join(paths.values()), "ANYZERO_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == "0\n", done.stderr
    assert done.stderr.count("skipped") == len(paths), done.stderr


@pytest.mark.parametrize("variable", [row.name for _, row in config.variables()] + ["memory", "threads", "tiles"])
def test_numbers_are_obeyed_or_refused(variable: str) -> None:
    """Whatever is accepted fits where it goes."""
    host = machine.read()
    option = variable.islower()
    refusals: list[ConfigError] = []
    for text in NUMBERS:
        try:
            settings = config.read({"ANYZERO_DEVICES": f"cpu:{variable}={text}"} if option else {variable: text})
            if not settings.devices or option:
                encode(boot.compose(settings, host))
        except ConfigError as error:
            refusals.append(error)
            continue
        for value in (getattr(settings, field) for field, _ in config.variables()):
            assert not isinstance(value, int) or 0 <= value < 1 << 63, (variable, text)
    assert {each.variable for each in refusals} <= {"ANYZERO_DEVICES" if option else variable}
    assert all("Accepted: " in str(each) and len(str(each)) < 1000 for each in refusals)


LARGEST = {
    "ANYZERO_MEMORY": "8388607T",
    "ANYZERO_INLINE_BYTES": "8388607T",
    "ANYZERO_KEPT_MEMORY": "8388607T",
    "ANYZERO_CACHE_SIZE": "8388607T",
    "ANYZERO_NPU_CACHE_SIZE": "8388607T",
    "ANYZERO_KERNEL_TIMEOUT": "1000000",
    "ANYZERO_PLANNER_TIMEOUT": "1000000",
    "ANYZERO_DEVICES": "cpu:tiles=32,queues=64,copy=64",
}

WORKS = """
import anyzero as az
import numpy as np
device = az.device()
assert len(device.tiles) == 32, device
for each in (device, device.tiles[31]):
    assert each.context().full(1000, 7, np.int32).copy_to().sum() == 7000
"""


def test_a_size_that_would_wrap_is_refused() -> None:
    for variable in ("ANYZERO_MEMORY", "ANYZERO_CACHE_SIZE", "ANYZERO_INLINE_BYTES", "ANYZERO_NPU_CACHE_SIZE"):
        with pytest.raises(ConfigError, match=r"too large: sizes are less than 8388608T\. Accepted: a size"):
            config.read({variable: "999999999999T"})
    with pytest.raises(ConfigError, match="too large"):
        boot.compose(Config(devices="cpu:memory=999999999999T"), machine.read())


def test_the_largest_values_work() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORKS],
        env={**without_ours(), **LARGEST},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
