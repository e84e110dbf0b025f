"""Folders whose contents are run: what another user could have written is not read, whatever the way there."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from anyzero.kernel_cache import Cache
from anyzero.trust.folder import TrustedFolder, UntrustedError

KEY = bytes(32)
SOMEBODY = 54321
"""A user that no machine has."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users: run the tests as root")


def spoil_group(path: Path) -> None:
    path.chmod(0o770)


def spoil_world(path: Path) -> None:
    path.chmod(0o777)


def spoil_owner(path: Path) -> None:
    os.chown(path, SOMEBODY, -1)


def spoil_link(path: Path) -> None:
    """A symbolic link of another user to a trusted folder."""
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")
    os.chown(path, SOMEBODY, -1, follow_symlinks=False)


SPOILED = [
    spoil_group,
    spoil_world,
    pytest.param(spoil_owner, marks=as_root),
    pytest.param(spoil_link, marks=as_root),
]


@pytest.mark.parametrize("part", ["a", "a/b", "a/b/c"])
@pytest.mark.parametrize("spoil", SPOILED)
def test_every_part_of_the_path_counts(tmp_path: Path, part: str, spoil: Callable[[Path], None]) -> None:
    whole = tmp_path / "a" / "b" / "c"
    with TrustedFolder.open(whole, make=True) as folder:
        folder.write("entry", [b"good"], "part")
    spoil(tmp_path / part)
    with pytest.raises(UntrustedError, match=part):
        TrustedFolder.open(whole)
    with pytest.raises(UntrustedError, match=part):
        TrustedFolder.open(whole / "d", make=True)
    assert not (whole / "d").exists()


def test_a_sticky_parent_is_fine_and_a_sticky_folder_is_not(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    TrustedFolder.open(tmp_path / "shared" / "mine", make=True).close()
    with pytest.raises(UntrustedError, match="shared"):
        TrustedFolder.open(tmp_path / "shared")


@pytest.mark.parametrize("target", ["{tmp}/real", "real", "../{name}/real", "./hop"])
def test_links_of_this_user_are_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "hop").symlink_to("real")
    (tmp_path / "home").symlink_to(target.format(tmp=tmp_path, name=tmp_path.name))
    with TrustedFolder.open(tmp_path / "home" / "inner") as folder:
        folder.write("entry", [b"here"], "part")
    assert (tmp_path / "real" / "inner" / "entry").read_bytes() == b"here"
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(UntrustedError, match="real"):
        TrustedFolder.open(tmp_path / "home" / "inner")


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        TrustedFolder.open(tmp_path / "a")


def spoil_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def spoil_symlink(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


def spoil_hard_link(path: Path) -> None:
    path.with_name("other").hardlink_to(path)


def spoil_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def spoil_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


ENTRIES = [
    *(spoil_group, spoil_world, spoil_fifo, spoil_symlink, spoil_hard_link, spoil_device, spoil_folder),
    pytest.param(spoil_owner, marks=as_root),
]


@pytest.mark.parametrize("spoil", ENTRIES)
def test_every_entry_counts(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """None of these is read, and none of them waits."""
    with TrustedFolder.open(tmp_path / "folder", make=True) as folder:
        folder.write("entry", [b"good"], "part")
        assert folder.read("entry", 4) == b"good"
        assert folder.read("entry", 3) is None
        spoil(tmp_path / "folder" / "entry")
        with pytest.raises(OSError, match=r"entry|symbolic links"):
            folder.read("entry", 4)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277, 0o777])
def test_the_umask_has_no_say(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with TrustedFolder.open(tmp_path / "a" / "b", make=True) as folder:
            folder.write("entry", [b"one", b"two"], "part")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/entry")]
    assert modes == [0o700, 0o700, 0o600]


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong").chmod(0o777)
    (tmp_path / "file").write_text("")
    before = len([*Path("/proc/self/fd").iterdir()])
    for path in ("wrong", "wrong/further", "file", "file/further", "none"):
        with pytest.raises(OSError, match=path.split("/")[0]):
            TrustedFolder.open(tmp_path / path)
    TrustedFolder.open(tmp_path / "right" / "further", make=True).close()
    assert len([*Path("/proc/self/fd").iterdir()]) == before


@as_root
def test_what_another_user_left_in_tmp_is_not_run() -> None:
    """Somebody else makes the folder first, and fills it; and the other way round."""
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o1777)
        planted = Cache(Path(shared, "anyzero", "kernels"), 1 << 20)
        child = os.fork()
        if child == 0:
            os.setuid(SOMEBODY)
            planted.store(KEY, b"theirs")
            os._exit(planted.load(KEY) != b"theirs")
        assert os.waitpid(child, 0)[1] == 0
        assert planted._path(KEY).stat().st_uid == SOMEBODY
        assert planted.load(KEY) is None
        assert planted.trouble.endswith(f"belongs to the user {SOMEBODY}")
        planted.store(KEY, b"ours")
        assert planted._path(KEY).read_bytes().endswith(b"theirs")
