"""How many work-items a vector has."""

from __future__ import annotations

import pytest

import anyzero as az
from anyzero.compiler.compiled import Options
from anyzero.compiler.lanes.choice import choose_lanes
from anyzero.compiler.pipeline import compile_kernel, simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.loop_simplify import loop_simplify
from benchmarks.kernels.case import FOLDER, MEASURED


@pytest.mark.parametrize("form", ["", ".O0"])
@pytest.mark.parametrize("file", ["nbody", "black_scholes"])
def test_doubles_fill_as_many_registers_as_floats_do(file: str, form: str) -> None:
    module = read((FOLDER / f"{file}{form}.spv").read_bytes())
    options = Options(level=0, cpu="x86-64-v4")
    lanes = [compile_kernel(module, f"{file}_{real}", options).lanes for real in ("f32", "f64")]
    assert lanes == [4 * 16, 2 * 16]


@pytest.mark.parametrize(("name", "registers"), [("mandelbrot", 2), ("hash", 8)])
def test_given_sixteen_registers_then_vectors_are_as_long_as_loops_leave_room_for(name: str, registers: int) -> None:
    module = read((FOLDER / f"{name}.spv").read_bytes())
    assert compile_kernel(module, name, Options(level=0, cpu="haswell")).lanes == registers * 8
    assert compile_kernel(module, name, Options(level=0, cpu="x86-64-v4")).lanes == 4 * 16


@pytest.mark.parametrize(
    ("required", "tile", "lanes"),
    [
        *(((8, 8, 1), 17, 8), ((16, 16, 1), 17, 16), ((32, 8, 1), 17, 32), ((4, 4, 1), 17, 4), ((24, 2, 1), 17, 8)),
        *((None, 8, 8), (None, 17, 16), (None, 34, 32), (None, 1, 8), ((64, 1, 1), 17, 32)),
    ],
)
def test_given_rows_of_a_group_then_a_vector_is_as_long(
    required: tuple[int, int, int] | None, tile: int, lanes: int
) -> None:
    made = simplified(read((FOLDER / "transposition.spv").read_bytes()), "transpose")
    made.kernel.required_group_size = required
    for variable in made.body.variables:
        assert variable.extents == (16, 17)
        variable.extents = (16, tile)
    target = cpu.target("haswell", "+avx2")
    found = choose_lanes(made.body, loop_simplify(made.body), Options(), target, made.kernel, made.uses)
    assert found[0] == lanes
    assert ("rows of a group have" in found[1]) == (tile != 1)


def test_given_lanes_that_lie_far_apart_then_no_vector_is_too_long_for_scalar_loads() -> None:
    @az.kernel
    def near(out: az.ptr[az.f32], data: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        out[i] = data[2 * i] + data[2 * i + 1]

    @az.kernel
    def far(out: az.ptr[az.f32], data: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        out[i] = data[5 * i] + data[5 * i + 1]

    def lanes(kernel: az.Kernel, cpu: str) -> int:
        return compile_kernel(read(kernel.spirv), kernel.__name__, Options(level=0, cpu=cpu)).lanes

    assert [lanes(each, "x86-64-v4") for each in (near, far)] == [64, 32]
    assert [lanes(each, "haswell") for each in (near, far)] == [32, 32]


def test_given_no_masked_moves_then_vectors_do_not_pay_for_accesses_under_conditions_on_data() -> None:
    @az.kernel
    def by_data(out: az.ptr[az.f32], data: az.ptr[az.f32], n: az.u32) -> None:
        i = az.global_id(0)
        if data[i] > 0.5:
            out[i] = data[i + 1]

    @az.kernel
    def by_bound(out: az.ptr[az.f32], data: az.ptr[az.f32], n: az.u32) -> None:
        i = az.global_id(0)
        if i < n:
            out[i] = data[i + 1]

    @az.kernel
    def by_exit(out: az.ptr[az.f32], data: az.ptr[az.f32], n: az.u32) -> None:
        i = az.global_id(0)
        k = az.u32(0)
        while k < n and data[i + k] > 0.5:
            k += az.u32(1)
        out[i] = az.f32(k)

    def vectors(kernel: az.Kernel, cpu: str) -> bool:
        return compile_kernel(read(kernel.spirv), kernel.__name__, Options(level=0, cpu=cpu)).lanes > 1

    kernels = (by_data, by_bound, by_exit)
    assert [vectors(each, "x86-64-v2") for each in kernels] == [False, True, True]
    assert [vectors(each, "haswell") for each in kernels] == [True, True, True]


def test_given_rows_whose_first_work_items_are_left_out_then_vectors_are_shorter() -> None:
    module = read((MEASURED / "shapes.spv").read_bytes())
    assert compile_kernel(module, "diffuse", Options(level=0, cpu="haswell")).lanes == 2 * 8
    assert compile_kernel(module, "diffuse", Options(level=0, cpu="x86-64-v4")).lanes == 2 * 16

    @az.kernel
    def inside(out: az.ptr[az.f32], data: az.ptr[az.f32], n: az.i32) -> None:
        x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
        if x < n:
            out[y * n + x] = data[y * n + x] + 1.0

    @az.kernel
    def line(out: az.ptr[az.f32], data: az.ptr[az.f32]) -> None:
        x = az.global_id(0)
        if x > 0:
            out[x] = data[x] + data[x - 1]

    for kernel, name in ((inside, "inside"), (line, "line")):
        assert compile_kernel(read(kernel.spirv), name, Options(level=0, cpu="haswell")).lanes == 4 * 8, name
