"""Images and samplers."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import enumerant_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, rule, shape, wrong, wrong_result
from anyzero.compiler.spirv.tables import ImageOperands, Op
from anyzero.compiler.spirv.types import Float, Image, Int, SampledImage, Sampler, Type, Vector

_ALLOWED = ImageOperands.Lod | ImageOperands.Grad | ImageOperands.SignExtend | ImageOperands.ZeroExtend
_OPERANDS = {ImageOperands.Lod: 1, ImageOperands.Grad: 2}


def _image(check: Check, id_: int) -> Image:
    type_ = check.values[id_]
    if not isinstance(type_, Image):
        raise wrong(id_, type_, "an image")
    return type_


def _sampled(check: Check, id_: int) -> Image:
    type_ = check.values[id_]
    if not isinstance(type_, SampledImage):
        raise wrong(id_, type_, "an image with its sampler")
    return type_.image


def _texel(instruction: Instruction, type_: Type) -> None:
    """Four components, or the depth alone."""
    if not isinstance(type_.scalar, (Int, Float)) or type_.count not in (1, 4):
        raise wrong_result(instruction, type_)


def _coordinate(check: Check, id_: int, image: Image, *kinds: type[Type]) -> None:
    """The image's number of coordinates; producers pad three to four."""
    type_ = check.values[id_]
    if not isinstance(type_.scalar, kinds) or type_.count < image.coordinates or type_.count > 4:
        raise wrong(id_, type_, f"{image.coordinates} coordinates")


def _options(check: Check, words: tuple[int, ...]) -> None:
    if not words:
        return
    mask, *values = words
    if mask & ~_ALLOWED:
        unknown = mask & ~_ALLOWED
        raise SpirvError(f"has the image operand {enumerant_name('ImageOperands', unknown & -unknown)}")
    if len(values) != sum(count for bit, count in _OPERANDS.items() if mask & bit):
        raise SpirvError(f"has {len(values)} values for its image operands")
    for id_ in values:
        if not isinstance(check.values[id_].scalar, (Int, Float)):
            raise wrong(id_, check.values[id_], "numbers")


@rule(Op.SampledImage)
def combine(check: Check, instruction: Instruction) -> None:
    type_, (image, sampler) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_, SampledImage):
        raise wrong_result(instruction, type_)
    check.is_(image, type_.image)
    if not isinstance(check.values[sampler], Sampler):
        raise wrong(sampler, check.values[sampler], "a sampler")


@rule(Op.Image)
def image_of(check: Check, instruction: Instruction) -> None:
    if _sampled(check, instruction.operands[0]) is not check.types[instruction.type_id]:
        raise wrong_result(instruction, check.types[instruction.type_id])


@rule(Op.ConvertHandleToImageINTEL, Op.ConvertHandleToSampledImageINTEL)
def by_handle(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    wanted = Image if instruction.opcode == Op.ConvertHandleToImageINTEL else SampledImage
    if not isinstance(type_, wanted):
        raise wrong_result(instruction, type_)
    if check.integer(id_).width != 64:
        raise wrong(id_, check.values[id_], "a handle of 64 bits")


@rule(Op.ImageSampleExplicitLod)
def sample(check: Check, instruction: Instruction) -> None:
    _texel(instruction, check.types[instruction.type_id])
    sampled, coordinate, *options = instruction.operands
    _coordinate(check, coordinate, _sampled(check, sampled), Int, Float)
    _options(check, tuple(options))


@rule(Op.ImageRead, Op.ImageFetch)
def read(check: Check, instruction: Instruction) -> None:
    _texel(instruction, check.types[instruction.type_id])
    image, coordinate, *options = instruction.operands
    _coordinate(check, coordinate, _image(check, image), Int)
    _options(check, tuple(options))


@rule(Op.ImageWrite)
def write(check: Check, instruction: Instruction) -> None:
    image, coordinate, texel, *options = instruction.operands
    _coordinate(check, coordinate, _image(check, image), Int)
    _texel(instruction, check.values[texel])
    _options(check, tuple(options))


@rule(Op.ImageQueryFormat, Op.ImageQueryOrder, Op.ImageQueryLevels, Op.ImageQuerySamples)
def query(check: Check, instruction: Instruction) -> None:
    if not isinstance(check.types[instruction.type_id], Int):
        raise wrong_result(instruction, check.types[instruction.type_id])
    _image(check, instruction.operands[0])


@rule(Op.ImageQuerySize, Op.ImageQuerySizeLod)
def query_size(check: Check, instruction: Instruction) -> None:
    type_, image = check.types[instruction.type_id], _image(check, instruction.operands[0])
    if not shape(type_, Int, image.coordinates) or not isinstance(type_, (Int, Vector)):
        raise wrong_result(instruction, type_)
    for level in instruction.operands[1:]:
        check.integer(level)
