"""Folders whose contents are executed: only this user and root may be able to change anything in them.

Every part of the path is checked and opened by descriptor, so the checked folder is the one that is used, even if one
is renamed or replaced meanwhile. Symbolic links are followed one by one, if this user or root made them. A
world-writable folder on the way is accepted with the sticky bit, as /tmp has it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final, Self

__all__ = ["TrustedFolder", "UntrustedError"]

_LOOK: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS: Final = 40
_LONGEST_PATH: Final = 4096
"""Both are limits of the kernel."""
_UNMAPPED: Final = 65534


class UntrustedError(OSError):
    """Another user could have written the file; the text says who, and where."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EPERM, reason)


class TrustedFolder:
    """An open folder that has been checked; close it, or use it in a ``with``."""

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor = descriptor
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, make: bool = False) -> Self:
        """Opens the folder; with `make`, creates it and missing parents.

        Raises OSError if that is not possible, and UntrustedError if other users could write there.
        """
        whole = os.path.abspath(os.fspath(path)) if not os.path.isabs(path) else os.fspath(path)  # noqa: PTH100, PTH117
        here = cls(os.open("/", _LOOK | os.O_DIRECTORY), "/")
        rest = _parts(whole)
        links = 0
        try:
            if len(os.fsencode(whole)) >= _LONGEST_PATH:
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), whole)
            _judge(os.fstat(here.descriptor), "/", last=not rest)
            while rest:
                name = rest.pop()
                there, found = here._look(name, make=make)
                if stat.S_ISLNK(found.st_mode):
                    links += 1
                    target = os.readlink("", dir_fd=there)
                    os.close(there)
                    if links > _MOST_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), whole)
                    _judge(found, here._of(name), last=False)
                    if target.startswith("/"):
                        here._become(os.open("/", _LOOK | os.O_DIRECTORY), "/")
                    rest += _parts(target)
                    continue
                here._become(there, here._of(name))
                _judge(found, here.path, last=not rest)
            return here
        except BaseException:
            here.close()
            raise

    def folder(self, name: str, *, make: bool = False) -> Self:
        """A folder in this one."""
        there, found = self._look(name, make=make)
        inner = type(self)(there, self._of(name))
        try:
            if stat.S_ISLNK(found.st_mode):
                raise UntrustedError(f"{inner.path} is a symbolic link")
            _judge(found, inner.path, last=True)
        except BaseException:
            inner.close()
            raise
        return inner

    def file(self, name: str) -> int:
        """A descriptor of a file that no other user could have written; raises OSError, also for no regular file."""
        descriptor = os.open(name, _READ, dir_fd=self.descriptor)
        try:
            found = os.fstat(descriptor)
            where = self._of(name)
            if not stat.S_ISREG(found.st_mode):
                raise UntrustedError(f"{where} is not a regular file")
            _judge(found, where, last=True)
            if found.st_nlink != 1:
                raise UntrustedError(f"{where} has more than one hard link")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def read(self, name: str, most: int) -> bytes | None:
        """The contents of such a file; None if it is larger than the limit."""
        with open(self.file(name), "rb", buffering=0) as file:  # noqa: PTH123 (it is a descriptor)
            if os.fstat(file.fileno()).st_size > most:
                return None
            return file.readall()

    def write(self, name: str, parts: Iterable[bytes | memoryview], unfinished: str) -> None:
        """Writes a file atomically: under another name first, then renamed. The umask has no effect."""
        try:
            with open(os.open(unfinished, _MAKE, 0o600, dir_fd=self.descriptor), "wb") as file:  # noqa: PTH123
                os.fchmod(file.fileno(), 0o600)
                file.writelines(parts)
            os.rename(unfinished, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except OSError:
            self.remove(unfinished)
            raise

    def remove(self, name: str) -> None:
        """Removes a file, if it is there and can be removed."""
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self.descriptor)

    def touch(self, name: str) -> None:
        """Notes that a file was used now."""
        with contextlib.suppress(OSError):
            os.utime(name, dir_fd=self.descriptor, follow_symlinks=False)

    def status(self, name: str) -> os.stat_result:
        """The status of the entry of that name."""
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """The entries of the folder."""
        listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.descriptor)
        try:
            with os.scandir(listing) as found:
                yield from found
        finally:
            os.close(listing)

    def close(self) -> None:
        """Closes the folder; a second call does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look(self, name: str, *, make: bool) -> tuple[int, os.stat_result]:
        """A descriptor of a folder or of a symbolic link in this one."""
        try:
            there = os.open(name, _LOOK, dir_fd=self.descriptor)
        except FileNotFoundError:
            if not make:
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self.descriptor)
                # The umask may have removed permissions that we need.
                if stat.S_IMODE(self.status(name).st_mode) & 0o700 != 0o700:
                    os.chmod(name, 0o700, dir_fd=self.descriptor)
            there = os.open(name, _LOOK, dir_fd=self.descriptor)
        found = os.fstat(there)
        if not stat.S_ISDIR(found.st_mode) and not stat.S_ISLNK(found.st_mode):
            os.close(there)
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self._of(name))
        return there, found

    def _become(self, descriptor: int, path: str) -> None:
        os.close(self.descriptor)
        self.descriptor, self.path = descriptor, path

    def _of(self, name: str) -> str:
        return f"{self.path.rstrip('/')}/{name}"


def _parts(path: str) -> list[str]:
    """The names in a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _judge(found: os.stat_result, where: str, *, last: bool) -> None:
    unmapped = not last and found.st_uid == _UNMAPPED and _hides_the_administrator()
    if found.st_uid not in (0, os.geteuid()) and not unmapped:
        raise UntrustedError(f"{where} belongs to the user {found.st_uid}")
    others = found.st_mode & _OTHERS_WRITE and not stat.S_ISLNK(found.st_mode)
    if others and (last or not found.st_mode & stat.S_ISVTX):
        raise UntrustedError(f"others may write to {where}: chmod go-w {where}")


def _hides_the_administrator() -> bool:
    """In a user namespace that does not map root, folders of root show the overflow user id."""
    try:
        with open("/proc/self/uid_map", "rb", buffering=0) as file:  # noqa: PTH123 (pathlib is not loaded yet)
            return file.read(100).split()[:2] != [b"0", b"0"]
    except OSError:
        return False
