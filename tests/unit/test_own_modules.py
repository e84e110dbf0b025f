"""The planning process's finder gives the modules that the standard one gives."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from anyzero.driver import own_modules
from anyzero.driver.own_modules import PackageFinder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `anyzero.made`, which only this finder finds by its folder."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "plain.py").write_text("VALUE = 1\n")
    (folder / "inner").mkdir()
    (folder / "inner" / "__init__.py").write_text("VALUE = 2\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield folder
    for name in [each for each in sys.modules if each.startswith("anyzero.made")]:
        del sys.modules[name]


def _loaded(folder: Path, name: str) -> object:
    spec = PackageFinder.find_spec(f"anyzero.made.{name}", [str(folder)])
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.VALUE


@pytest.mark.parametrize("name", ["anyzero.wire", "anyzero.compiler.ir", "anyzero.compiler.lower", "llvmlite.binding"])
def test_it_tells_what_the_standard_finder_tells(name: str) -> None:
    home = importlib.import_module(name.rpartition(".")[0]).__path__
    found, standard = PackageFinder.find_spec(name, home), PathFinder.find_spec(name, home)
    assert found
    assert standard
    for part in ("name", "origin", "cached", "has_location", "submodule_search_locations", "parent"):
        assert getattr(found, part) == getattr(standard, part), part


def test_it_leaves_others_alone() -> None:
    assert PackageFinder.find_spec("anyzero") is None
    assert PackageFinder.find_spec("json.decoder", importlib.import_module("json").__path__) is None
    assert PackageFinder.find_spec("anyzero.absent", importlib.import_module("anyzero").__path__) is None


def test_packages_and_modules_are_executed(package: Path) -> None:
    assert [_loaded(package, name) for name in ("plain", "inner")] == [1, 2]
    assert [_loaded(package, name) for name in ("plain", "inner")] == [1, 2]


def test_bytecode_of_another_source_is_not_used(package: Path) -> None:
    source = package / "plain.py"
    assert _loaded(package, "plain") == 1
    source.write_text("VALUE = 77\n")
    assert _loaded(package, "plain") == 77
    source.write_text("VALUE = 88\n")  # of the same size
    later = source.stat().st_mtime + 5
    os.utime(source, (later, later))
    assert _loaded(package, "plain") == 88


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, None])
def test_damaged_bytecode_is_not_used(package: Path, damage: bytes | None) -> None:
    assert _loaded(package, "plain") == 1
    (bytecode,) = (package / "__pycache__").glob("plain.*.pyc")
    whole = bytecode.read_bytes()
    bytecode.write_bytes(whole[:-7] if damage is None else damage)
    if damage is None:
        with pytest.raises(EOFError):  # as with the standard loader, which reports it
            _loaded(package, "plain")
    else:
        assert _loaded(package, "plain") == 1


def test_bytecode_that_is_compared_by_content_is_left_to_the_standard_loader(package: Path) -> None:
    import py_compile

    source = package / "plain.py"
    py_compile.compile(str(source), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert _loaded(package, "plain") == 1
    found = source.stat()
    source.write_text("VALUE = 3\n")
    os.utime(source, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert _loaded(package, "plain") == 3


def test_it_is_not_used_where_bytecode_is_elsewhere() -> None:
    code = (
        "import sys; from anyzero.driver import own_modules as o; o.install(); print(o.PackageFinder in sys.meta_path)"
    )
    for options, installed in (([], "True"), (["-O"], "False"), (["-X", "pycache_prefix=/nowhere"], "False")):
        done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == installed, options
    assert own_modules.PackageFinder not in sys.meta_path
