"""Finding OpenVINO by its files."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from anyzero import installed
from anyzero.installed import OpenVINO


def install(
    place: Path, version: str | None = "2026.4.1", library: str | None = "libopenvino_c.so.2641", init: bool = True
) -> Path:
    package = place / "openvino"
    package.mkdir(parents=True)
    if init:
        (package / "__init__.py").touch()
    if library is not None:
        (package / "libs").mkdir()
        (package / "libs" / "libopenvino.so.2641").touch()
        (package / "libs" / library).touch()
    if version:
        (place / f"openvino-{version}.dist-info").mkdir()
    return package


def test_none_is_none(tmp_path: Path) -> None:
    (tmp_path / "openvino").mkdir()  # a folder that others can write
    (tmp_path / "openvino.py").touch()
    assert installed.openvino([str(tmp_path), str(tmp_path / "missing"), __file__]) is None


def test_version_folder_and_library(tmp_path: Path) -> None:
    package = install(tmp_path)
    (tmp_path / "openvino_telemetry-2025.2.0.dist-info").mkdir()
    found = installed.openvino(["/nowhere", str(tmp_path)])
    assert found == OpenVINO("2026.4.1", str(package), str(package / "libs" / "libopenvino_c.so.2641"))
    assert found.is_enough
    assert found.shortcoming == ""


@pytest.mark.parametrize(
    ("version", "library", "read"),
    [
        ("2026.5.0.dev20261001", "libopenvino_c.so.2650", "2026.5.0"),
        (None, "libopenvino_c.so.2641", "2026.4.1"),
        (None, "libopenvino_c.so", "0"),
    ],
)
def test_the_version_is_told_by_the_package_or_the_library(
    tmp_path: Path, version: str | None, library: str, read: str
) -> None:
    install(tmp_path, version, library)
    found = installed.openvino([str(tmp_path)])
    assert found is not None
    assert found.version == read
    assert found.is_enough == (read != "0")


@pytest.mark.parametrize(
    ("version", "enough"), [("2025.4.0", False), ("2026.3.9", False), ("2026.4", True), ("2027.0", True)]
)
def test_old_ones_are_not_enough(tmp_path: Path, version: str, enough: bool) -> None:
    install(tmp_path, version)
    found = installed.openvino([str(tmp_path)])
    assert found is not None
    assert found.is_enough == enough
    assert ("older than 2026.4" in found.shortcoming) != enough


def test_one_without_a_c_library_is_not_enough(tmp_path: Path) -> None:
    install(tmp_path / "bare", library=None)
    install(tmp_path / "other", library="libother.so")
    for place in ("bare", "other"):
        found = installed.openvino([str(tmp_path / place)])
        assert found is not None
        assert not found.is_enough
        assert "no C library" in found.shortcoming


def test_the_first_on_the_path_counts_and_the_imported_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = install(tmp_path / "a"), install(tmp_path / "b", "2026.5.0")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    monkeypatch.delitem(sys.modules, "openvino", raising=False)
    found = installed.openvino()
    assert found is not None
    assert found.folder == str(first)
    module = ModuleType("openvino")
    module.__file__ = str(second / "__init__.py")
    monkeypatch.setitem(sys.modules, "openvino", module)
    found = installed.openvino()
    assert found is not None
    assert (found.folder, found.version) == (str(second), "2026.5.0")


def test_a_relative_place_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = install(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = installed.openvino([""])
    assert found is not None
    assert found.folder == str(package)
