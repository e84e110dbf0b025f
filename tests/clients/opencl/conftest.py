"""Fixtures of the checks in this folder. They run in a process with OpenCL, which `test_opencl.py` starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import anyzero as az

SOURCE = """
kernel void where(global ulong *out, global uchar *x) { out[0] = (ulong)x; }
kernel void advance(global uint *x, uint factor, uint term) {
  x[get_global_id(0)] = x[get_global_id(0)] * factor + term;
}
"""


def built(program: Any, options: str = "") -> Any:
    """Without what the compiler has to say besides, of which pyopencl makes warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program.build(options)


@pytest.fixture
def ctx() -> Iterator[az.Context]:
    with az.device().context() as context:
        yield context


@pytest.fixture(scope="session")
def cl_ctx() -> Any:
    import pyopencl as cl

    return cl.create_some_context(interactive=False)


@pytest.fixture
def cl_queue(cl_ctx: Any) -> Any:
    import pyopencl as cl

    return cl.CommandQueue(cl_ctx)


@pytest.fixture(scope="session")
def program(cl_ctx: Any) -> Any:
    import pyopencl as cl

    return built(cl.Program(cl_ctx, SOURCE))


@pytest.fixture
def address_in_opencl(cl_ctx: Any, cl_queue: Any, program: Any) -> Callable[[Any], int]:
    """The address of a buffer in an OpenCL kernel."""
    import pyopencl as cl

    kernel = cl.Kernel(program, "where")

    def ask(mem: Any) -> int:
        out, seen = cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 8), np.zeros(1, np.uint64)
        kernel(cl_queue, (1,), (1,), out, mem)
        cl.enqueue_copy(cl_queue, seen, out)
        return int(seen[0])

    return ask


@pytest.fixture(scope="session")
def spirv() -> bytes:
    from anyzero.interop import opencl

    return opencl.Compiler.find().spirv(SOURCE)


@pytest.fixture
def advance(ctx: az.Context, spirv: bytes) -> az.Kernel:
    """The kernel of that name, for Level Zero."""
    return ctx.module(spirv)["advance"]
