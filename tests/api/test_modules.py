"""Modules: from files and bytes, with options and constants, linked, saved, and what happens when they are wrong."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from tests.api.conftest import RunPython
from tests.api.kernels import EXAMPLES, KERNELS, SAXPY


def works(module: az.Module) -> bool:
    ctx = module.context
    x, y = ctx.full(8, 3, np.float32), ctx.full(8, 1, np.float32)
    module["saxpy"][8](y, x, 2.0)
    return bool((y.copy_to() == 7).all())


@pytest.mark.parametrize("make", [str, Path, Path.read_bytes, lambda path: bytearray(path.read_bytes())])
def test_a_module_comes_from_a_file_or_from_bytes(ctx: az.Context, make: object) -> None:
    assert callable(make)
    assert works(ctx.module(make(SAXPY)))


def test_a_memoryview_will_do(ctx: az.Context) -> None:
    assert works(ctx.module(memoryview(SAXPY.read_bytes())))


def test_a_module_is_a_mapping_of_names_to_kernels(ctx: az.Context) -> None:
    module = ctx.module(KERNELS / "empty.spv")
    assert module.kernels == tuple(module) == ("empty", "empty_one_argument")
    assert len(module) == 2
    assert "empty" in module
    assert "full" not in module
    assert module["empty"] is module["empty"]
    assert module["empty"].name == "empty"
    assert repr(module) == "<Module of empty, empty_one_argument>"


def test_an_unknown_kernel_is_refused_with_those_there_are(ctx: az.Context) -> None:
    with pytest.raises(az.InvalidArgument, match="empty_one_argument"):
        ctx.module(KERNELS / "empty.spv")["full"]


def test_a_kernel_of_its_own_is_another_one(ctx: az.Context) -> None:
    module = ctx.module(SAXPY)
    one, other = module.kernel("saxpy"), module.kernel("saxpy")
    assert one is not other
    one.set_indirect_access("host")
    assert not other.indirect_access


def test_a_closed_kernel_is_made_anew(ctx: az.Context) -> None:
    module = ctx.module(SAXPY)
    first = module["saxpy"]
    first.close()
    assert module["saxpy"] is not first
    assert works(module)


def test_a_kernel_outlives_its_module_and_context() -> None:
    with az.device().context() as ctx:
        x, y = ctx.full(4, 1, np.float32), ctx.zeros(4, np.float32)
        with ctx.module(SAXPY) as module:
            saxpy = module["saxpy"]
    assert module.closed
    assert "closed" in repr(module)
    with pytest.raises(az.ClosedError, match="this Module is closed"):
        module["saxpy"]
    saxpy[4](y, x, 5.0)
    assert (y.copy_to() == 5).all()


def test_modules_and_kernels_go_when_nobody_holds_them(ctx: az.Context) -> None:
    gc.collect()
    gc.disable()
    try:
        module = ctx.module(SAXPY)
        kernel = module["saxpy"]
        launch = kernel[64]
        assert works(module)
        seen = [weakref.ref(module), weakref.ref(kernel)]
        del module, kernel, launch
        assert [each() for each in seen] == [None, None]
    finally:
        gc.enable()


# Errors


def test_what_is_no_module_is_refused_with_a_log(ctx: az.Context) -> None:
    with pytest.raises(az.BuildError, match="INVALID_NATIVE_BINARY") as caught:
        ctx.module(b"\1neither this nor that")
    assert caught.value.log
    assert caught.value.function == "zeModuleCreate"


@pytest.mark.parametrize("size", [0, 3, 4, 19, 100, 401])
def test_a_part_of_a_module_is_refused(ctx: az.Context, size: int) -> None:
    with pytest.raises(az.Error):
        ctx.module(SAXPY.read_bytes()[:size], format="spirv")


def test_an_error_in_a_kernel_shows_when_it_is_made(ctx: az.Context) -> None:
    words = bytearray((EXAMPLES / "module_variables.spv").read_bytes())
    at = words.index((5 << 16 | 133).to_bytes(4, "little"))
    words[at : at + 4] = (5 << 16 | 132).to_bytes(4, "little")
    module = ctx.module(bytes(words))
    with pytest.raises(az.BuildError, match="OpIMul") as caught:
        module["look_up"]
    assert "OpIMul" in caught.value.log


def test_source_code_is_no_module(ctx: az.Context, tmp_path: Path) -> None:
    for source in ("kernel void f() {}", "kernel void f()\n"):
        with pytest.raises(az.InvalidArgument, match="source="):
            ctx.module(source)
    with pytest.raises(FileNotFoundError):
        ctx.module(tmp_path / "absent.spv")
    with pytest.raises(TypeError, match="file name or bytes"):
        ctx.module(12)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="format='elf'"):
        ctx.module(SAXPY, format="elf")  # type: ignore[arg-type]


# Options and constants


def test_unknown_options_are_mentioned_in_the_log(ctx: az.Context, capfd: pytest.CaptureFixture[str]) -> None:
    assert ctx.module(SAXPY).log == ""
    assert "-ze-sing" in ctx.module(SAXPY, options="-ze-opt-disable -ze-sing").log
    assert capfd.readouterr().err == ""
    assert "-ze-sing" in ctx.module(SAXPY, options="-ze-sing", log=True).log
    assert "-ze-sing" in capfd.readouterr().err


@pytest.mark.parametrize("options", ["-ze-opt-disable", "-ze-opt-level=1", "-ze-opt-level=3 -g"])
def test_options_change_nothing_about_the_result(ctx: az.Context, options: str) -> None:
    assert works(ctx.module(SAXPY, options=options))


POLYNOMIAL = EXAMPLES / "specialization_constants.spv"


def polynomial(ctx: az.Context, constants: dict[int, object] | None) -> list[float]:
    x, y = ctx.to_device(np.array([0, 2], np.float32)), ctx.zeros(2, np.float32)
    ctx.module(POLYNOMIAL, constants=constants)["polynomial"][2](y, x)
    values: list[float] = y.copy_to().tolist()
    return values


def test_specialization_constants_are_set(ctx: az.Context) -> None:
    assert polynomial(ctx, None) == [1, 3]
    assert polynomial(ctx, {}) == [1, 3]
    assert polynomial(ctx, {0: 3}) == [1, 7]
    assert polynomial(ctx, {0: np.int32(3), 1: np.float32(0.5)}) == [0.5, 3.5]
    assert polynomial(ctx, {1: np.float32(-2).tobytes()}) == [-2, -6]
    assert polynomial(ctx, {0: True}) == [1, 1]
    assert polynomial(ctx, {0: -5}) == [0, 0]


def test_bad_constants_are_refused(ctx: az.Context) -> None:
    with pytest.raises(az.InvalidArgument, match="plain float") as caught:
        polynomial(ctx, {1: 0.5})
    assert "np.float32" in caught.value.remedy
    for value in ("3", 1 << 64, -(1 << 63) - 1, np.longdouble(1), b"123456789"):
        with pytest.raises(az.InvalidArgument, match="specialization constant 0"):
            polynomial(ctx, {0: value})
    with pytest.raises(az.InvalidArgument, match="not the id of a specialization constant"):
        polynomial(ctx, {-1: 1})


def test_unknown_constants_are_mentioned_in_the_log(ctx: az.Context) -> None:
    assert "17" in ctx.module(POLYNOMIAL, constants={17: 1}).log


# Native binaries


def test_a_native_binary_makes_the_module_again(ctx: az.Context, tmp_path: Path) -> None:
    module = ctx.module(SAXPY)
    module.save(tmp_path / "saxpy.bin")
    assert (tmp_path / "saxpy.bin").read_bytes() == module.native
    assert [path.name for path in tmp_path.iterdir()] == ["saxpy.bin"]
    again = ctx.module(tmp_path / "saxpy.bin")
    assert again.kernels == ("saxpy",)
    assert works(again)
    assert again["saxpy"].types == module["saxpy"].types


def test_a_native_binary_remembers_its_constants(ctx: az.Context) -> None:
    native = ctx.module(POLYNOMIAL, constants={0: 3}).native
    x, y = ctx.full(1, 2, np.float32), ctx.zeros(1, np.float32)
    ctx.module(native)["polynomial"][1](y, x)
    assert y.copy_to()[0] == 7


def test_a_damaged_native_binary_is_refused(ctx: az.Context) -> None:
    native = ctx.module(SAXPY).native
    for damaged in (native[:-1], native + b"x", native[:100] + bytes([native[100] ^ 1]) + native[101:]):
        with pytest.raises(az.BuildError):
            ctx.module(damaged)


def test_saving_where_nothing_can_be_written_leaves_nothing(ctx: az.Context, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        ctx.module(SAXPY).save(tmp_path / "absent" / "saxpy.bin")
    assert list(tmp_path.iterdir()) == []


# Variables


def test_variables_are_buffers(ctx: az.Context) -> None:
    module = ctx.module(EXAMPLES / "module_variables.spv")
    table = module.globals("table", np.float32)
    assert table.shape == (4,)
    assert table.kind == "device"
    assert table.copy_to().tolist() == [1, 10, 100, 1000]
    assert module.globals("table", np.float32, (2, 2)).shape == (2, 2)
    assert module.globals("table").nbytes == 16
    table[1:3].fill(0)
    values = ctx.full(4, 1, np.float32)
    module["look_up"][4](values)
    assert values.copy_to().tolist() == [1, 0, 0, 1000]
    assert module.globals("launches", np.int32).copy_to().tolist() == [1]


def test_a_variable_outlives_its_module(ctx: az.Context) -> None:
    with ctx.module(EXAMPLES / "module_variables.spv") as module:
        table = module.globals("table", np.float32)
    assert table.copy_to().tolist() == [1, 10, 100, 1000]


def test_a_variable_can_be_an_argument(ctx: az.Context) -> None:
    table = ctx.module(EXAMPLES / "module_variables.spv").globals("table", np.float32)
    y = ctx.zeros(4, np.float32)
    ctx.module(SAXPY)["saxpy"][4](y, table, 2.0)
    assert y.copy_to().tolist() == [2, 20, 200, 2000]


def test_what_is_no_variable_is_refused(ctx: az.Context) -> None:
    module = ctx.module(EXAMPLES / "module_variables.spv")
    with pytest.raises(az.InvalidArgument, match="chair"):
        module.globals("chair")
    with pytest.raises(az.InvalidArgument, match="table has 16"):
        module.globals("table", np.float64, 3)


# Linking


def test_linked_modules_use_each_other(ctx: az.Context) -> None:
    user, square = (ctx.module(EXAMPLES / name) for name in ("dynamic_linking.spv", "dynamic_linking_square.spv"))
    assert user.properties == az.ModuleProperties(imports=True)
    assert square.properties == az.ModuleProperties(imports=False)
    with pytest.raises(az.InvalidArgument, match="UNLINKED"):
        user["apply"]
    assert "shape" in user.linkage(square)
    user.link(square)
    values = ctx.full(2, 3, np.float32)
    square.close()
    user["apply"][2](values)
    assert (values.copy_to() == 9).all()


def test_what_cannot_be_linked_says_what_is_missing(ctx: az.Context) -> None:
    with pytest.raises(az.BuildError, match="shape") as caught:
        az.link(ctx.module(EXAMPLES / "dynamic_linking.spv"))
    assert "shape" in caught.value.log
    with pytest.raises(TypeError, match="takes the modules"):
        az.link()


def test_several_sources_make_one_program(ctx: az.Context) -> None:
    sources = [EXAMPLES / "dynamic_linking.spv", (EXAMPLES / "dynamic_linking_half.spv").read_bytes()]
    module = ctx.module(sources, options=["-ze-opt-disable", ""], constants=[{}, {}])
    values = ctx.full(2, 3, np.float32)
    module["apply"][2](values)
    assert (values.copy_to() == 1.5).all()


def test_programs_that_make_no_sense_are_refused(ctx: az.Context) -> None:
    with pytest.raises(az.InvalidArgument, match="no modules"):
        ctx.module([])
    with pytest.raises(az.InvalidArgument, match="2 modules with 1 options"):
        ctx.module([SAXPY, SAXPY], options=[""])
    with pytest.raises(az.InvalidArgument, match="some are native"):
        ctx.module([SAXPY, b"AZMODU01\0native, perhaps"])


def test_functions_have_addresses_or_none(ctx: az.Context) -> None:
    square = ctx.module(EXAMPLES / "dynamic_linking_square.spv")
    with pytest.raises(az.InvalidArgument, match="chair"):
        square.function_pointer("chair")
    try:
        assert square.function_pointer("shape") > 0
    except az.UnsupportedFeature as error:
        assert "not supported" in error.detail  # noqa: PT017 (both are fine)


# Devices and threads


def test_a_module_belongs_to_one_device(run_python: RunPython) -> None:
    printed = run_python(
        f"""
        first, second = az.devices()
        ctx = az.Context(first, second)
        x, y = ctx.full(4, 1, np.float32, kind="shared"), ctx.zeros(4, np.float32, kind="shared")
        for device in (first, second):
            saxpy = ctx.module({str(SAXPY)!r}, device=device)["saxpy"]
            assert saxpy.device == device
            saxpy[4](y, x, np.float32(1))
        print(np.asarray(y)[0])
        try:
            saxpy[4](y, x, np.float32(1), on=ctx.immediate(device=first))
        except az.InvalidArgument as error:
            print(error.detail)
        """,
        ANYZERO_DEVICES="cpu,cpu",
    )
    assert printed.splitlines() == ["2.0", "kernel saxpy belongs to a module of another device"]


def test_several_threads_make_and_use_a_module(ctx: az.Context) -> None:
    module = ctx.module(SAXPY)
    results: list[bool] = []

    def use() -> None:
        results.append(works(module))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
