"""The sizes of launches: one way to write them, and what the other ways are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.api.launches.dimensions import ALL, Dimensions
from tests.api.kernels import EXAMPLES, KERNELS, SAXPY
from tests.compiler.assembler import assemble


@pytest.fixture
def saxpy(ctx: az.Context) -> az.Kernel:
    return ctx.module(SAXPY)["saxpy"]


@pytest.fixture
def places(ctx: az.Context) -> az.Kernel:
    return ctx.module(EXAMPLES / "kernel_launch.spv")["places"]


def told(caught: pytest.ExceptionInfo[az.Error]) -> str:
    assert caught.value.remedy
    return caught.value.remedy


# The one way


@pytest.mark.parametrize("sizes", [64, (64,), [64], np.int64(64), np.array([64]), (64, 1), (64, 1, 1)])
@pytest.mark.parametrize("group", [None, 8, (8,), [8], np.uint8(8), (8, 1)])
def test_forms_of_sizes(ctx: az.Context, saxpy: az.Kernel, sizes: Any, group: Any) -> None:
    x, y = ctx.full(64, 1, np.float32), ctx.zeros(64, np.float32)
    launch = saxpy[sizes]
    assert launch.global_size == (64, 1, 1)
    assert launch.group_size[0] * launch.group_count[0] == 64
    for _ in range(2):
        launch(y, x, 2.0, group=group)
    assert (y.copy_to() == 4).all()


def test_parentheses_make_no_difference(ctx: az.Context, places: az.Kernel) -> None:
    assert places[(16, 8)].global_size == places[16, 8].global_size == (16, 8, 1)
    out = ctx.zeros((8, 16, 4), np.int32)
    places[(16, 8)](out)
    assert (out.copy_to()[..., 1] == np.arange(8)[:, None]).all()


def test_lists_take_the_same_sizes(ctx: az.Context, places: az.Kernel) -> None:
    called, launched = ctx.zeros((6, 8, 4), np.int32), ctx.zeros((6, 8, 4), np.int32)
    places[8, 6](called, group=(4, 2))
    with ctx.immediate() as lst:
        lst.launch(places, (8, 6), (launched,), group=(4, 2))
    assert (called.copy_to() == launched.copy_to()).all()
    with ctx.command_list() as cl, pytest.raises(az.InvalidArgument, match="not a multiple of the group size 4"):
        cl.launch(places, (8, 6), (launched,), group=(4, 4))


def test_the_suggested_group_divides(saxpy: az.Kernel) -> None:
    for size in (1, 7, 64, 1000, 1021, 1 << 20):
        (group,) = saxpy.suggest_group_size(size)
        assert size % group == 0
        assert saxpy[size].group_size == (group, 1, 1)
    assert len(saxpy.suggest_group_size((64, 64, 2))) == 3
    assert repr(saxpy[64]) == "<Launch of saxpy, 64 × 1 × 1 work-items>"


# Other ways


@pytest.mark.parametrize(
    ("sizes", "said", "line"),
    [
        (16.0, r"saxpy\[16.0\]: .* integers", "saxpy[16](…)"),
        (15.625, "integers", "saxpy[16](…)"),
        ((8, 4.5), r"saxpy\[8, 4.5\]", "saxpy[8, 5](…)"),
        (np.float32(16), "integers", "saxpy[16](…)"),
        (((8, 8), (16, 16)), r"saxpy\[\(8, 8\), \(16, 16\)\]", "saxpy[128, 128](…, group=(16, 16)) for 8 × 8 groups"),
        (((64, 64), (16, 16)), "integers", "saxpy[64, 64](…, group=(16, 16)) for 64 × 64 work-items"),
        (((8,), 16), "integers", "saxpy[128](…, group=16)"),
        (((64, 64), None), "integers", "saxpy[64, 64](…)"),
        ((64, None), "integers", "saxpy[64](…)"),
        (None, "integers", "saxpy[n](…), saxpy[n, m](…)"),
        ("64", "integers", "saxpy[n](…)"),
        (float("inf"), "integers", "saxpy[n](…)"),
        (slice(64), "integers", "saxpy[n](…)"),
        ((1, 2, 3, 4), "has 4 dimensions", "group="),
        ((), "has 0 dimensions", "saxpy[n](…)"),
        (0, "no work-items", "if n > 0: saxpy[n](…)"),
        ((8, 0), "no work-items", "skip the launch"),
        ((8, -1), "no work-items", "skip the launch"),
    ],
)
def test_other_ways_are_told_the_right_line(saxpy: az.Kernel, sizes: Any, said: str, line: str) -> None:
    # Earlier sizes are cached, and 16.0 == 16.
    saxpy[16], saxpy[8, 4]
    with pytest.raises(az.InvalidArgument, match=said) as caught:
        saxpy[sizes]
    assert line in told(caught)


def test_floats_are_refused_whatever_was_launched_before(saxpy: az.Kernel) -> None:
    for size, float_size in ((16, 16.0), ((16, 1), (16.0, 1))):
        for _ in range(2):
            assert saxpy[size].global_size == (16, 1, 1)
            with pytest.raises(az.InvalidArgument, match="integers"):
                saxpy[float_size]  # type: ignore[index]


@pytest.mark.parametrize(
    ("sizes", "group", "said"),
    [
        (1000, 64, "1000 along x is not a multiple of the group size 64"),
        ((8, 9), (2, 2), "9 along y is not a multiple of the group size 2"),
        ((8, 8, 9), (2, 2, 2), "9 along z"),
        (8, (8, 2), "1 along y is not a multiple of the group size 2"),
        (8, 1 << 20, "not a multiple"),
        (8, 0, "no work-items"),
        (8, 2.0, "the group size is 2.0"),
        (8, "2", "the group size is '2'"),
        (8, (1, 1, 1, 1), "4 dimensions"),
        (1 << 40, 1, "at most 4294967295"),
        (1 << 40, None, "a global size without a group size"),
    ],
)
def test_sizes_that_cannot_be_are_told(saxpy: az.Kernel, sizes: Any, group: Any, said: str) -> None:
    with pytest.raises(az.Error, match=said):
        saxpy[sizes](None, None, 1.0, group=group)


def test_a_kernel_without_a_size_is_told(saxpy: az.Kernel) -> None:
    with pytest.raises(az.InvalidArgument, match="is a launch without a number of work-items") as caught:
        saxpy(None, None, 1.0)
    assert "saxpy[n](…)" in told(caught)


# Numbers of groups and of threads, as other APIs write them


def test_groups_and_threads_are_told_the_right_lines(ctx: az.Context, saxpy: az.Kernel) -> None:
    x, y = ctx.full(64, 1, np.float32), ctx.zeros(64, np.float32)
    for sizes in ((4, 16), (1, 16)):
        for _ in range(2):
            with pytest.raises(
                az.InvalidArgument, match=r"reads its ids along x only, .* along y would do the same"
            ) as caught:
                saxpy[sizes](y, x, 2.0)
            assert f"saxpy[{sizes[0]} * 16](…, group=16)" in told(caught)
            assert f"saxpy[{sizes[0]}](…)" in told(caught)
    with ctx.immediate() as lst, pytest.raises(az.InvalidArgument, match="along y would do the same"):
        lst.launch(saxpy, (4, 16), (y, x, 2.0))
    with pytest.raises(az.InvalidArgument, match="along z would do the same"):
        saxpy[4, 1, 16](y, x, 2.0, group=4)
    assert (y.copy_to() == 0).all()
    saxpy[4 * 16](y, x, 2.0, group=16)
    assert (y.copy_to() == 2).all()


def test_a_group_size_of_as_many_numbers_is_meant(ctx: az.Context, saxpy: az.Kernel) -> None:
    x, y = ctx.full(4, 1, np.float32), ctx.zeros(4, np.float32)
    saxpy[4, 2](y, x, 0.0, group=(4, 2))
    with pytest.raises(az.InvalidArgument):
        saxpy[4, 2](y, x, 0.0, group=4)


def test_kernels_without_ids_and_native_ones_run_as_asked(ctx: az.Context) -> None:
    empty = ctx.module(KERNELS / "empty.spv")["empty"]
    empty[2, 3, 4]()
    native = ctx.module(ctx.module(SAXPY).native)["saxpy"]
    x, y = ctx.full(4, 1, np.float32), ctx.zeros(4, np.float32)
    native[4, 2](y, x, 0.0)


# The dimensions that kernels read


def dimensions(path: Path, kernel: str) -> int:
    return Dimensions([path.read_bytes()]).read_by(kernel)


@pytest.mark.parametrize(
    ("file", "kernel", "mask"),
    [
        ("saxpy", "saxpy", 0b001),
        ("atomics", "tickets", 0b001),
        ("empty", "empty", 0),
        ("matmul", "matmul_tiled", 0b011),
        ("matmul.O0", "matmul_tiled", 0b011),
        ("matmul.v12", "matmul_int", 0b011),
        ("barriers", "three_dimensions", ALL),
        ("sub_groups", "shuffles", ALL),  # ids within a sub-group are made of all three
        ("work_items", "places", ALL),  # global_linear_id
    ],
)
def test_dimensions_of_compiled_kernels(file: str, kernel: str, mask: int) -> None:
    assert dimensions(KERNELS / f"{file}.spv", kernel) == mask


FRAME = """
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %kernel "k" %id
OpDecorate %id BuiltIn GlobalInvocationId
OpDecorate %id Constant
%void = OpTypeVoid
%long = OpTypeInt 64 0
%vec = OpTypeVector %long 3
%ptr = OpTypePointer Input %vec
%one = OpTypePointer Input %long
%plain = OpTypeFunction %void
%taking = OpTypeFunction %void %vec
%indexed = OpTypeFunction %void %long
%c1 = OpConstant %long 1
%c2 = OpConstant %long 2
%id = OpVariable %ptr Input
%other = OpFunction %void None %taking
%given = OpFunctionParameter %vec
%l1 = OpLabel
OpReturn
OpFunctionEnd
%deep = OpFunction %void None %plain
%l2 = OpLabel
%p2 = OpInBoundsPtrAccessChain %one %id %c1 %c2
%v2 = OpLoad %long %p2
OpReturn
OpFunctionEnd
%imported = OpFunction %void None %plain
OpFunctionEnd
%kernel = OpFunction %void None %indexed
%which = OpFunctionParameter %long
%l3 = OpLabel
BODY
OpReturn
OpFunctionEnd
"""


@pytest.mark.parametrize(
    ("body", "mask"),
    [
        ("", 0),
        ("%v = OpLoad %vec %id Aligned 32", 0),
        ("%v = OpLoad %vec %id\n%x = OpCompositeExtract %long %v 1", 0b010),
        ("%v = OpLoad %vec %id\n%w = OpCopyObject %vec %v\n%x = OpCompositeExtract %long %w 2", 0b100),
        ("%v = OpLoad %vec %id\n%x = OpVectorExtractDynamic %long %v %c1", 0b010),
        ("%v = OpLoad %vec %id\n%x = OpVectorExtractDynamic %long %v %which", ALL),
        ("%p = OpAccessChain %one %id %c1\n%x = OpLoad %long %p", 0b010),
        ("%p = OpAccessChain %one %id %which\n%x = OpLoad %long %p", ALL),
        ("%v = OpLoad %vec %id\n%x = OpFunctionCall %void %other %v", ALL),
        ("%x = OpFunctionCall %void %deep", 0b100),
        ("%x = OpFunctionCall %void %imported", ALL),
    ],
)
def test_dimensions_of_uses(body: str, mask: int) -> None:
    module = assemble(FRAME.replace("BODY", body))
    assert Dimensions([module]).read_by("k") == mask
    swapped = np.frombuffer(module, np.uint32).byteswap().tobytes()
    assert Dimensions([swapped]).read_by("k") == mask


def test_nothing_is_known_of_what_cannot_be_read() -> None:
    module = (KERNELS / "saxpy.spv").read_bytes()
    assert Dimensions([module]).read_by("missing") == ALL
    assert Dimensions([]).read_by("saxpy") == ALL
    for size in range(0, len(module), 52):
        assert Dimensions([module[:size]]).read_by("saxpy") in (1, ALL, 0)
