"""OpenCL for the tests: pyopencl, PoCL from Debian, and a compiler; fetched without any rights, once.

    python -m tests.clients.pocl      fetches all of it and prints the variables that make a program use it

PoCL is in the benchmarks' folder of peers (ANYZERO_PEERS, else ~/.cache/anyzero/peers), pyopencl beside it, for the
Python that runs this. The compiler is that of tests/kernels/build. Intel's runtime is used when the benchmarks have
fetched it; it takes SPIR-V, which PoCL 3.1 does not.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks.kernels import peers

ROOT = Path(__file__).resolve().parents[2]
PYOPENCL = ("pyopencl==2026.1.4", "pytools", "platformdirs", "typing_extensions", "siphash24")
PLATFORMS = ("pocl", "intel")
TIMEOUT = 300


class NotAvailableError(Exception):
    """It cannot be had here, and why."""


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
    if not _complete(root):
        print(f"fetching Debian's {peers.DEBIAN[0]} into {root}", file=sys.stderr)
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
            made = Path(scratch, "files")
            _call(["apt-get", "--quiet=2", "download", *peers.DEBIAN], Path(scratch))
            for package in sorted(Path(scratch).glob("*.deb")):
                _call(["dpkg", "-x", str(package), str(made)])
                package.unlink()
            _put(made, root)
    return root


@cache
def compiler() -> Path:
    """The folder of the compiler that makes the kernels of the tests."""
    loader = importlib.machinery.SourceFileLoader("kernels_build", str(ROOT / "tests" / "kernels" / "build"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    build = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        loader.exec_module(build)
    finally:
        sys.dont_write_bytecode = before
    try:
        found: Path = build.compiler()
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotAvailableError(f"clang-15 and llvm-spirv-15 cannot be fetched: {error}") from None
    return found


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
def environment(platform: str) -> dict[str, str]:
    """The variables with which a program finds pyopencl, that platform alone, and clang. Raises NotAvailableError."""
    library, site, clang = _library(platform), pyopencl(), compiler()
    vendors = peers.cache() / "vendors" / platform
    vendors.mkdir(parents=True, exist_ok=True)
    (vendors / f"{platform}.icd").write_text(f"{library}\n")
    libraries = [*_libraries(clang), *(_libraries(_pocl()) if platform == "pocl" else ())]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_"))}
    return kept | {
        "PYTHONPATH": str(site),
        "PATH": f"{clang / 'usr' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
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
