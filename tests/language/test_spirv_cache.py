"""Kernels from the cache: nothing is read or compiled again, and nothing stale is used."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.language import spirv_cache
from anyzero.language.kernel import Kernel
from tests.patience import PATIENCE

PROGRAM = """
import sys
import numpy as np, anyzero as az

STEP = float(sys.argv[1])

@az.function
def moved(x):
    return x + STEP

@az.kernel
def move(x: az.ptr[az.f32]):
    i = az.global_id(0)
    x[i] = moved(x[i])

x = az.device().context().zeros(4, np.float32)
move[4](x)
front = any(name.startswith("anyzero.language.check") for name in sys.modules)
reader = "anyzero.compiler.spirv" in sys.modules
print(x.copy_to()[0], front, reader)
"""


def test_a_second_process_runs_neither_the_front_end_nor_the_compiler(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"ANYZERO_CACHE_DIR": str(tmp_path / "cache"), "ANYZERO_STAGES": "final"}

    def run(step: str) -> str:
        command = [sys.executable, str(program), step]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return done.stdout.strip()

    assert run("1") == "1.0 True True"
    assert run("1") == "1.0 False False"


def key(kernel: Kernel, *types: Any) -> bytes | None:
    return spirv_cache.key(kernel.specialized(*types) if types else kernel._only("key"))


def made(step: Any) -> Kernel:
    @az.kernel
    def kernel(x: az.ptr[az.f32]):
        x[0] = step

    return kernel


def test_values_from_outside_are_part_of_the_key() -> None:
    keys = [key(made(step)) for step in (1, 2, 1.0, True, np.float32(1), np.float64(1), az.f32)]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert key(made(1)) == keys[0]


def test_what_has_no_text_has_no_key() -> None:
    assert key(made(np.zeros(3))) is None
    assert key(made(lambda: 1)) is None


def test_types_and_options_are_part_of_the_key() -> None:
    def double(x):  # type: ignore[no-untyped-def]
        x[az.global_id(0)] *= 2

    kernel = az.kernel(double)
    found = {key(kernel, az.ptr[az.i64]), key(kernel, az.ptr[az.f32]), key(az.kernel(group=8)(double), az.ptr[az.f32])}
    assert len({*found, key(az.kernel(contract=False)(double), az.ptr[az.f32])}) == 4


def scaled(count: Any) -> Kernel:
    @az.kernel
    def kernel(x: az.ptr[az.f32], n: az.const[az.i32]):
        x[0] = n

    return kernel


def test_constants_are_part_of_the_key() -> None:
    context = az.device().context()
    x = context.zeros(1, np.float32)
    kernel = scaled(0)
    assert len({spirv_cache.key(kernel.specialization((x, n))) for n in (3, 4, 3)}) == 2


def test_attributes_are_part_of_the_key() -> None:
    def of(settings: Any) -> bytes | None:
        @az.kernel
        def kernel(x: az.ptr[az.f32]):
            x[0] = settings.step

        return key(kernel)

    assert of(SimpleNamespace(step=1, other=1)) == of(SimpleNamespace(step=1, other=2))
    assert of(SimpleNamespace(step=1)) != of(SimpleNamespace(step=2))


def test_functions_and_classes_may_have_no_module() -> None:
    """As those that tools make."""

    def shift(x):  # type: ignore[no-untyped-def]
        return x + holder.step

    def move(x: az.ptr[az.f32]) -> None:
        x[0] = shift(x[0])

    class Holder:
        step = 1

    for each in (shift, move, Holder):
        each.__module__ = None  # type: ignore[assignment]
    holder, shift = Holder(), az.function(shift)
    found = key(az.kernel(move))
    holder.step = 2
    assert None not in (found, key(az.kernel(move)))
    assert found != key(az.kernel(move))


def test_a_kernel_of_its_own_name_has_a_key() -> None:
    """`other = az.kernel(function)`: the name in the text is still the function's."""
    assert key(az.kernel(plain)) is not None


def plain(x: az.ptr[az.f32]) -> None:
    x[0] = 1


def test_annotations_of_variables_are_part_of_the_key() -> None:
    """The byte code does not have them."""
    text = "import anyzero as az\nT = az.{0}\n@az.kernel\ndef k(x: az.ptr[az.f32]):\n    n: T = 1\n    x[0] = n\n"
    spaces: list[dict[str, Any]] = [{}, {}]
    for space, of in zip(spaces, ("f32", "f64"), strict=True):
        # The same text for both, so that only the value of T differs.
        linecache.cache["<cell>"] = (1, None, text.format("f32").splitlines(keepends=True), "<cell>")
        exec(compile(text.format(of), "<cell>", "exec"), space)
    first, second = (key(space["k"]) for space in spaces)
    assert first is not None
    assert first != second


def test_an_edited_function_is_another_key(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    text = "import anyzero as az\n@az.function\ndef f(x):\n    return x + 1\n"
    text += "@az.kernel\ndef k(x: az.ptr[az.f32]):\n    x[0] = f(x[0])\n"

    def of(text: str) -> bytes | None:
        file.write_text(text)
        linecache.clearcache()
        space: dict[str, Any] = {}
        exec(compile(text, str(file), "exec"), space)
        return key(space["k"])

    assert of(text) == of(text)
    assert of(text) != of(text.replace("x + 1", "x + 2"))


def alternatives() -> list[Callable[..., Any]]:
    return [az.atomic_add, az.atomic_sub]


@pytest.mark.parametrize("other", [1, min])
def test_builtins_are_part_of_the_key(other: Any) -> None:
    def of(function: Any) -> bytes | None:
        @az.kernel
        def kernel(x: az.ptr[az.i32]):
            function(x, 0, 1)

        return key(kernel)

    first, second = map(of, alternatives())
    assert first is not None
    assert len({first, second, of(other)}) == 3
