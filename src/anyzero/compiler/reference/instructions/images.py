"""Instructions on images and samplers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step, handles
from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.formats import Texel
from anyzero.compiler.reference.image import Image, Sampler
from anyzero.compiler.reference.instructions.lanewise import width_of
from anyzero.compiler.reference.memory import SHIFT
from anyzero.compiler.reference.numbers import ROUND, signed
from anyzero.compiler.reference.work_item import Item
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import ImageOperands, Op
from anyzero.compiler.spirv.types import Float, Int, Type, Vector
from anyzero.compiler.spirv.types import Image as ImageType
from anyzero.compiler.spirv.types import SampledImage as SampledImageType


def _thing(item: Item, handle: int, wanted: type[Any]) -> Any:
    found = item.group.launch.handles.get(handle >> SHIFT)
    if not isinstance(found, wanted):
        raise Fault(f"{handle:#x} is no {wanted.__name__.lower()}")
    return found


def _coordinates(type_: Type, value: Any, count: int) -> list[Any]:
    """The image's coordinates; integers are signed."""
    parts = list(value[:count]) if isinstance(type_, Vector) else [value]
    return [signed(part, width_of(type_)) for part in parts] if isinstance(type_.scalar, Int) else parts


def _image_type(decoder: Decoder, id_: int) -> ImageType:
    type_ = decoder.type_of(id_)
    found = type_.image if isinstance(type_, SampledImageType) else type_
    assert isinstance(found, ImageType)
    return found


def _fits(image: Image, type_: ImageType) -> None:
    """Checks that the argument matches the declared image type."""
    if len(image.size) != type_.dimensions or bool(image.layers) != type_.arrayed:
        raise Fault(f"an image of {image.extents} was given for {type_}")


def _to_kernel(texel: Texel, type_: Type, image: Image) -> Any:
    """Four components, or the first one alone."""
    if isinstance(type_.scalar, Float) == image.format.integers:
        raise Fault(f"reads {type_} from an image whose format has another kind of numbers")
    parts: list[Any]
    if isinstance(type_.scalar, Float):
        fit = ROUND[type_.scalar.width]
        parts = [fit(float(part)) for part in texel]
    else:
        mask = (1 << width_of(type_)) - 1
        parts = [int(part) & mask for part in texel]
    return tuple(parts) if isinstance(type_, Vector) else parts[0]


def _from_kernel(value: Any, type_: Type, image: Image) -> Texel:
    if isinstance(type_.scalar, Float) == image.format.integers:
        raise Fault(f"writes {type_} to an image whose format has another kind of numbers")
    parts = value if isinstance(type_, Vector) else (value, 0, 0, 1)
    if isinstance(type_.scalar, Int) and image.format.is_signed:
        parts = tuple(signed(part, type_.scalar.width) for part in parts)
    red, green, blue, alpha = parts
    return red, green, blue, alpha


@handles(Op.SampledImage)
def combine(decoder: Decoder, instruction: Instruction) -> Step:
    to, (image, sampler) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        r[to] = r[ITEM].group.launch.pair(r[image], r[sampler])

    return step


@handles(Op.Image)
def image_of(decoder: Decoder, instruction: Instruction) -> Step:
    to, pair = decoder.result(instruction), decoder.slot(instruction.operands[0])

    def step(r: Registers) -> None:
        r[to] = _thing(r[ITEM], r[pair], tuple)[0]

    return step


@handles(Op.ConvertHandleToImageINTEL, Op.ConvertHandleToSampledImageINTEL)
def by_handle(decoder: Decoder, instruction: Instruction) -> Step:
    to, handle = decoder.result(instruction), decoder.slot(instruction.operands[0])

    def step(r: Registers) -> None:
        r[to] = r[handle]

    return step


@handles(Op.ImageSampleExplicitLod)
def sample(decoder: Decoder, instruction: Instruction) -> Step:
    pair_id, coordinate_id, *options = instruction.operands
    to, (pair, at) = decoder.result(instruction), decoder.slot_list((pair_id, coordinate_id))
    type_, shape = decoder.type(instruction), _image_type(decoder, pair_id)
    coordinate_type, level = decoder.type_of(coordinate_id), _Level(decoder, options)

    def step(r: Registers) -> None:
        image_handle, sampler_handle = _thing(r[ITEM], r[pair], tuple)
        whole = _thing(r[ITEM], image_handle, Image)
        _fits(whole, shape)
        sampler = _thing(r[ITEM], sampler_handle, Sampler)
        image = whole.level(level.of(r, whole))
        place = _coordinates(coordinate_type, r[at], shape.coordinates)
        r[to] = _to_kernel(image.sample(sampler, place), type_, image)

    return step


