"""Kernels that begin with code of the first stage, in processes of their own: better code takes over while they run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.kernels import KERNELS, ROOT
from tests.compiler.lowering.test_scalarize import SEARCH
from tests.compiler.reference.kernels import kernel
from tests.patience import PATIENCE

PROGRAM = f"""
import ctypes, os, sys, time
import numpy as np
import anyzero as az
from anyzero.api.library import function

device = az.device()
context = device.context()
kernel = context.module({str(KERNELS / "matmul.spv")!r})["matmul_int"]
commands = context.immediate(mode="synchronous")
n = 128
left, right = (np.random.default_rng(seed).random((n, n), dtype=np.float32) for seed in (1, 2))
a, b, c = context.to_device(left), context.to_device(right), context.zeros((n, n), "f4")
until = time.monotonic() + {PATIENCE}

def extension(name, *types):
    address = ctypes.c_void_p()
    function("zeDriverGetExtensionFunctionAddress")(device.driver.handle, name, ctypes.byref(address))
    return ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, *types)(address.value)

get_stage = extension(b"zexKernelGetStage", ctypes.c_void_p)
get_binary = extension(b"zeKernelGetBinaryExp", ctypes.c_void_p, ctypes.c_void_p)

def stage():
    found = ctypes.c_uint32()
    assert get_stage(kernel.handle, ctypes.byref(found)) == 0
    return found.value

def binary():
    size = ctypes.c_size_t()
    assert get_binary(kernel.handle, ctypes.byref(size), None) == 0
    room = ctypes.create_string_buffer(size.value)
    assert get_binary(kernel.handle, ctypes.byref(size), room) == 0
    return room.raw

def launch():
    c.fill(0)
    kernel[n, n](c, a, b, n, group=(16, 16), on=commands).wait()
    return c.copy_to()

def launch_until(condition):
    while not condition():
        assert time.monotonic() < until
        assert (launch() == first).all()

assert stage() == int(os.environ.get("EXPECTED", "1"))
first = launch()
assert np.allclose(first, left @ right, rtol=1e-4)
"""


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    left = second_processes(tmp_path)
    for each in left:
        os.kill(each, signal.SIGCONT)
    until = time.monotonic() + PATIENCE
    while second_processes(tmp_path):
        assert time.monotonic() < until, "a process outlives its program"
        time.sleep(0.01)


def run(cache: Path, program: str, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "ANYZERO_STAGES"}
    said = cache / "said"
    # No pipe: a process that is stopped would keep it open.
    with said.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM + textwrap.dedent(program)],
            env=kept | {"ANYZERO_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)} | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, said.read_text()
    return said.read_text()


def second_processes(cache: Path, but: int = 0) -> list[int]:
    """Processes with that cache, known by their environment: they are nobody's children."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and int(each.name) not in (but, os.getpid()):
            try:
                environment = (each / "environ").read_bytes()
                command = (each / "cmdline").read_bytes()
            except OSError:
                continue
            if f"ANYZERO_CACHE_DIR={cache}\0".encode() in environment and b"service.serve" in command:
                found.append(int(each.name))
    return found


def test_better_code_takes_over_and_nothing_else_changes(cache: Path) -> None:
    """Results and properties stay, and the next process begins with the better code."""
    program = """
        before = kernel.properties
        launch_until(lambda: stage() == 2)
        assert (launch() == first).all()
        assert kernel.properties == before
        print(hash(binary()))
    """
    found = run(cache, program, PYTHONHASHSEED="0")
    assert run(cache, "print(hash(binary()))", PYTHONHASHSEED="0", EXPECTED="0") == found


def test_better_code_may_have_more_lanes(cache: Path) -> None:
    """A search waits for memory; with AVX-512 the final code has more lanes, which programs do not see."""
    file = cache / "search.spv"
    file.write_bytes(kernel(SEARCH, "%global_i32 %i32 %global_i32").words.tobytes())
    program = f"""
        kernel = context.module({str(file)!r})["main"]
        steps = np.random.default_rng(3).integers(1, 9, 20000, dtype=np.int32)
        steps, found = context.to_device(steps), context.zeros(20000, "i4")

        def launch():
            found.fill(0)
            kernel[20000](steps, 19990, found, on=commands).wait()
            return found.copy_to()

        first = launch()
        assert first.any()
        before = kernel.properties
        launch_until(lambda: stage() == 2)
        assert (launch() == first).all()
        assert kernel.properties == before
    """
    run(cache, program)


def test_the_binary_is_that_of_the_final_code(cache: Path) -> None:
    soon = run(cache, "print(hash(binary())); assert stage() == 2; launch_until(lambda: True)", PYTHONHASHSEED="0")
    away = cache / "away"
    away.mkdir()
    assert run(away, "print(hash(binary()))", PYTHONHASHSEED="0", EXPECTED="0", ANYZERO_STAGES="final") == soon


def test_a_process_that_is_killed_meanwhile_is_asked_again(cache: Path) -> None:
    program = f"""
        import signal
        from pathlib import Path
        from tests.api.test_stages import second_processes
        cache = Path({str(cache)!r})
        launch_until(lambda: second_processes(cache))
        for each in second_processes(cache):
            os.kill(each, signal.SIGKILL)
        launch_until(lambda: stage() == 2)
    """
    run(cache, program)


def test_a_program_that_ends_meanwhile_waits_for_nothing(cache: Path) -> None:
    """The second process is stopped, so that it cannot come to an end either."""
    program = f"""
        import signal
        from pathlib import Path
        from tests.api.test_stages import second_processes
        launch_until(lambda: second_processes(Path({str(cache)!r})))
        for each in second_processes(Path({str(cache)!r})):
            os.kill(each, signal.SIGSTOP)
        launch_until(lambda: True)
        assert stage() == 1
    """
    run(cache, program)


def test_code_for_one_group_size_may_run_in_other_blocks(cache: Path) -> None:
    """A kernel with its group size written out does not depend on its groups, once launches are known to have it."""
    module = cache / "blocks.py"
    module.write_text(
        textwrap.dedent("""
        import anyzero as az

        @az.kernel
        def blocks(c: az.ptr[az.f32], a: az.ptr[az.f32], b: az.ptr[az.f32], n: az.i32):
            x = az.i32(az.group_id(0)) * 16 + az.i32(az.local_id(0))
            y = az.i32(az.group_id(1)) * 16 + az.i32(az.local_id(1))
            total = az.f32(0)
            for k in range(n):
                total += a[y * n + k] * b[k * n + x]
            c[y * n + x] = total
        """)
    )
    program = """
        import sys
        sys.path.insert(0, os.environ["ANYZERO_CACHE_DIR"])
        from blocks import blocks
        kernel = context.module(blocks.spirv)["blocks"]
        first = launch()
        launch_until(lambda: stage() == 2)
        for _ in range(3):
            assert (launch() == first).all()
        with_offset = context.zeros((n, n), "f4")
        commands.launch(kernel, (n, n), (with_offset, a, b, n), group=(16, 16), offset=(5, 3, 0)).wait()
        assert (with_offset.copy_to() == first).all()
    """
    run(cache, program)
