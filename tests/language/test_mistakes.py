"""What people who come from numba, CUDA, OpenCL or numpy write, and the hints that they get."""

# ruff: noqa: E701, F821, F841, SIM105, UP031 (kernels with mistakes, one to a line)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import anyzero as az
from tests.language.running import context

TABLE = np.arange(4)
CASES: list[tuple[str, Callable[..., None]]] = []


def case(words: str) -> Callable[[Callable[..., None]], None]:
    def add(function: Callable[..., None]) -> None:
        CASES.append((words, function))

    return add


# fmt: off
@case("an index below 0 is out of bounds; it does not count from the end")
def _(x: az.ptr[az.f32]): x[-1] = 1
@case("an index below 0 is out of bounds")
def _(x: az.array[az.f32, 2]): x[0, -1] = 1
@case("threadIdx is not defined here; write az.local_id")
def _(x: az.ptr[az.f32]): x[threadIdx.x] = 1
@case("cuda.grid is not defined here; write az.global_id")
def _(x: az.ptr[az.f32]): x[cuda.grid(1)] = 1
@case("get_global_id is not defined here; write az.global_id")
def _(x: az.ptr[az.f32]): x[get_global_id(0)] = 1
@case("np.sqrt cannot be called in a kernel; az.math.sqrt can")
def _(x: az.ptr[az.f32]): x[0] = np.sqrt(x[0])
@case("np.float32 cannot be called in a kernel; az.f32.* converts")
def _(x: az.ptr[az.f32]): x[0] = np.float32(x[0])
@case("np.complex64 cannot be called in a kernel")
def _(x: az.ptr[az.f32]): x[0] = np.complex64(x[0])
@case("np.zeros cannot be called in a kernel; write az.private")
def _(x: az.ptr[az.f32]): y = np.zeros(4)
@case("TABLE is a ndarray; .* pass TABLE as an argument")
def _(x: az.ptr[az.f32]): x[0] = TABLE[0]
@case("a list is not part of the language; a tuple holds several values, and az.private")
def _(x: az.ptr[az.f32]): y = [1, 2]
@case("try is not part of the language; there are no exceptions")
def _(x: az.ptr[az.f32]):
    try: x[0] = 1
    except ValueError: pass
@case(r"ptr\[f32\] has no shape; az.array\[az.f32, 1\] has one")
def _(x: az.ptr[az.f32]): x[0] = x.shape[0]
@case(r"array\[f32, 2\] \+ array\[f32, 2\]: arrays are computed element by element, as in a\[i\] \+ b\[i\]")
def _(a: az.array[az.f32, 2], b: az.array[az.f32, 2]): a += b
@case("300 does not fit u8, which holds 0 to 255; az.i64.300. does")
def _(x: az.ptr[az.u8]): x[0] = 300
@case("'%f' is not a number; .* print and assert take texts")
def _(x: az.ptr[az.f32]): print("%f" % x[0])
# fmt: on


@pytest.mark.parametrize(("words", "function"), CASES, ids=[words for words, _ in CASES])
def test_hints(words: str, function: Callable[..., None]) -> None:
    with pytest.raises(az.KernelError, match=words):
        az.kernel(function).spirv  # noqa: B018


def test_sizes_that_are_equal_to_others() -> None:
    """64.0 is 64 as the key of a dict, in either order."""

    @az.kernel
    def k(x: az.ptr[az.f32]) -> None:
        x[az.global_id(0)] = 1

    x = context().zeros(4, np.float32)
    for sizes in (4, 4.0, 4, (2.0, 2), np.int64(4)):
        if isinstance(sizes, int | np.integer):
            k[sizes](x)
            continue
        with pytest.raises(az.InvalidArgument, match="the number of work-items along x, y and z, as integers"):
            k[sizes](x)


def test_buffers_for_constants_and_bools_for_floats() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32], n: az.const[az.i32]) -> None:
        x[az.global_id(0)] = n

    x = context().zeros(4, np.float32)
    with pytest.raises(az.InvalidArgument, match=r"n of k is const\[i32\]; <Buffer"):
        k[1](x, x)
    with pytest.raises(az.InvalidArgument, match="elements of 4 bytes and cannot be a buffer of bool"):
        k[1](context().zeros(4, np.bool_), 1)
