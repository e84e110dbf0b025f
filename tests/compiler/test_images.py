"""Images in compiled code: blocks of them, and levels of detail that derivatives choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import Image, Sampler, run
from anyzero.compiler.spirv import Module
from anyzero.compiler.spirv.tables import ImageChannelDataType as Channel
from anyzero.compiler.spirv.tables import ImageChannelOrder as Order
from anyzero.compiler.spirv.tables import SamplerAddressingMode, SamplerFilterMode
from tests.compiler.image_functions import functions
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

Array = np.ndarray[Any, Any]

ITEMS = 40
WIDTH, HEIGHT = 37, 9
PITCH = 256
ADDRESS = 0x1000

DECLARED = """
    %image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadWrite
    %lane_type = OpTypePointer Input %i32
    %lane_id = OpVariable %lane_type Input
    {vector}
    %to = OpTypePointer CrossWorkgroup %data"""
PROLOGUE = """
    OpCapability SubgroupImageBlockIOINTEL
    OpDecorate %lane_id BuiltIn SubgroupLocalInvocationId"""
MOVE = """
    %found = OpSubgroupImageBlockReadINTEL %data %p1 %p3
    %place = OpInBoundsPtrAccessChain %to %p0 %i
    %given = OpLoad %data %place
    OpStore %place %found
    OpSubgroupImageBlockWriteINTEL %p2 %p3 %given"""
SOME = f"""
    %k = OpUConvert %i32 %i
    %low = OpULessThan %bool %k %c7
    OpSelectionMerge %join None
    OpBranchConditional %low %then %join
    %then = OpLabel
    {MOVE}
    OpBranch %join
    %join = OpLabel"""
WIDTHS = [(8, 1), (16, 2), (32, 1), (32, 8), (64, 4)]
"""Of an element, and how many rows there are."""


def _module(body: str, width: int, count: int) -> Module:
    vector = f"%data = OpTypeVector %i{width} {count}" if count > 1 else f"%data = OpTypeInt {width} 0"
    return kernel(body, "%to %image %image %v2i32", DECLARED.format(vector=vector), PROLOGUE)


def _image(seed: int) -> Image:
    pixels = np.random.default_rng(seed).integers(0, 256, HEIGHT * PITCH, np.uint8)
    return Image(pixels, (WIDTH, HEIGHT), Order.RGBA, Channel.UnormInt8, row_pitch=PITCH)


def _agree(module: Module, data: Array, at: list[tuple[int, int]], lanes: int) -> list[tuple[Array, bytes]]:
    """The buffer and the image that is written to afterwards, for each place: interpreted and compiled the same."""
    made = pipeline.compile_kernel(module, "main", Options(lanes=lanes))
    results = []
    for place in (np.array(each, np.int32).tobytes() for each in at):
        wanted, source, target = data.copy(), _image(1), _image(2)
        run(module, "main", [wanted, source, target, place], ITEMS, ITEMS, sub_group_size=lanes)
        found, other_source, other = data.copy(), _image(1), _image(2)
        engine = functions({ADDRESS: other_source, 2 * ADDRESS: other})
        Loaded(made, engine=engine)([found, ADDRESS, 2 * ADDRESS, place], (ITEMS,), (ITEMS,))
        assert found.tobytes() == wanted.tobytes()
        assert bytes(other.view) == bytes(target.view) != bytes(_image(2).view)
        results.append((found, bytes(other.view)))
    return results


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize(("width", "count"), WIDTHS)
def test_blocks_are_moved_as_they_lie(width: int, count: int, lanes: int) -> None:
    size = width // 8
    values = np.random.default_rng(2).integers(0, 256, ITEMS * size * count, np.uint8)
    values = values.view(f"u{size}").reshape(ITEMS, count)
    places = [(size * 3, 1), (WIDTH * 4 - 2 * size, HEIGHT - 1), (-size, -1 if count > 1 else 0)]
    inside, *_ = _agree(_module(MOVE, width, count), values, places[: 2 if lanes == 1 else 3], lanes)
    row = np.frombuffer(_image(1).view, np.uint8).reshape(HEIGHT, PITCH)[1]
    first = row[3 * size : 4 * size].copy().view(f"u{size}")[0]
    # Every sub-group reads the same block.
    assert (inside[0][::lanes, 0] == first).all()


@pytest.mark.parametrize("lanes", [8, 16])
def test_work_items_that_are_elsewhere_take_no_part(lanes: int) -> None:
    values = np.arange(ITEMS * 2, dtype=np.uint32).reshape(ITEMS, 2)
    ((found, _),) = _agree(_module(SOME, 32, 2), values, [(8, 2)], lanes)
    assert found[7:].tobytes() == values[7:].tobytes()


GRADIENTS = """
    %n = OpConvertUToF %f32 %i
    %x = OpFMul %f32 %n %half
    %at = OpCompositeConstruct %v2f32 %x %n
    %both = OpSampledImage %sampled %p1 %p2
    %texel = OpImageSampleExplicitLod %v4f32 %both %at Grad %at %{second}
    %place = OpInBoundsPtrAccessChain %to %p0 %i
    OpStore %place %texel"""


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("second", ["at", "given"])
def test_derivatives_choose_the_only_level(second: str, lanes: int) -> None:
    module = kernel(
        GRADIENTS.format(second=second),
        "%to %image %sampler",
        """
        %v2f32 = OpTypeVector %f32 2
        %given = OpConstantComposite %v2f32 %half %half
        %image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
        %sampler = OpTypeSampler
        %sampled = OpTypeSampledImage %image
        %to = OpTypePointer CrossWorkgroup %v4f32""",
    )
    texels = np.random.default_rng(4).uniform(-1, 1, (HEIGHT, WIDTH, 4)).astype(np.float32)
    image = Image(texels, (WIDTH, HEIGHT))
    sampler = Sampler(SamplerAddressingMode.ClampToEdge, SamplerFilterMode.Linear)
    wanted, found = (np.zeros((ITEMS, 4), np.float32) for _ in range(2))
    run(module, "main", [wanted, image, sampler], ITEMS)
    made = pipeline.compile_kernel(module, "main", Options(lanes=lanes))
    engine = functions({ADDRESS: image, 2 * ADDRESS: sampler})
    Loaded(made, engine=engine)([found, ADDRESS, 2 * ADDRESS], (ITEMS,), (ITEMS,))
    assert found.tobytes() == wanted.tobytes()
    assert len(np.unique(found)) > ITEMS


HANDLES = """
    %n = OpConvertUToF %f32 %i
    %x = OpFMul %f32 %n %half
    %at = OpCompositeConstruct %v2f32 %x %n
    %k = OpBitwiseAnd %i64 %i %l1
    %odd = OpINotEqual %bool %k %l0
    %handle = OpSelect %i64 %odd %p1 %p2
    OpSelectionMerge %join None
    OpBranchConditional %{condition} %then %join
    %then = OpLabel
    %both = OpConvertHandleToSampledImageINTEL %sampled %{handle}
    %texel = OpImageSampleExplicitLod %v4f32 %both %at Lod %zero
    %place = OpInBoundsPtrAccessChain %to %p0 %i
    OpStore %place %texel
    %image_of = OpConvertHandleToImageINTEL %image %{plain}
    %size = OpImageQuerySize %v2i32 %image_of
    %width = OpCompositeExtract %i32 %size 0
    %there = OpInBoundsPtrAccessChain %global_i32 %p5 %i
    OpStore %there %width
    OpBranch %join
    %join = OpLabel"""


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("handle", ["p1", "handle"], ids=["same", "differing"])
@pytest.mark.parametrize("condition", ["true", "odd"])
def test_images_are_found_by_handles(condition: str, handle: str, lanes: int) -> None:
    """Where a work-item does not look, its handle may be anything."""
    plain = {"p1": "p3", "handle": "other_handle"}[handle]
    module = kernel(
        HANDLES.format(handle=handle, plain=plain, condition=condition).replace(
            "OpSelectionMerge", "%other_handle = OpSelect %i64 %odd %p3 %p4\nOpSelectionMerge"
        ),
        "%to %i64 %i64 %i64 %i64 %global_i32",
        """
        %v2f32 = OpTypeVector %f32 2
        %zero = OpConstant %f32 0
        %image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
        %sampled = OpTypeSampledImage %image
        %to = OpTypePointer CrossWorkgroup %v4f32""",
        "OpCapability BindlessImagesINTEL",
    )
    random = np.random.default_rng(4)
    images = [Image(random.uniform(-1, 1, (HEIGHT, width, 4)).astype(np.float32), (width, HEIGHT)) for width in (7, 5)]
    sampler = Sampler(SamplerAddressingMode.ClampToEdge, SamplerFilterMode.Linear)
    nobody: Any = 0xBAD if condition == "odd" else None
    wanted, found = ((np.zeros((ITEMS, 4), np.float32), np.zeros(ITEMS, np.uint32)) for _ in range(2))
    pairs = [(images[0], sampler), nobody or (images[1], sampler), images[0], nobody or images[1]]
    run(module, "main", [wanted[0], *pairs, wanted[1]], ITEMS)
    made = pipeline.compile_kernel(module, "main", Options(lanes=lanes))
    engine = functions({ADDRESS: (images[0], sampler), 2 * ADDRESS: (images[1], sampler)})
    handles = [ADDRESS, nobody or 2 * ADDRESS] * 2
    Loaded(made, engine=engine)([found[0], *handles, found[1]], (ITEMS,), (ITEMS,))
    assert found[0].tobytes() == wanted[0].tobytes()
    assert found[1].tolist() == wanted[1].tolist()
    assert set(found[1][1::2]) == {7}
