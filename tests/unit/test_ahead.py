"""What the planning process loads and compiles ahead of requests leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anyzero.compiler import pipeline
from anyzero.driver import ahead


def _told(code: str, **variables: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    return done.stdout.splitlines()


def test_modules_that_were_put_off_are_whole_when_they_are_used() -> None:
    code = """
from anyzero.driver import ahead
ahead._load_llvm()
import importlib.resources, platform, llvmlite.binding as llvm
print(platform.machine(), importlib.resources.files("anyzero.tools").joinpath("saxpy.spv").is_file())
llvm.initialize_native_target()
print(llvm.Target.from_default_triple().name)
"""
    assert _told(code)[0].endswith(" True")
    assert len(_told(code)) == 2


def test_the_part_of_llvmlite_that_writes_ir_is_imported_at_its_first_use() -> None:
    code = """
import sys
from anyzero.driver import ahead
ahead._load_llvm()
import llvmlite.binding as llvm
print(any(name.startswith("llvmlite.ir") for name in sys.modules))
module = llvm.parse_assembly("@x = global i32 0")
print(module.get_global_variable("x").global_value_type.as_ir(None))
print("llvmlite.ir" in sys.modules)
"""
    assert _told(code) == ["False", "i32", "True"]


def test_llvm_is_loaded_where_it_needs_more_of_the_resources() -> None:
    code = """
from anyzero.driver import ahead
del ahead._PlainResources.as_file
ahead._load_llvm()
import llvmlite.binding as llvm
print(llvm.get_host_cpu_name() != "")
"""
    assert _told(code) == ["True"]


def test_the_librarys_place_is_the_one_that_llvmlite_opens() -> None:
    code = """
from anyzero.driver import ahead
ahead._map_library()
maps = open("/proc/self/maps").read()
import sys
print("libllvmlite" in maps, "llvmlite" in sys.modules)
"""
    assert _told(code) == ["True False"]


def test_a_rehearsal_stores_and_dumps_nothing(tmp_path: Path) -> None:
    code = """
import sys
from anyzero.compiler import pipeline
from anyzero.driver import ahead
compiled = []
usual = pipeline.compile_kernel
pipeline.compile_kernel = lambda *given: compiled.append(usual(*given))
ahead.rehearse()
print(len(compiled))
"""
    kept, dumped = tmp_path / "kept", tmp_path / "dumped"
    dumped.mkdir()
    assert _told(code, ANYZERO_CACHE_DIR=str(kept)) == ["1"]
    assert _told(code, ANYZERO_CACHE_DIR=str(kept), ANYZERO_DUMP=str(dumped)) == ["0"]
    assert not kept.exists()
    assert not list(dumped.iterdir())


def test_a_rehearsal_that_fails_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(pipeline, "compile_kernel", fail)
    ahead.rehearse()
