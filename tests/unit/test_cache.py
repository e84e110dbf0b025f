"""The cache on disk: whole entries or none, whatever happens to the disk and whoever else is there."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero import compiler, fingerprint
from anyzero import kernel_cache as cache
from anyzero.config import Config
from anyzero.driver.modules import provenance
from anyzero.kernel_cache import Cache
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
KEY = hashlib.sha256(b"key").digest()
OTHER = hashlib.sha256(b"other").digest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "kernels"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


def test_what_is_stored_is_found_again(folder: Path) -> None:
    first = Cache(folder, 1 << 20)
    assert first.load(KEY) is None
    first.store(KEY, b"content")
    assert first.load(KEY) == Cache(folder, 1 << 20).load(KEY) == b"content"
    assert first.load(OTHER) is None
    first.store(KEY, b"newer")
    assert first.load(KEY) == b"newer"
    assert not list(folder.rglob("*.part"))


def test_the_folder_is_private(folder: Path) -> None:
    Cache(folder, 1 << 20).store(KEY, b"content")
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "renamed"])
def test_a_damaged_entry_is_removed(folder: Path, damage: str) -> None:
    made = Cache(folder, 1 << 20)
    made.store(KEY, b"content" * 50)
    (path,) = entries(folder)
    data = bytearray(path.read_bytes())
    data[-1] ^= damage == "flipped"
    path.write_bytes(data[:-5] if damage == "cut" else b"" if damage == "empty" else data)
    key = KEY
    if damage == "renamed":
        key = OTHER
        made.store(OTHER, b"x")
        made._path(OTHER).write_bytes(data)
    assert made.load(key) is None
    assert not made._path(key).exists()
    made.store(key, b"again")
    assert made.load(key) == b"again"


@given(st.binary(max_size=200))
def test_any_file_is_survived(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    made = Cache(tmp_path_factory.mktemp("cache") / "kernels", 1 << 20)
    made.store(KEY, b"content")
    made._path(KEY).write_bytes(data)
    assert made.load(KEY) is None


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o777, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used(folder: Path, mode: int) -> None:
    made = Cache(folder, 1 << 20)
    made.store(KEY, b"content")
    folder.chmod(mode)
    assert made.load(KEY) is None  # the check belongs to each use
    made.store(OTHER, b"other")
    assert not made._path(OTHER).exists()
    assert "chmod go-w" in made.trouble
    folder.chmod(0o700)
    assert made.load(KEY) == b"content"
    assert made.trouble == ""


def test_a_folder_of_somebody_else_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(folder, 1 << 20).store(KEY, b"content")
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    expected = b"content" if folder.stat().st_uid == 0 else None
    assert Cache(folder, 1 << 20).load(KEY) == expected


def test_where_there_is_a_file_there_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    made = Cache(tmp_path / "cache" / "kernels", 1 << 20)
    made.store(KEY, b"content")
    assert made.load(KEY) is None


def test_a_full_disk_is_survived(folder: Path) -> None:
    made = Cache(folder, 1 << 20)
    made.store(OTHER, b"there")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        made.store(KEY, b"content" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert made.load(KEY) is None
    assert made.load(OTHER) == b"there"
    assert not list(folder.rglob("*.part"))


def test_a_removed_folder_is_made_again(folder: Path) -> None:
    made = Cache(folder, 1 << 20)
    made.store(KEY, b"content")
    for path in entries(folder):
        path.unlink()
        path.parent.rmdir()
    (folder / "swept").unlink()
    folder.rmdir()
    assert made.load(KEY) is None
    made.store(KEY, b"again")
    assert made.load(KEY) == b"again"


def numbered(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_what_was_not_used_for_the_longest_time_makes_room(folder: Path) -> None:
    made = Cache(folder, 100_000)
    for number in range(10):
        made.store(numbered(number), bytes(9000))
        os.utime(made._path(numbered(number)), (number, number))
    assert made.load(numbered(2)) is not None  # and so it is the newest
    for number in range(10, 14):
        made.store(numbered(number), bytes(9000))
    made.sweep()
    left = {number for number in range(14) if made._path(numbered(number)).exists()}
    assert {2, 10, 11, 12, 13} <= left
    assert 0 not in left
    assert sum(path.stat().st_size for path in entries(folder)) <= 100_000


def test_a_process_that_writes_much_makes_room_by_itself(folder: Path) -> None:
    made = Cache(folder, 64_000)
    for number in range(100):
        made.store(numbered(number), bytes(3000))
    assert sum(path.stat().st_size for path in entries(folder)) <= 64_000 + 64_000 // 16 + 3100


def test_an_entry_larger_than_the_limit_is_not_kept(folder: Path) -> None:
    made = Cache(folder, 1000)
    made.store(KEY, bytes(2000))
    assert made.load(KEY) is None


def test_abandoned_files_are_swept_and_young_ones_are_not(folder: Path) -> None:
    made = Cache(folder, 1 << 20)
    made.store(KEY, b"content")
    old, young = made._path(KEY).with_name("1-a.part"), made._path(KEY).with_name("2-b.part")
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    made.sweep()
    assert not old.exists()
    assert young.exists()
    assert made.load(KEY) == b"content"


HAMMER = """
import hashlib, random, sys
from pathlib import Path
from anyzero.kernel_cache import Cache
made, chance = Cache(Path(sys.argv[1]), 60_000), random.Random(int(sys.argv[2]))
found = 0
for step in range(400):
    number = chance.randrange(24)
    key = hashlib.sha256(bytes([number])).digest()
    content = made.load(key)
    if content is None:
        made.store(key, bytes([number]) * (3000 + number))
    else:
        found += 1
        assert content == bytes([number]) * (3000 + number), (number, len(content))
    if step % 50 == 0:
        made.sweep()
