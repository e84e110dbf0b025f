"""Launches of Python kernels: where they run, what is compiled how often, and what is kept."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import anyzero as az
from tests.language.running import context


@az.kernel
def double(x: az.ptr[az.f32]) -> None:
    x[az.global_id(0)] *= 2


def test_on_a_list_with_a_group_and_events() -> None:
    x = context().to_device(np.arange(8, dtype=np.float32))
    with context().immediate() as lst:
        first = double[8](x, on=lst)
        double[8](x, on=lst, group=4, wait=first).wait()
    assert x.copy_to().tolist() == [4 * each for each in range(8)]
    with pytest.raises(TypeError, match="signal= and wait= are for commands of a list"):
        double[8](x, signal=context().event())


def test_the_context_is_that_of_the_buffers() -> None:
    other = az.device().context()
    for ctx in (context(), other):
        x = ctx.to_device(np.ones(4, np.float32))
        double[4](x)
        double[4](x)
        assert x.copy_to().tolist() == [4] * 4


def test_a_context_is_compiled_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    usual = az.Context.module

    def counted(self: az.Context, *args: Any, **options: Any) -> az.Module:
        made.append(args)
        return usual(self, *args, **options)

    monkeypatch.setattr(az.Context, "module", counted)
    ctx = az.device().context()
    x = ctx.zeros(8, np.float32)
    for _ in range(3):
        double[8](x)
        double[4](x)
    assert len(made) == 1


def test_launches_of_many_sizes_are_forgotten() -> None:
    ctx = az.device().context()
    x = ctx.zeros(2000, np.float32)
    for size in range(1, 1200):
        double[size](x)
    assert len(ctx.launches) < 600
    double[[8]](x)


def test_no_kernel_keeps_a_context() -> None:
    ctx = az.device().context()
    double[4](ctx.zeros(4, np.float32))
    gone = weakref.ref(ctx)
    del ctx
    gc.collect()
    assert gone() is None


def test_the_checks_of_the_api_hold() -> None:
    x = context().zeros(4, np.float32)
    with pytest.raises(az.Error, match="double takes 1 argument"):
        double[4](x, x)
    with pytest.raises(az.Error):
        double[4.5](x)


def test_generic_kernels_are_compiled_for_each_type() -> None:
    @az.kernel
    def fill(x, value):  # type: ignore[no-untyped-def]
        x[az.global_id(0)] = value

    for dtype, value in ((np.float32, 1.5), (np.int64, 7), (np.int64, 1 << 40)):
        x = context().zeros(2, dtype)
        fill[2](x, value)
        assert x.copy_to().tolist() == [value, value]


def test_images() -> None:
    @az.kernel
    def turn(
        to: az.output_image[az.f32, 2], source: az.image[az.f32, 2], smooth: az.sampler, mean: az.ptr[az.f32]
    ) -> None:
        x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
        texel = source.read(source.width - 1 - x, y)
        to.write(x, y, texel * 2 + az.float4(0, 0, 0, to.height))
        if x == 0 and y == 0:
            mean[0] = source.sample(smooth, 1.0, 0.5).x

    ctx = context()
    texels = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    form = az.ImageFormat.of(texels.dtype, 4)
    source, to = ctx.image((2, 3), form, kind="2d"), ctx.image((2, 3), form, kind="2d")
    source.copy_from(texels)
    mean = ctx.zeros(1, np.float32)
    turn[3, 2](to, source, ctx.sampler(address="clamp", filter="linear", normalized=False), mean)
    expected = texels[:, ::-1] * 2 + np.array([0, 0, 0, 2], np.float32)
    np.testing.assert_array_equal(to.copy_to(), expected)
    assert mean.copy_to()[0] == 2

    @az.kernel
    def read(to: az.output_image[az.f32, 2], source: az.image[az.f32, 2]) -> None:
        x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
        to.write(x, y, source.read(source.width - 1 - x, y) * 2)

    read.simulate[3, 2](to, source)
    np.testing.assert_array_equal(to.copy_to(), texels[:, ::-1] * 2)


def test_names_and_texts() -> None:
    assert double.__name__ == "double"
    assert repr(double) == "<kernel double(x: ptr[f32])>"
    assert repr(double[4]) == "<Launch of double, 4>"
    assert double.spirv[:4] == b"\x03\x02\x23\x07"
    assert "OpEntryPoint Kernel %" in double.spvasm
    assert "OpLine" in double.spvasm
    assert "test_launches.py" in double.spvasm


def test_debug_information_names_the_python_file() -> None:
    assert b"test_launches.py" in context().module(double.spirv, options="-g").debug_info


def test_lists_launch_python_kernels() -> None:
    ctx = context()
    x = ctx.full(4, 1, np.float32)
    with ctx.command_list() as commands:
        commands.launch(double, 4, (x,))
        commands.launch(double, 2, (x,), offset=1)
        with pytest.raises(TypeError, match="launch takes a kernel, the number of its work-items and its arguments"):
            commands.launch(double[4], x)  # type: ignore[arg-type]
    with ctx.queue() as queue:
        queue.submit(commands).wait()
    assert x.copy_to().tolist() == [2, 4, 4, 2]


def test_specialized_takes_types_and_the_values_of_constants() -> None:
    @az.kernel
    def repeated(x: Any, times: az.const[az.i32]) -> None:
        for _ in range(times):
            x[az.global_id(0)] += 1

    special = repeated.specialized(az.ptr[az.f32], 3)
    assert special.signature == "repeated(x: ptr[f32], times: const[i32])"
    assert "OpSpecConstant %" in special.spvasm
    with pytest.raises(TypeError, match="times of repeated is a constant; give its value"):
        repeated.specialized(az.ptr[az.f32], az.const[az.i32])
    with pytest.raises(TypeError, match="x of repeated: 3 is not a type"):
        repeated.specialized(3, 3)


@az.kernel
def put(x: az.ptr[az.i64], signed: az.i32, unsigned: az.u8, pair: az.vector[az.i16, 2]):
    x[0] = az.i64(signed)
    x[1] = az.i64(unsigned)
    x[2] = az.i64(pair[0])


FITTING = (-(1 << 31), 255, (-(1 << 15), 5))


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (
            0,
            3_000_000_000,
            r"3000000000 does not fit argument signed.* \(az\.i32\), which holds -2147483648 to 2147483647",
        ),
        (0, -(1 << 31) - 1, "argument signed"),
        (0, np.uint32(3_000_000_000), "argument signed"),
        (1, -1, r"-1 does not fit argument unsigned.* \(az\.u8\), which holds 0 to 255"),
        (1, 256, "argument unsigned"),
        (2, (40_000, 0), "40000 does not fit argument pair"),
    ],
)
def test_integers_out_of_range_are_refused(at: int, value: Any, text: str) -> None:
    x = az.device().context().zeros(3, np.int64)
    given = list(FITTING)
    put[1](x, *given)
    assert x.copy_to().tolist() == [-(1 << 31), 255, -(1 << 15)]
    given[at] = value
    with pytest.raises(az.OutOfRange, match=text) as caught:
        put[1](x, *given)
    assert isinstance(caught.value, OverflowError)
    assert isinstance(caught.value, az.InvalidArgument)


def test_the_simulator_refuses_integers_out_of_range_too() -> None:
    x = np.zeros(3, np.int64)
    with pytest.raises(az.OutOfRange, match=r"3000000000 does not fit argument signed \(az\.i32\)"):
        put.simulate[1](x, 3_000_000_000, 0, (0, 0))


def test_arguments_by_name() -> None:
    x = az.device().context().zeros(3, np.int64)
    put[1](x, pair=(3, 4), unsigned=2, signed=1)
    assert x.copy_to().tolist() == [1, 2, 3]
    put[1](x=x, signed=4, unsigned=5, pair=(6, 0), group=1)
    assert x.copy_to().tolist() == [4, 5, 6]
    simulated = np.zeros(3, np.int64)
    put.simulate[1](simulated, 1, unsigned=2, pair=(3, 4))
    assert simulated.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("named", "text"),
    [
        (
            {"signed": 1, "unsigned": 2, "other": 3},
            "put has no parameter 'other'; it has x, signed, unsigned, pair, and",
        ),
        ({"x": 1}, "put got the argument x twice"),
        ({"unsigned": 2}, "put lacks the arguments signed, pair"),
    ],
)
def test_names_that_do_not_fit(named: dict[str, Any], text: str) -> None:
    x = az.device().context().zeros(3, np.int64)
    with pytest.raises(TypeError, match=text):
        put[1](x, **named)


def test_kernels_from_files_say_that_arguments_have_no_names() -> None:
    from importlib.resources import files

    ctx = az.device().context()
    x, y = ctx.zeros(4, np.float32), ctx.zeros(4, np.float32)
    saxpy = ctx.module(files("anyzero.tools") / "saxpy.spv")["saxpy"]
    with pytest.raises(
        TypeError, match="saxpy takes arguments by position, without a=; the keywords of a launch are group"
    ):
        saxpy[4](y, x, a=2.0)  # type: ignore[call-overload]
