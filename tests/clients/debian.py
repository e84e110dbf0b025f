"""Level Zero as Debian ships it: headers, loader and layers of several releases, fetched without any rights.

    python -m tests.clients.debian      fetches all of them and says where they are

They come from Debian's archive through `apt-get` into a cache folder (ANYZERO_DEBIAN_CACHE, else
~/.cache/anyzero/debian), once; nothing is installed. Where that is not possible the tests that need them are skipped.

A loader from a newer release than the machine's own may want a newer C library. That one is fetched along with it and
programs are started with its dynamic linker.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = ("libze1", "libze-dev")
RUNTIME = ("libc6", "libstdc++6", "libgcc-s1")
SUITES = ("bookworm", "trixie", "sid")
"""Loader 1.8.12 with the API of 1.4; 1.20.6; and the newest, 1.32.0 at the time of writing."""

OLDEST, MIDDLE, NEWEST = SUITES
LINKER = "ld-linux-x86-64.so.2"
PARSED = ("-o", "Dir::Cache::pkgcache=packages.bin", "-o", "Dir::Cache::srcpkgcache=sources.bin")
"""apt keeps the parsed index, which images of containers forbid: parsing takes a second for each download."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TIMEOUT = 300


class NotAvailableError(Exception):
    """It cannot be had here, and why."""


@dataclass(frozen=True)
class Loader:
    """A `libze_loader.so.1` and what it takes to start a program with it."""

    name: str
    folder: Path
    start: tuple[str, ...] = field(default=())
    """The command-line prefix of the program."""

    @property
    def path(self) -> Path:
        return self.folder / "libze_loader.so.1"


@dataclass(frozen=True)
class Release:
    """The Level Zero packages of a Debian release."""

    suite: str
    root: Path

    @property
    def headers(self) -> Path:
        return self.root / "usr" / "include" / "level_zero"

    @property
    def libraries(self) -> Path:
        return self.root / "usr" / "lib" / "x86_64-linux-gnu"

    @property
    def version(self) -> str:
        """The loader's, from the name of its file."""
        return self.libraries.joinpath("libze_loader.so.1").resolve().name.partition(".so.")[2]

    def loader(self) -> Loader:
        """No prefix if the machine's own C library suffices for the loader."""
        if _loads(self.libraries / "libze_loader.so.1"):
            return Loader(self.suite, self.libraries)
        own = [self.root / "runtime" / place / "x86_64-linux-gnu" for place in ("lib", "usr/lib")]
        linker = next(folder / LINKER for folder in own if (folder / LINKER).exists())
        return Loader(
            self.suite,
            self.libraries,
            (str(linker), "--library-path", ":".join(str(folder) for folder in (self.libraries, *own))),
        )


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("ANYZERO_DEBIAN_CACHE") or Path(base, "anyzero", "debian"))


@functools.cache
def release(suite: str) -> Release:
    """A release's files, from the cache, where they are put the first time. Raises NotAvailableError."""
    root = cache() / suite
    _have(suite, root, {".": PACKAGES, "runtime": RUNTIME})
    return Release(suite, root)


def _place(suite: str, names: Sequence[str]) -> Path:
    return cache() / f"{suite}-{names[0]}"


def fetched(suite: str, *names: str) -> bool:
    """Whether they are in the cache."""
    return _place(suite, names).exists()


@functools.cache
def packages(suite: str, *names: str) -> Path:
    """Other packages of a release, without dependencies, in a separate folder. Raises NotAvailableError."""
    root = _place(suite, names)
    _have(suite, root, {".": names})
    return root


_unavailable: dict[Path, NotAvailableError] = {}
"""Failed downloads. Without a network a failure takes a while, so it is cached."""


