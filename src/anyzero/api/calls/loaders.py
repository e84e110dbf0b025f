"""The loaders that a program on this machine would find, probed in a separate process.

A library loaded into this process could not be unloaded, and a broken one might crash the process.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from anyzero.lazy_dataclass import dataclass
from anyzero.ze.functions import FUNCTIONS

__all__ = [
    "DRIVER",
    "FOLDER",
    "NAME",
    "NEEDED",
    "OPENCL",
    "OURS",
    "Loader",
    "in_this_process",
    "keep",
    "leads_to_us",
    "look_at",
    "mapped",
    "system_loader",
    "text_of",
]

Version = tuple[int, int]

NAME: Final = "libze_loader.so.1"
FOLDER: Final = Path(__file__).parents[2] / "lib"
"""The folder with the libraries of this package."""
OURS: Final = FOLDER / NAME
DRIVER: Final = FOLDER / "libze_anyzero.so.1"

OPENCL: Final = FOLDER / "libanyzero_opencl.so"
"""An OpenCL platform that compiles for oneMKL's FFT, and that other programs do not see."""

NEEDED: Final[Version] = (1, 10)
"""The oldest API version of a loader that today's programs work with.

That version added `zeInitDrivers`, which SYCL's runtime and OpenVINO's NPU plugin use if present. Some loaders without
it work for them too, but the oldest do not: SYCL's runtime crashes on 1.8.12.
"""

_PATIENCE_S: Final = 30

# It exits without running destructors of the loaded libraries, which are not under test here.
_LOOK: Final = """
import ctypes, json, os, sys
name, functions = json.load(sys.stdin)
try:
    library = ctypes.CDLL(name)
except OSError as error:
    found = {"error": str(error)}
else:
    with open("/proc/self/maps") as maps:
        places = [line.split(None, 5)[5].strip() for line in maps if "libze_loader" in line.rpartition("/")[2]]
    found = {
        "path": os.path.realpath(name) if "/" in name else places[0] if places else name,
        "missing": [each for each in functions if not hasattr(library, each)],
    }
print(json.dumps(found), flush=True)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Loader:
    """A loader, or the error of the attempt to load it."""

    path: str
    version: str | None = None
    """The version in the file's name: ``1.20.6``; None if the name has none."""
    level: Version | None = None
    """The newest version of the API of which it has all functions; None where it cannot be loaded."""
    error: str | None = None

    @property
    def is_enough(self) -> bool:
        """Whether it is new enough for today's programs."""
        return self.level is not None and self.level >= NEEDED

    @property
    def is_ours(self) -> bool:
        """Whether it is the one that comes with this package."""
        return Path(self.path).resolve() == OURS.resolve()

    def __str__(self) -> str:
        if self.level is None:
            return f"{self.path} cannot be loaded: {self.error}"
        return f"{self.path}, {f'version {self.version}, ' if self.version else ''}Level Zero {text_of(self.level)}"


def text_of(version: Version) -> str:
    """A version as people write it.

    >>> text_of((1, 17))
    '1.17'
    """
    return f"{version[0]}.{version[1]}"


def system_loader(environ: Mapping[str, str]) -> Loader | None:
    """The loader that programs find in that environment; None where there is none.

    One that is there but cannot be loaded is a Loader with an error.
    """
    found = look_at(NAME, environ)
    # The linker reports a missing file and a missing dependency in the same way.
    missing = found.error is not None and found.error.startswith(f"{NAME}: cannot open shared object file")
    return None if missing else found


def mapped(prefix: str) -> str:
    """The path of a library in this process whose file name begins so; empty where there is none."""
    try:
        maps = Path("/proc/self/maps").read_text(errors="surrogateescape")
    except OSError:
        return ""
    paths = (line.split(maxsplit=5)[-1].removesuffix(" (deleted)") for line in maps.splitlines() if prefix in line)
    return next((path for path in paths if Path(path).name.startswith(prefix)), "")


def in_this_process() -> str:
    """The path of the loader that this process has loaded; empty where it has none."""
    return mapped(NAME.removesuffix(".1"))


def leads_to_us(loader: str) -> bool:
    """Whether programs that use that loader find the driver of this package."""
    named = os.environ.get("ZE_ENABLE_ALT_DRIVERS", "").split(",")
    ours = {os.path.realpath(OURS), os.path.realpath(DRIVER)}
    return bool(ours & {os.path.realpath(each) for each in (loader, *named) if each})


_kept: Final[list[ctypes.CDLL]] = []


def keep() -> None:
    """Load the loader of this package, where none is loaded yet: the linker then returns it by its name."""
    if not _kept and not in_this_process():
        _kept.append(ctypes.CDLL(str(OURS), mode=os.RTLD_GLOBAL | os.RTLD_NOW))


def look_at(name: str, environ: Mapping[str, str]) -> Loader:
    """Load a loader, by its path or as the linker finds it, and list the functions that it has."""
    # Functions that return a driver's tables are the driver's side of the API, and differ between loaders.
    wanted = [each for each in FUNCTIONS if not each.endswith("ProcAddrTable")]
    try:
        answer = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LOOK],
            input=json.dumps([name, wanted]),
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
        )
        found = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Loader(name, error=f"the process that tried it failed ({error})")
    if "error" in found:
        return Loader(name, error=found["error"])
    told = re.search(r"\.so\.(\d+\.\d+\.\d+)$", os.path.realpath(found["path"]))
    return Loader(found["path"], told[1] if told else None, _level(found["missing"]))


def _level(missing: list[str]) -> Version:
    """The newest version up to which no function is missing."""
    first = min((FUNCTIONS[name][2] for name in missing), default=None)
    versions = {since for _, _, since in FUNCTIONS.values()}
    return max((each for each in versions if first is None or each < first), default=(1, 0))
