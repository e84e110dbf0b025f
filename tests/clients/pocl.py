"""OpenCL for the tests: pyopencl, PoCL from Debian, and a compiler; fetched without any rights, once.

    python -m tests.clients.pocl      fetches all of it and prints the variables that make a program use it

PoCL is in the benchmarks' folder of peers (ANYZERO_PEERS, else ~/.cache/anyzero/peers), pyopencl beside it, for the
Python that runs this. The compiler is the clang that comes with PoCL; the translator to SPIR-V is beside the loaders of
Debian. Intel's runtime is used when the benchmarks have fetched it; it takes SPIR-V, which PoCL 3.1 does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.kernels import peers
from tests.clients import debian
from tests.clients.debian import NotAvailableError

PYOPENCL = ("pyopencl==2026.1.4", "pytools", "platformdirs", "typing_extensions", "siphash24")
TRANSLATOR = ("llvm-spirv-15", "libllvmspirvlib15")
PLATFORMS = ("pocl", "intel")
TIMEOUT = 300


def _call(command: Sequence[str], folder: Path | None = None) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailableError(f"{Path(command[0]).name} does not work: {error}") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise NotAvailableError(f"{' '.join(command[:4])} fails: {reason[-1] if reason else 'it does not say why'}")


def _complete(root: Path) -> bool:
    return (root / "complete").exists()


def _put(made: Path, root: Path) -> None:
    """Whoever is first puts it there complete; another test run may be fetching the same."""
    (made / "complete").touch()
    try:
        made.rename(root)
    except OSError:
        if not _complete(root):
            raise


@cache
def pyopencl() -> Path:
    """A folder with pyopencl and what it needs, but for numpy, which is here."""
    root = peers.cache() / f"pyopencl-{sys.implementation.cache_tag}"
    if not _complete(root):
        print(f"fetching {PYOPENCL[0]} into {root}", file=sys.stderr)
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            made = Path(scratch, "site")
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            _call([*pip, "--no-deps", "--only-binary", ":all:", "--target", str(made), *PYOPENCL])
            _put(made, root)
    return root


@cache
def _pocl() -> Path:
    root = peers.cache() / "pocl"
    with debian.alone_in(root.parent):
        if not _complete(root):
            print(f"fetching Debian's {peers.DEBIAN[0]} into {root}", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
                made = Path(scratch, "files")
                debian.download(debian.OLDEST, Path(scratch), *peers.DEBIAN)
                for package in sorted(Path(scratch).glob("*.deb")):
                    _call(["dpkg", "-x", str(package), str(made)])
                    package.unlink()
                _put(made, root)
    return root


def _libraries(root: Path) -> list[Path]:
    return [root / "usr" / "lib" / "x86_64-linux-gnu", root / "usr" / "lib" / "llvm-15" / "lib"]


def _library(platform: str) -> Path:
    if platform == "pocl":
        return _libraries(_pocl())[0] / "libpocl.so.2"
    found = peers.cache() / "python" / "lib" / "libintelocl.so"
    if not found.exists():
        raise NotAvailableError(f"Intel's OpenCL runtime is not in {peers.cache()}; `make bench` fetches it")
    return found


@cache
def compiler() -> tuple[list[Path], list[Path]]:
    """The folders of programs and of libraries of clang 15 and its translator to SPIR-V. Raises NotAvailableError."""
    roots = _pocl(), debian.packages(debian.OLDEST, *TRANSLATOR)
    return [root / "usr" / "bin" for root in roots], [folder for root in roots for folder in _libraries(root)]


@cache
def environment(platform: str) -> dict[str, str]:
    """The variables with which a program finds pyopencl, that platform alone, and clang. Raises NotAvailableError."""
    library, site, (programs, libraries) = _library(platform), pyopencl(), compiler()
    vendors = peers.cache() / "vendors" / platform
    vendors.mkdir(parents=True, exist_ok=True)
    (vendors / f"{platform}.icd").write_text(f"{library}\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_"))}
    return kept | {
        "PYTHONPATH": str(site),
        "PATH": os.pathsep.join([*map(str, programs), os.environ.get("PATH", os.defpath)]),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        "OCL_ICD_VENDORS": str(vendors),
        "OPENCL_VENDOR_PATH": str(vendors),
        "POCL_CACHE_DIR": str(peers.cache() / "pocl-kernels"),
        "PYOPENCL_NO_CACHE": "1",
    }


def main() -> int:
    for platform in PLATFORMS:
        try:
            made = environment(platform)
        except NotAvailableError as error:
            print(f"# {platform}: {error}")
            continue
        print(f"# {platform}")
        for name in sorted(made.keys() - os.environ.keys() | {"PATH"}):
            print(f"export {name}={made[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