print(found)
"""


def test_processes_that_hammer_one_folder_never_see_half_an_entry(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", HAMMER, str(folder)]
    running = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in range(4)
    ]
    found = 0
    for process in running:
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        found += int(out)
    assert found > 100
    assert not list(folder.rglob("*.part"))


def test_the_environment_says_where(tmp_path: Path) -> None:
    given = Config(cache_dir=str(tmp_path))
    assert cache.folder(given) == tmp_path / "kernels"
    assert cache.folder(Config(), {"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "anyzero" / "kernels"
    home = Path.home() / ".cache" / "anyzero" / "kernels"
    assert cache.folder(Config(), {}) == home
    assert cache.folder(Config(), {"XDG_CACHE_HOME": "relative"}) == home
    assert cache.of(Config(cache=False, cache_dir=str(tmp_path))) is None
    made = cache.of(Config(cache_dir=str(tmp_path), cache_size=5000))
    assert made is not None
    assert made.limit == 5000


def test_the_compiler_stands_for_itself_by_its_contents() -> None:
    assert len(provenance.compiler_digest()) == 64


def test_the_interpreter_is_no_part_of_what_compiles() -> None:
    found = [entry.path for entry in fingerprint.sources(str(Path(compiler.__file__).parent))]
    assert any(path.endswith("pipeline.py") for path in found)
    assert not any("/reference/" in path for path in found)
    assert provenance.versions().startswith("anyzero 0.")
    assert "unknown" not in provenance.versions()
    assert "missing" not in provenance.versions()


def test_a_changed_source_changes_the_fingerprint(tmp_path: Path) -> None:
    source = tmp_path / "inner" / "source.py"
    source.parent.mkdir()
    source.write_text("a = 1\n")
    first = fingerprint.fingerprint(str(tmp_path))
    assert fingerprint.fingerprint(str(tmp_path)) == first
    times = source.stat()
    source.write_text("a = 2\n")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert fingerprint.fingerprint(str(tmp_path)) != first


def test_a_processor_is_known_by_what_it_can_do(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    text = (
        "processor\t: 0\nvendor_id\t: Maker\nmodel\t: 7\ncpu MHz\t: 1000\nflags\t: a b\n\nprocessor\t: 1\nflags\t: c\n"
    )
    info.write_text(text)
    first = provenance._processor(info)
    assert first.endswith(" Maker 7 a b")
    info.write_text(text.replace("1000", "2000"))
    assert provenance._processor(info) == first
    info.write_text(text.replace("a b", "a"))
    assert provenance._processor(info) != first
    assert provenance._processor(tmp_path / "none").endswith(os.uname().nodename)
