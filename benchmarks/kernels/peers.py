"""Who is compared, and where each comes from.

Peers live in a cache folder (ANYZERO_PEERS, else ~/.cache/anyzero/peers): a Python environment for what PyPI has, and
Debian's packages unpacked without being installed. The first run fetches them. A peer that cannot be had is skipped,
and says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from benchmarks.kernels.targets import Target

__all__ = ["PEERS", "Peer", "Unavailable", "cache", "own"]

DEBIAN: Final = (
    *("pocl-opencl-icd", "libpocl2", "libpocl2-common", "libhwloc15", "libltdl7"),
    *("libllvm15", "libclang-cpp15", "libclang-common-15-dev", "clang-15"),
)
FEATURES: Final = Path(__file__).with_name("features.c")

Command = tuple[list[str], dict[str, str]]
"""What starts the peer's Python, and what to add to its environment."""


class Unavailable(Exception):  # noqa: N818 (says what is)
    """A peer cannot be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One column of the comparison."""

    name: str
    kind: str
    """What `worker.py` runs there."""
    start: Callable[[bool], Command]
    """Fetches what is missing, unless told not to."""
    opencl: bool = False
    """Does the same job from the same kernels."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Further ones for its environment."""
    hold: Callable[[Target], Mapping[str, str]] = lambda target: target.variables
    """The variables that hold it to an instruction set."""


def cache() -> Path:
    chosen = os.environ.get("ANYZERO_PEERS")
    return (
        Path(chosen)
        if chosen
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anyzero" / "peers"
    )


def _call(command: list[str], where: Path | None = None) -> None:
    try:
        subprocess.run(command, cwd=where, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except FileNotFoundError as error:
        raise Unavailable(f"there is no {command[0]} here") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise Unavailable(f"{Path(command[0]).name} failed: {' '.join(last)}") from error


def _python(packages: tuple[str, ...], install: bool) -> Path:
    """The Python of the peers' environment, with these packages in it."""
    folder = cache() / "python"
    python = folder / "bin" / "python"
    mark = folder / "-".join(["has", *packages])
    if mark.exists():
        return python
    if not install:
        raise Unavailable(f"{', '.join(packages)} would have to be installed")
    print(f"fetching {', '.join(packages)} into {folder}", file=sys.stderr, flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    _call([str(python), "-m", "pip", "install", "--quiet", *packages])
    mark.touch()
    return python


def _registered(name: str, library: Path) -> dict[str, str]:
    """The variables that make an OpenCL loader see one implementation and no other."""
    folder = cache() / "vendors" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.icd").write_text(f"{library}\n")
    return {"OCL_ICD_VENDORS": str(folder), "OPENCL_VENDOR_PATH": str(folder), "PYOPENCL_NO_CACHE": "1"}


def _intel(install: bool) -> Command:
    python = _python(("pyopencl",), install)
    _python(("intel-opencl-rt", "intel-cmplr-lib-rt"), install)
    # The package's own registration names a folder of the machine that built it.
    library = python.parents[1] / "lib" / "libintelocl.so"
    if not library.exists():
        raise Unavailable(f"{library} is missing; remove {cache()} to fetch it again")
    return [str(python)], _registered("intel", library)


def _pocl(install: bool) -> Command:
    python = _python(("pyopencl",), install)
    root = cache() / "pocl"
    if not (root / "complete").exists():
        if not install:
            raise Unavailable("Debian's pocl-opencl-icd would have to be fetched")
        print(f"fetching Debian's {DEBIAN[0]} into {root}", file=sys.stderr, flush=True)
        packages = root / "packages"
        packages.mkdir(parents=True, exist_ok=True)
        _call(["apt-get", "--quiet=2", "download", *DEBIAN], packages)
        for package in sorted(packages.glob("*.deb")):
            _call(["dpkg", "-x", str(package), str(root)])
        shutil.rmtree(packages)
        (root / "complete").touch()
    libraries = [root / "usr" / "lib" / "x86_64-linux-gnu", root / "usr" / "lib" / "llvm-15" / "lib"]
    paths = ":".join(map(str, libraries))
    return [str(python)], _registered("pocl", libraries[0] / "libpocl.so.2") | {"LD_LIBRARY_PATH": paths}


def _hold_pocl(target: Target) -> Mapping[str, str]:
    """Debian's build asks the processor alone, so that the answer is less; compiled kernels are kept apart."""
    kept = {"POCL_CACHE_DIR": str(cache() / f"pocl-kernels-{target.name}")}
    if not target.hidden:
        return {**target.variables, **kept}
    text = FEATURES.read_bytes()
    library = cache() / f"features-{sha256(text).hexdigest()[:12]}.so"
    if not library.exists():
        own = library.with_suffix(f".{os.getpid()}")
        _call([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", str(FEATURES), "-o", str(own), "-ldl"])
        own.replace(library)
    hiding = {"LD_PRELOAD": str(library), "BENCHMARKS_HIDDEN_FEATURES": target.hidden}
    return {**target.variables, **kept, **hiding}


def _numba(install: bool) -> Command:
    return [str(_python(("numba",), install))], {}


def own(_: bool) -> Command:
    """The caller's Python and what that finds packages by: the anyzero that is measured is the caller's, too."""
    folders = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return [sys.executable], {"PYTHONPATH": os.pathsep.join(folders)}


PEERS: Final = (
    Peer("anyzero", "anyzero", own),
    Peer("Intel", "spirv", _intel, opencl=True),
    Peer("PoCL", "source", _pocl, opencl=True, hold=_hold_pocl),
    Peer("numba", "numba", _numba),
    Peer("numpy", "numpy", own),
    Peer("C++", "native", own),
    Peer("C++ fast", "native fast", own),
)
"""PoCL 3.1 does not take SPIR-V, so it gets the source that the SPIR-V was made of."""
