"""Modules that a fresh process imports for its first kernel: no compiler for a cached one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SAXPY = Path(__file__).resolve().parents[1] / "kernels" / "saxpy.spv"

PROGRAM = """
import sys
import anyzero as az

with az.device().context() as context:
    saxpy = context.module(sys.argv[1])["saxpy"]
    y, x = (context.full(100, 1, "f4") for _ in range(2))
    with context.immediate() as commands:
        saxpy[100](y, x, 2.0, 100, on=commands).wait()
    assert (y.copy_to() == 3).all()
print(*sorted(sys.modules))
"""

COMPILING = ("analysis", "builtins", "lanes", "lower", "passes", "pipeline", "targets", "transform", "translate")


def loaded(cache: Path) -> set[str]:
    environment = {**os.environ, "ANYZERO_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(SAXPY)], env=environment, check=True, capture_output=True, text=True
    )
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """The imports for a compiled kernel, and for a cached one."""
    cache = tmp_path_factory.mktemp("cache")
    return loaded(cache), loaded(cache)


def compiling(names: set[str]) -> set[str]:
    parts = {f"anyzero.compiler.{each}" for each in COMPILING}
    return {name for name in names if name in parts or name.partition(".")[0] == "llvmlite"}


def test_given_an_empty_cache_then_the_compiler_is_loaded(both: tuple[set[str], set[str]]) -> None:
    assert {"anyzero.compiler.pipeline", "anyzero.compiler.lanes", "llvmlite"} <= compiling(both[0])


def test_given_the_kernel_in_the_cache_then_neither_llvm_nor_the_compiler_is_loaded(
    both: tuple[set[str], set[str]],
) -> None:
    assert compiling(both[1]) == set()