class _Level:
    """The level of detail of an instruction: explicit, or from derivatives."""

    def __init__(self, decoder: Decoder, options: list[int]) -> None:
        mask, values = (options[0], options[1:]) if options else (0, [])
        self.lod = decoder.slot(values[0]) if mask & ImageOperands.Lod else None
        self.gradients = decoder.slot_list(tuple(values[:2])) if mask & ImageOperands.Grad else None
        type_ = decoder.type_of(values[0]) if self.lod is not None else None
        self.width = type_.width if isinstance(type_, Int) else 0

    def of(self, r: Registers, image: Image) -> int:
        if image.levels == 1:
            return 0
        if self.lod is not None:
            value = signed(r[self.lod], self.width) if self.width else r[self.lod]
            return round(min(max(value, 0), image.levels - 1)) if value == value else 0
        if self.gradients is None:
            return 0
        sides = [r[slot] if isinstance(r[slot], tuple) else (r[slot],) for slot in self.gradients]
        steps = [math.hypot(*(part * size for part, size in zip(side, image.size, strict=False))) for side in sides]
        longest = max(steps)
        return round(min(max(math.log2(longest), 0), image.levels - 1)) if longest > 0 and longest == longest else 0


@handles(Op.ImageRead, Op.ImageFetch)
def read(decoder: Decoder, instruction: Instruction) -> Step:
    image_id, coordinate_id, *options = instruction.operands
    to, (handle, at) = decoder.result(instruction), decoder.slot_list((image_id, coordinate_id))
    type_, shape = decoder.type(instruction), _image_type(decoder, image_id)
    coordinate_type, level = decoder.type_of(coordinate_id), _Level(decoder, options)

    def step(r: Registers) -> None:
        whole = _thing(r[ITEM], r[handle], Image)
        _fits(whole, shape)
        image = whole.level(level.of(r, whole))
        place = _coordinates(coordinate_type, r[at], shape.coordinates)
        r[to] = _to_kernel(image.read(place), type_, image)

    return step


@handles(Op.ImageWrite)
def write(decoder: Decoder, instruction: Instruction) -> Step:
    image_id, coordinate_id, texel_id, *options = instruction.operands
    handle, at, texel = decoder.slot_list((image_id, coordinate_id, texel_id))
    shape, type_ = _image_type(decoder, image_id), decoder.type_of(texel_id)
    coordinate_type, level = decoder.type_of(coordinate_id), _Level(decoder, options)

    def step(r: Registers) -> None:
        whole = _thing(r[ITEM], r[handle], Image)
        _fits(whole, shape)
        image = whole.level(level.of(r, whole))
        place = _coordinates(coordinate_type, r[at], shape.coordinates)
        image.write(place, _from_kernel(r[texel], type_, image))

    return step


@handles(Op.ImageQueryFormat, Op.ImageQueryOrder, Op.ImageQueryLevels, Op.ImageQuerySamples)
def query(decoder: Decoder, instruction: Instruction) -> Step:
    to, handle = decoder.result(instruction), decoder.slot(instruction.operands[0])
    ask: Callable[[Image], int] = {
        Op.ImageQueryFormat: lambda image: image.format.data_type,
        Op.ImageQueryOrder: lambda image: image.format.order,
        Op.ImageQueryLevels: lambda image: image.levels,
        Op.ImageQuerySamples: lambda image: image.samples,
    }[instruction.opcode]

    def step(r: Registers) -> None:
        r[to] = ask(_thing(r[ITEM], r[handle], Image))

    return step


@handles(Op.ImageQuerySize, Op.ImageQuerySizeLod)
def query_size(decoder: Decoder, instruction: Instruction) -> Step:
    to, (handle, *level) = decoder.result(instruction), decoder.slot_list(instruction.operands)
    vector, shape = isinstance(decoder.type(instruction), Vector), _image_type(decoder, instruction.operands[0])

    def step(r: Registers) -> None:
        image = _thing(r[ITEM], r[handle], Image)
        _fits(image, shape)
        extents = image.level(signed(r[level[0]], 32) if level else 0).extents
        r[to] = extents if vector else extents[0]

    return step
