"""Images: formats, samplers, coordinates beyond the edge, queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import BadArgument, Fault, Image, OutOfBounds, ReadOnly, Sampler, run
from anyzero.compiler.reference.formats import CHANNELS, Format
from anyzero.compiler.spirv import Module
from anyzero.compiler.spirv.tables import ImageChannelDataType as Data
from anyzero.compiler.spirv.tables import ImageChannelOrder as Order
from anyzero.compiler.spirv.tables import SamplerAddressingMode as Mode
from anyzero.compiler.spirv.tables import SamplerFilterMode as Filter
from tests.compiler.reference.kernels import kernel

SHAPES = {
    "1d": "1D 0 0",
    "2d": "2D 0 0",
    "3d": "3D 0 0",
    "1d_array": "1D 0 1",
    "2d_array": "2D 0 1",
    "buffer": "Buffer 0 0",
}


def images(body: str, parameters: str, shape: str = "2d", extra: str = "") -> Module:
    declarations = f"""
        %image = OpTypeImage %void {SHAPES[shape]} 0 0 Unknown ReadWrite
        %sampler = OpTypeSampler
        %sampled = OpTypeSampledImage %image
        %v2f32 = OpTypeVector %f32 2
        %to_v2f32 = OpTypePointer CrossWorkgroup %v2f32
        %to_v4f32 = OpTypePointer CrossWorkgroup %v4f32
        %to_v4i32 = OpTypePointer CrossWorkgroup %v4i32
        %to_v2i32 = OpTypePointer CrossWorkgroup %v2i32
        %zero = OpConstant %f32 0
        {extra}"""
    return kernel(body, parameters, declarations, "OpCapability ImageBasic\nOpCapability LiteralSampler")


SAMPLE = """
    %from = OpInBoundsPtrAccessChain %to_v{n}{kind} %p2 %i
    %at = OpLoad %v{n}{kind} %from
    %both = OpSampledImage %sampled %p0 %p1
    %texel = OpImageSampleExplicitLod %v4f32 %both %at Lod %zero
    %to = OpInBoundsPtrAccessChain %to_v4f32 %p3 %i
    OpStore %to %texel"""


def sampled(image: Image, sampler: Sampler, at: list[Any], shape: str = "2d", kind: str = "f32") -> list[list[float]]:
    count = 2 if shape in ("2d", "1d_array", "1d") else 4
    made = images(SAMPLE.format(n=count, kind=kind), f"%image %sampler %to_v{count}{kind} %to_v4f32", shape)
    rows = np.zeros((len(at), count), np.float32 if kind == "f32" else np.int32)
    for row, each in zip(rows, at, strict=True):
        row[: np.size(each)] = each
    out = np.zeros((len(at), 4), np.float32)
    run(made, "main", [image, sampler, rows, out], len(at))
    found: list[list[float]] = out.tolist()
    return found


def gray(width: int, height: int) -> Image:
    return Image(np.arange(width * height, dtype=np.float32), (width, height), Order.R, Data.Float)


def reds(texels: list[list[float]]) -> list[float]:
    return [texel[0] for texel in texels]


def test_nearest() -> None:
    image = gray(4, 2)
    at = [(0.0, 0.0), (0.99, 0.99), (1.0, 1.0), (3.9, 1.5), (-5, 0), (100, 100)]
    assert reds(sampled(image, Sampler(), at)) == [0, 0, 5, 7, 0, 7]
    normalized = Sampler(normalized=True)
    assert reds(sampled(image, normalized, [(0.3, 0.6), (0.9999, 0.0), (2.0, 2.0)])) == [5, 3, 7]
    assert reds(sampled(image, Sampler(Mode.None_), [(2, 1), (-1, 0)], kind="i32"))[0] == 6


def test_beyond_the_edge_is_the_border() -> None:
    sampler = Sampler(Mode.Clamp)
    at = [(-0.1, 0), (4.0, 0), (3.5, 0), (0, 2)]
    assert sampled(gray(4, 2), sampler, at) == [[0, 0, 0, 1], [0, 0, 0, 1], [3, 0, 0, 1], [0, 0, 0, 1]]
    clear = Image(np.ones(4, np.float32), (1, 1))
    assert sampled(clear, sampler, [(5, 5), (0, 0)]) == [[0, 0, 0, 0], [1, 1, 1, 1]]


def test_repeated() -> None:
    sampler = Sampler(Mode.Repeat, Filter.Nearest, True)
    at = [(x, 0.0) for x in (0.1, 1.1, -0.1, 2.9, -1.0)]
    assert reds(sampled(gray(4, 1), sampler, at)) == [0, 0, 3, 3, 0]


def test_mirrored() -> None:
    sampler = Sampler(Mode.RepeatMirrored, Filter.Nearest, True)
    at = [(x, 0.0) for x in (0.1, 0.9, 1.1, 1.9, -0.1, 2.1)]
    assert reds(sampled(gray(4, 1), sampler, at)) == [0, 3, 3, 0, 0, 0]


def test_between_texels() -> None:
    linear = Sampler(Mode.ClampToEdge, Filter.Linear)
    at = [(0.5, 0.5), (1.0, 0.5), (1.0, 1.0), (0.0, 0.0), (1.75, 0.5)]
    assert reds(sampled(gray(4, 2), linear, at)) == [0, 0.5, 2.5, 0, 1.25]
    border = Sampler(Mode.Clamp, Filter.Linear)
    assert reds(sampled(gray(4, 2), border, [(4.0, 0.5), (4.5, 0.5)])) == [1.5, 0]
    around = Sampler(Mode.Repeat, Filter.Linear, True)
    assert reds(sampled(gray(4, 1), around, [(0.0, 0.5), (1.0, 0.5), (0.25, 0.5)])) == [1.5, 1.5, 0.5]
    mirror = Sampler(Mode.RepeatMirrored, Filter.Linear, True)
    assert reds(sampled(gray(4, 1), mirror, [(0.0, 0.5), (1.0, 0.5), (1.25, 0.5)])) == [0, 3, 2.5]


def test_in_space() -> None:
    image = Image(np.arange(8, dtype=np.float32), (2, 2, 2), Order.R)
    linear = Sampler(Mode.ClampToEdge, Filter.Linear)
    assert reds(sampled(image, linear, [(1, 1, 1), (0.5, 0.5, 1)], "3d")) == [3.5, 2]
    assert reds(sampled(image, Sampler(), [(1.5, 0.5, 1.5)], "3d")) == [5]


def test_layers() -> None:
    image = Image(np.arange(8, dtype=np.float32), (2, 2), Order.R, layers=2)
    at = [(0, 0, 0.4), (0, 0, 0.6), (1, 1, 5), (0, 0, -3)]
    assert reds(sampled(image, Sampler(), at, "2d_array")) == [0, 4, 7, 0]
    rows = Image(np.arange(6, dtype=np.float32), (3,), Order.R, layers=2)
    assert reds(sampled(rows, Sampler(), [(2, 1), (0, 0.5), (0, 1.5)], "1d_array")) == [5, 0, 3]


READ = """
    %from = OpInBoundsPtrAccessChain %to_v2i32 %p1 %i
    %at = OpLoad %v2i32 %from
    %texel = Op{how} %{type} %p0 %at
    %to = OpInBoundsPtrAccessChain %to_{type} %p2 %i
    OpStore %to %texel"""


@pytest.mark.parametrize("how", ["ImageRead", "ImageFetch"])
def test_without_a_sampler(how: str) -> None:
    made = images(READ.format(how=how, type="v4i32"), "%image %to_v2i32 %to_v4i32")
    image = Image(np.arange(-8, 8, dtype=np.int8), (2, 2), Order.RGBA, Data.SignedInt8)
    out = np.zeros((2, 4), np.int32)
    run(made, "main", [image, np.array([[1, 0], [0, 1]], np.int32), out], 2)
    assert out.tolist() == [[-4, -3, -2, -1], [0, 1, 2, 3]]
    with pytest.raises(OutOfBounds, match=r"\(2, 0\)"):
        run(made, "main", [image, np.array([[2, 0]], np.int32), out], 1)


WRITE = """
    %x = OpUConvert %i32 %i
    %at = OpCompositeConstruct %v2i32 %x %c0
    %from = OpInBoundsPtrAccessChain %to_{type} %p1 %i
    %texel = OpLoad %{type} %from
    OpImageWrite %p0 %at %texel"""


def test_writing() -> None:
    data = np.zeros((1, 3, 4), np.uint8)
    texels = np.array([[0, 0.5, 1, 2], [-1, 1 / 3, np.nan, np.inf], [0.00196, 0.00197, 0.25, 0.75]], np.float32)
    image = Image(data, (3, 1), Order.RGBA, Data.UnormInt8)
    run(images(WRITE.format(type="v4f32"), "%image %to_v4f32"), "main", [image, texels], 3)
    assert data[0].tolist() == [[0, 128, 255, 255], [0, 85, 0, 255], [0, 1, 64, 191]]


def test_integers_are_written_saturated() -> None:
    texels = np.array([[0, 127, 128, -200], [1, 2, 3, 70000]], np.int32)
    data = np.zeros((2, 4), np.int8)
    write = images(WRITE.format(type="v4i32"), "%image %to_v4i32")
    run(write, "main", [Image(data, (2, 1), Order.RGBA, Data.SignedInt8), texels], 2)
    assert data.tolist() == [[0, 127, 127, -128], [1, 2, 3, 127]]
    unsigned = np.zeros((2, 4), np.uint16)
    run(write, "main", [Image(unsigned, (2, 1), Order.RGBA, Data.UnsignedInt16), texels], 2)
    assert unsigned.tolist() == [[0, 127, 128, 65535], [1, 2, 3, 65535]]


def test_images_that_cannot_be_used_so() -> None:
    write = images(WRITE.format(type="v4f32"), "%image %to_v4f32")
    texels = np.zeros((1, 4), np.float32)
    with pytest.raises(ReadOnly):
        run(write, "main", [Image(bytes(16), (1, 1)), texels], 1)
    with pytest.raises(Fault, match="another kind of numbers"):
        run(write, "main", [Image(bytearray(4), (1, 1), Order.RGBA, Data.UnsignedInt8), texels], 1)
    with pytest.raises(Fault, match="was given for image 2d"):
        run(write, "main", [Image(bytearray(16), (1,)), texels], 1)
    with pytest.raises(BadArgument, match="needs 64 bytes"):
        Image(bytes(16), (2, 2))
    with pytest.raises(BadArgument, match="no size of an image"):
        Image(bytes(16), (2, 0))
    with pytest.raises(BadArgument, match="there is no image of channel order"):
        Image(bytes(16), (1, 1), 99)
    with pytest.raises(BadArgument, match="takes Image"):
        run(write, "main", [texels, texels], 1)


@pytest.mark.parametrize("order", sorted(CHANNELS))
def test_channels_come_back(order: int) -> None:
    packed = {"rgb": Data.UnormShort565}.get(CHANNELS[order], Data.UnormInt8)
    format_ = Format(order, packed if order not in (Order.sRGB,) else Data.UnormInt8)
    texel = (1.0, 0.0, 1.0, 1.0)
    found = format_.decode(format_.encode(texel))
    stored = CHANNELS[order]
    if stored in "il":
        assert found == (1, 1, 1, 1)
    else:
        expected = [
            value if name in stored else float(name == "a" and stored != "a")
            for name, value in zip("rgba", texel, strict=True)
        ]
        assert list(found) == expected


@pytest.mark.parametrize(
    ("data_type", "value", "data", "back"),
    [
        (Data.SnormInt8, -1.0, b"\x81", -1.0),
        (Data.SnormInt16, 0.5, b"\x00\x40", 16384 / 32767),
        (Data.UnormInt16, 0.25, b"\x00\x40", 16384 / 65535),
        (Data.UnormInt24, 1.0, b"\xff\xff\xff\0", 1.0),
        (Data.HalfFloat, 1.5, b"\0\x3e", 1.5),
        (Data.Float, -2.0, b"\0\0\0\xc0", -2.0),
        (Data.SignedInt16, -2, b"\xfe\xff", -2),
        (Data.UnsignedInt32, 2**32 - 1, b"\xff\xff\xff\xff", 2**32 - 1),
        (Data.UnormInt10X6EXT, 1.0, b"\xc0\xff", 1.0),
        (Data.UnsignedInt12X4EXT, 5, b"\x50\x00", 5),
        (Data.UnsignedIntRaw10EXT, 1023, b"\xff\x03", 1023),
    ],
)
def test_data_types(data_type: int, value: float, data: bytes, back: float) -> None:
    format_ = Format(Order.R, data_type)
    assert format_.encode((value, 0, 0, 1)) == data
    assert format_.decode(data)[0] == np.float32(back)


def test_the_lowest_normalized_number_is_minus_one() -> None:
    assert Format(Order.R, Data.SnormInt8).decode(b"\x80")[0] == -1.0


@pytest.mark.parametrize(
    ("order", "data_type", "texel", "word"),
    [
        (Order.RGB, Data.UnormShort565, (1, 0, 1, 0), 0xF81F),
        (Order.RGB, Data.UnormShort555, (1, 0, 0, 0), 0x7C00),
        (Order.RGB, Data.UnormInt101010, (0, 1, 0, 0), 0x000FFC00),
        (Order.RGBA, Data.UnormInt101010_2, (1, 0, 0, 1), 0xFFC00003),
        (Order.RGBA, Data.UnormInt2_101010EXT, (0, 0, 1, 1), 0xC00003FF),
    ],
)
def test_packed_data_types(order: int, data_type: int, texel: Any, word: int) -> None:
    format_ = Format(order, data_type)
    assert int.from_bytes(format_.encode(texel), "little") == word
    assert format_.decode(format_.encode(texel))[:3] == texel[:3]


def test_srgb() -> None:
    format_ = Format(Order.sRGBA, Data.UnormInt8)
    dark, light = format_.decode(bytes([10, 188, 255, 128]))[:2]
    assert dark == pytest.approx(10 / 255 / 12.92, rel=1e-6)
    assert light == pytest.approx(0.502886, rel=1e-5)
    for code in range(256):
        assert format_.encode(format_.decode(bytes([code, 0, 0, code]))) == bytes([code, 0, 0, code])


def test_rows_and_slices_may_have_gaps() -> None:
    data = np.zeros((2, 3, 8), np.uint8)
    data[1, 2, 3] = 9
    image = Image(data, (4, 3, 2), Order.R, Data.UnsignedInt8, row_pitch=8, slice_pitch=24)
    assert image.read((3, 2, 1))[0] == 9


def test_levels_of_detail() -> None:
    data = np.concatenate([np.zeros(16), np.ones(4), np.full(1, 2)]).astype(np.float32)
    image = Image(data, (4, 4), Order.R, levels=3)
    body = """
        %lod = OpConvertUToF %f32 %i
        %at = OpUndef %v2f32
        %both = OpSampledImage %sampled %p0 %literal
        %texel = OpImageSampleExplicitLod %v4f32 %both %at Lod %lod
        %same = OpImage %image %both
        %k = OpUConvert %i32 %i
        %size = OpImageQuerySizeLod %v2i32 %same %k
        %width = OpCompositeExtract %i32 %size 0
        %w = OpConvertUToF %f32 %width
        %levels = OpImageQueryLevels %i32 %p0
        %l = OpConvertUToF %f32 %levels
        %row = OpCompositeInsert %v4f32 %w %texel 1
        %row2 = OpCompositeInsert %v4f32 %l %row 2
        %to = OpInBoundsPtrAccessChain %to_v4f32 %p1 %i
        OpStore %to %row2"""
    made = images(body, "%image %to_v4f32", extra="%literal = OpConstantSampler %sampler ClampToEdge 1 Nearest")
    out = np.zeros((4, 4), np.float32)
    run(made, "main", [image, out], 4)
    assert out[:, :3].tolist() == [[0, 4, 3], [1, 2, 3], [2, 1, 3], [2, 1, 3]]


def test_levels_from_gradients() -> None:
    data = np.concatenate([np.zeros(16), np.ones(4), np.full(1, 2)]).astype(np.float32)
    image = Image(data, (4, 4), Order.R, levels=3)
    body = """
        %k = OpConvertUToF %f32 %i
        %q = OpFMul %f32 %k %quarter
        %d = OpCompositeConstruct %v2f32 %q %zero
        %none = OpCompositeConstruct %v2f32 %zero %zero
        %both = OpSampledImage %sampled %p0 %literal
        %texel = OpImageSampleExplicitLod %v4f32 %both %none Grad %d %none
        %to = OpInBoundsPtrAccessChain %to_v4f32 %p1 %i
        OpStore %to %texel"""
    extra = """
        %literal = OpConstantSampler %sampler ClampToEdge 1 Nearest
        %quarter = OpConstant %f32 0.25"""
    out = np.zeros((5, 4), np.float32)
    run(images(body, "%image %to_v4f32", extra=extra), "main", [image, out], 5)
    assert out[:, 0].tolist() == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("shape", "size", "layers", "expected"),
    [
        ("1d", (5,), 0, [5]),
        ("buffer", (7,), 0, [7]),
        ("2d", (5, 4), 0, [5, 4]),
        ("3d", (5, 4, 3), 0, [5, 4, 3]),
        ("1d_array", (5,), 2, [5, 2]),
        ("2d_array", (5, 4), 2, [5, 4, 2]),
    ],
)
def test_queries(shape: str, size: tuple[int, ...], layers: int, expected: list[int]) -> None:
    vector = {1: "%i32", 2: "%v2i32", 3: "%v3i32"}[len(expected)]
    parts = [f"%s{index} = OpCompositeExtract %i32 %size {index}" for index in range(len(expected))]
    stores = []
    for index in range(len(expected)):
        stores.append(f"%c_at{index} = OpInBoundsPtrAccessChain %global_i32 %p1 %k{index}")
        stores.append(f"OpStore %c_at{index} {f'%s{index}' if len(expected) > 1 else '%size'}")
    body = "\n".join(
        [
            f"%size = OpImageQuerySize {vector} %p0",
            *(parts if len(expected) > 1 else []),
            *stores,
            "%format = OpImageQueryFormat %i32 %p0",
            "%order = OpImageQueryOrder %i32 %p0",
            "%samples = OpImageQuerySamples %i32 %p0",
            *(
                line
                for index, name in enumerate(["format", "order", "samples"], start=3)
                for line in (
                    f"%c_at{index} = OpInBoundsPtrAccessChain %global_i32 %p1 %k{index}",
                    f"OpStore %c_at{index} %{name}",
                )
            ),
        ]
    )
    extra = "\n".join(["%v3i32 = OpTypeVector %i32 3", *(f"%k{n} = OpConstant %i32 {n}" for n in range(6))])
    out = np.zeros(6, np.uint32)
    texels = np.zeros(np.prod(size) * max(layers, 1) * 2, np.uint8)
    image = Image(texels, size, Order.RG, Data.UnsignedInt8, layers=layers)
    run(images(body, "%image %global_i32", shape, extra), "main", [image, out], 1)
    assert out.tolist() == [*expected, *[0] * (3 - len(expected)), Data.UnsignedInt8, Order.RG, 1]


def test_blocks_of_an_image() -> None:
    body = """
        %at = OpCompositeConstruct %v2i32 %p1 %c1
        %v = OpSubgroupImageBlockReadINTEL %v2i32 %p0 %at
        %w = OpIAdd %v2i32 %v %v
        %there = OpCompositeConstruct %v2i32 %c0 %c0
        OpSubgroupImageBlockWriteINTEL %p0 %there %w"""
    data = np.arange(24, dtype=np.uint32).reshape(3, 8)
    image = Image(data, (8, 3), Order.R, Data.UnsignedInt32)
    run(images(body, "%image %i32"), "main", [image, 16], 4, 4, sub_group_size=4)
    assert data[:2, :4].tolist() == [[24, 26, 28, 30], [40, 42, 44, 46]]
    run(images(body, "%image %i32"), "main", [image, 20], 4, 4, sub_group_size=4)
    assert data[0, :4].tolist() == [26, 28, 30, 30], "beyond the edge is what lies at the edge"
    rows = np.arange(16, dtype=np.uint32).reshape(2, 8)
    below = Image(rows, (8, 2), Order.R, Data.UnsignedInt32)
    run(images(body, "%image %i32"), "main", [below, 16], 4, 4, sub_group_size=4)
    assert rows[:, 0].tolist() == [24, 24], "below the last row is the last row"
