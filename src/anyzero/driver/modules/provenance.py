"""The inputs of compilation besides the program: the compiler's sources, its version, the processor.

Nothing here loads LLVM, so a program whose kernels are all in the cache never loads it.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from anyzero.driver.devices import profiles
from anyzero.fingerprint import sources

__all__ = ["compiler_digest", "llvm_files", "processor", "versions"]

_CPUINFO: Final = Path("/proc/cpuinfo")
_PACKAGE: Final = os.path.abspath(f"{__file__}/../../..")  # noqa: PTH100 (as objects, paths take ten times as long)
"""The folder of this package; importing parts of it for their places takes longer."""

# Lines that distinguish processors for code generation; others, such as the clock rate, change all the time.
_KEYS: Final = (
    *("vendor_id", "cpu family", "model", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"),
)


@cache
def versions() -> str:
    """The versions of this package and of llvmlite."""
    packed = profiles.find("default").driver_version
    return f"anyzero {packed >> 24}.{packed >> 16 & 0xFF}.{packed & 0xFFFF}, llvmlite {_llvmlite()}"


def _llvmlite() -> str:
    """The version, from its files: asking the packages' metadata takes longer than finding a kernel in the cache."""
    path = _version_file()
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            stated = re.search(r"['\"]?version['\"]?\s*[:=]\s*['\"]([^'\"]+)", file.read())
    except OSError:
        stated = None
    return stated[1] if stated else "unknown" if path else "missing"


@cache
def llvm_files() -> str:
    """A fingerprint of the installed llvmlite, in a fifth of the time that its version takes."""
    path = _version_file()
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return path
    return f"{path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


@cache
def _version_file() -> str:
    found = PathFinder.find_spec("llvmlite")
    return os.path.join(os.path.dirname(found.origin), "_version.py") if found and found.origin else ""  # noqa: PTH118, PTH120


@cache
def compiler_digest() -> str:
    """Changes whenever a file of the compiler does, in a checkout as well as between releases.

    With the layouts that compiled code shares with the engine; without the reference interpreter, which compiles
    nothing: a change to it must not empty the cache.
    """
    # Every process does this once, and with paths as objects it would take four times as long.
    folder = f"{_PACKAGE}/compiler"
    digest = hashlib.sha256()
    shared = (f"{_PACKAGE}/layouts/kernel.py", f"{_PACKAGE}/spirv/numbers.py")
    for path in [*sorted(entry.path for entry in sources(folder)), *shared]:
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                contents = file.read()
        except OSError:
            continue
        digest.update(f"{path[len(folder) + 1 :]}\0{len(contents)}\0".encode() + contents)
    return digest.hexdigest()


@cache
def processor() -> str:
    """The processor and its features, in one line."""
    return _processor(_CPUINFO)


def _processor(cpuinfo: Path) -> str:
    facts: dict[str, str] = {}
    try:
        with cpuinfo.open(errors="replace") as lines:
            for line in lines:
                key, _, value = (part.strip() for part in line.partition(":"))
                if key == "processor" and facts:
                    break
                if key in _KEYS:
                    facts.setdefault(key, value)
    except OSError:
        pass
    # Without a description only the name distinguishes this machine from others.
    known = " ".join(facts[key] for key in _KEYS if key in facts) or os.uname().nodename
    return f"{os.uname().machine} {known}"
