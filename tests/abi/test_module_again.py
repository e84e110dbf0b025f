"""Modules that are created again: the planner gets one request, if the result is the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.driver.modules import requests
from anyzero.driver.settings import settings

KERNELS = Path(__file__).parent.parent / "kernels"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The questions that come to the planner, by name."""
    found: list[str] = []

    def listening(name: str) -> None:
        answer = getattr(requests, name)

        def listen(request: bytes) -> bytes:
            found.append(name)
            return bytes(answer(request))

        monkeypatch.setattr(requests, name, listen)

    for name in ("build", "compile", "constants"):
        listening(name)
    return found


@pytest.fixture
def ctx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[az.Context]:
    # Another folder for each test: what others have created is not the same then.
    monkeypatch.setenv("ANYZERO_CACHE_DIR", str(tmp_path))
    settings.cache_clear()
    yield az.device().context()
    monkeypatch.undo()
    settings.cache_clear()


def run(module: az.Module, ctx: az.Context) -> None:
    x, y = ctx.full(40, 2, np.float32), ctx.full(40, 1, np.float32)
    module["saxpy"][40](y, x, np.float32(3), 40, group=8)
    assert y.copy_to().tolist() == [7.0] * 40


def test_given_a_module_again_then_no_python_runs(ctx: az.Context, asked: list[str]) -> None:
    first = ctx.module(KERNELS / "saxpy.spv")
    run(first, ctx)
    assert asked == ["build", "compile"]
    run(ctx.module(KERNELS / "saxpy.spv"), ctx)
    first.close()
    run(ctx.module(KERNELS / "saxpy.spv"), ctx)
    other = az.device().context()
    run(other.module(KERNELS / "saxpy.spv"), other)
    assert asked == ["build", "compile"]


def test_given_other_flags_or_another_environment_then_it_is_built(
    ctx: az.Context, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ctx.module(KERNELS / "saxpy.spv"), ctx)
    run(ctx.module(KERNELS / "saxpy.spv", options="-ze-opt-level=1"), ctx)
    monkeypatch.setenv("ANYZERO_LANES", "8")
    settings.cache_clear()
    run(ctx.module(KERNELS / "saxpy.spv"), ctx)
    assert asked == ["build", "compile"] * 3


def test_given_no_cache_then_everything_is_compiled_anew(
    ctx: az.Context, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYZERO_CACHE", "off")
    settings.cache_clear()
    for _ in range(2):
        run(ctx.module(KERNELS / "saxpy.spv"), ctx)
    assert asked == ["build", "compile"] * 2


def test_given_variables_then_each_module_has_its_own(ctx: az.Context, asked: list[str]) -> None:
    one, other = (ctx.module(KERNELS / "pointers.spv") for _ in range(2))
    assert asked == ["build", "build"]
    del one, other