def _have(suite: str, root: Path, wanted: Mapping[str, Sequence[str]]) -> None:
    if root.exists():
        return
    if root in _unavailable:
        raise _unavailable[root]
    try:
        with alone_in(root.parent):
            if not root.exists():
                _fetch(suite, root, wanted)
    except NotAvailableError as error:
        _unavailable[root] = error
        raise


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Other processes that fetch into the folder wait, and find it there."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def download(suite: str, folder: Path, *names: str) -> None:
    """Packages of a release as files in a folder. Raises NotAvailableError."""
    _apt(_index(suite), folder, "download", *names)


def _fetch(suite: str, root: Path, wanted: Mapping[str, Sequence[str]]) -> None:
    print(f"fetching {', '.join(name for names in wanted.values() for name in names)} of {suite}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=root.parent) as scratch:
        files = Path(scratch, "files")
        for place, names in wanted.items():
            folder = Path(scratch, place)
            folder.mkdir(exist_ok=True)
            download(suite, folder, *names)
            for package in folder.glob("*.deb"):
                subprocess.run(["dpkg", "-x", str(package), str(files / place)], check=True, timeout=TIMEOUT)
                package.unlink()
        files.rename(root)


@functools.cache
def _index(suite: str) -> Path:
    """Settings for apt with a fresh index of one release: this process reads it once for all packages."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    settings = _settings(suite, Path(folder.name))
    _apt(settings, Path(folder.name), "update")
    return settings


def _settings(suite: str, scratch: Path) -> Path:
    """Settings for apt that know one release and keep everything in one folder."""
    for name in ("lists", "cache"):
        for folder in (scratch / name / "partial", scratch / name / "archives" / "partial"):
            folder.mkdir(parents=True)
    sources = scratch / "sources.list"
    sources.write_text(f"deb [signed-by={KEYRING}] {_archive()} {suite} main\n")
    settings = scratch / "apt.conf"
    settings.write_text(
        f'Dir::Etc::sourcelist "{sources}";\nDir::Etc::sourceparts "-";\nDir::State::status "/dev/null";\n'
        f'Dir::State::lists "{scratch / "lists"}";\nDir::Cache "{scratch / "cache"}";\n'
        'Acquire::Languages "none";\nAcquire::Retries "1";\nAPT::Update::Error-Mode "any";\n'
        'APT::Architecture "amd64";\nAPT::Sandbox::User "";\n'
    )
    return settings


@functools.cache
def _archive() -> str:
    """The mirror of Debian that this machine's apt uses."""
    if not KEYRING.exists():
        raise NotAvailableError(f"{KEYRING} is missing, so this is no Debian whose apt could fetch libze1")
    wanted = ("--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages")
    try:
        told = subprocess.run(["apt-get", "indextargets", *wanted], capture_output=True, text=True, timeout=TIMEOUT)
    except OSError as error:
        raise NotAvailableError(f"there is no apt-get to fetch libze1 with: {error}") from None
    for line in told.stdout.splitlines():
        if line.startswith("Debian Debian "):
            return line.split()[2]
    raise NotAvailableError("apt on this machine knows no archive of Debian; `apt-get update` may help")


def _apt(settings: Path, folder: Path, *arguments: str) -> None:
    try:
        done = subprocess.run(
            ["apt-get", "--quiet=2", *PARSED, *arguments],
            cwd=folder,
            env={**os.environ, "APT_CONFIG": str(settings)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailableError(f"apt-get {arguments[0]} does not work: {error}") from None
    if done.returncode:
        reason = done.stderr.strip().splitlines()
        raise NotAvailableError(f"apt-get {arguments[0]} fails: {reason[-1] if reason else 'it does not say why'}")


def _loads(library: Path) -> bool:
    loading = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    command = [sys.executable, "-c", loading, str(library)]
    return subprocess.run(command, capture_output=True, timeout=TIMEOUT).returncode == 0


def main() -> int:
    for suite in SUITES:
        try:
            found = release(suite)
        except NotAvailableError as error:
            print(f"{suite}: {error}", file=sys.stderr)
            return 1
        print(f"{suite}: {found.version} in {found.libraries}; {' '.join(found.loader().start) or 'starts as it is'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
