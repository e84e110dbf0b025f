"""What a loader is found to be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anyzero.api.calls import loaders
from anyzero.api.calls.loaders import Loader
from anyzero.ze.functions import FUNCTIONS


def since(*version: int) -> list[str]:
    """Every function that is newer than a version."""
    return [name for name, (_, _, first) in FUNCTIONS.items() if first > version]


@pytest.mark.parametrize("version", [(1, 4), (1, 9), (1, 12)])
def test_a_loader_knows_the_version_whose_functions_it_has(version: tuple[int, int]) -> None:
    assert loaders._level(since(*version)) == version


def test_a_loader_with_everything_knows_the_newest() -> None:
    assert loaders._level([]) == (1, 17)
    assert loaders._level(list(FUNCTIONS)) == (1, 0)


def test_a_gap_counts_as_the_version_before_it() -> None:
    assert loaders._level(["zeInitDrivers"]) == (1, 9)


@pytest.mark.parametrize(("level", "enough"), [((1, 9), False), ((1, 10), True), ((1, 17), True), (None, False)])
def test_what_programs_need(level: tuple[int, int] | None, enough: bool) -> None:
    assert Loader("x", level=level).is_enough is enough


def test_our_own_has_everything() -> None:
    found = loaders.look_at(str(loaders.OURS), os.environ)
    assert (found.level, found.error, found.is_ours) == ((1, 17), None, True)
    beside = {**os.environ, "LD_LIBRARY_PATH": str(loaders.FOLDER)}
    assert loaders.system_loader(beside) == found


def test_a_version_is_read_from_the_name_of_the_file(tmp_path: Path) -> None:
    real = tmp_path / "libze_loader.so.1.99.7"
    real.write_bytes(loaders.OURS.read_bytes())
    (tmp_path / loaders.NAME).symlink_to(real.name)
    found = loaders.system_loader({**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert found is not None
    assert (found.path, found.version) == (str(real), "1.99.7")
    assert str(found) == f"{real}, version 1.99.7, Level Zero 1.17"


def test_no_loader_is_none_and_a_broken_one_is_not(tmp_path: Path) -> None:
    assert loaders.system_loader({**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}) in (
        None,
        loaders.system_loader(dict(os.environ)),
    )
    (tmp_path / loaders.NAME).write_text("no library")
    found = loaders.system_loader({**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert found is not None
    assert found.level is None
    assert "cannot be loaded" in str(found)


def test_a_loader_that_ends_the_process_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaders, "_LOOK", "import os; os.abort()")
    assert loaders.look_at("anything", os.environ).level is None
