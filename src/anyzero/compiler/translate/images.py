"""Images and samplers."""

from __future__ import annotations

from anyzero.compiler.builder import Builder
from anyzero.compiler.folding import FLOATS
from anyzero.compiler.ir import ImageAccess, Op
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import ImageOperands
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.types import Image, SampledImage, Type, Vector
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, scalar

FLOAT, SIGNED, UNSIGNED = range(3)
"""Component types that texels are converted to."""

_WIDTH, _ARRAY_SIZE = 0, 3
_QUERIES = {
    Opcode.ImageQueryFormat: 4,
    Opcode.ImageQueryOrder: 5,
    Opcode.ImageQueryLevels: 6,
    Opcode.ImageQuerySamples: 7,
}


@translates(Opcode.SampledImage)
def combine(f: Scope, i: Instruction) -> Tree:
    image, sampler = i.operands
    return f.value(image), f.value(sampler)


@translates(Opcode.Image)
def image_of(f: Scope, i: Instruction) -> Tree:
    pair = f.value(i.operands[0])
    assert isinstance(pair, tuple)
    return pair[0]


@translates(Opcode.ConvertHandleToImageINTEL)
def image_by_handle(f: Scope, i: Instruction) -> Tree:
    return f.b.cast("inttoptr", f.scalar(i.operands[0]), "ptr")


@translates(Opcode.ConvertHandleToSampledImageINTEL)
def sampled_by_handle(f: Scope, i: Instruction) -> Tree:
    """The image includes its own sampler."""
    return f.b.cast("inttoptr", f.scalar(i.operands[0]), "ptr"), f.b.const("ptr", 0)


def _image(f: Scope, id_: int) -> Image:
    type_ = f.type(id_)
    if isinstance(type_, SampledImage):
        type_ = type_.image
    assert isinstance(type_, Image)
    return type_


def _kind(name: str, options: tuple[int, ...]) -> int:
    """Integers are signed only with a SignExtend operand; the image's format decides anyway."""
    if name in FLOATS:
        return FLOAT
    return UNSIGNED if options and options[0] & ImageOperands.ZeroExtend else SIGNED


def _coordinates(f: Scope, id_: int, image: Image) -> list[Op]:
    """The image's coordinates, 32 bits each."""
    return [_as32(f.b, each) for each in f.components(id_)[: image.coordinates]]


def _as32(b: Builder, value: Op) -> Op:
    if value.type in FLOATS:
        return b.cast("fpext" if value.type == "half" else "fptrunc", value, "float")
    return b.resized(value, "i32", signed=True)


def _level(f: Scope, options: tuple[int, ...]) -> list[Op]:
    """The level of detail, if specified."""
    if not options:
        return []
    if not options[0] & ImageOperands.Lod:
        # Derivatives select a level, and there is only one.
        return []
    level = f.scalar(options[1])
    if level.name == "const" and level.info == 0:
        return []
    return [_as32(f.b, level) if level.type in FLOATS else f.b.cast("sitofp", level, "float")]


@translates(Opcode.ImageSampleExplicitLod)
def sample(f: Scope, i: Instruction) -> Tree:
    sampled, coordinate, *options = i.operands
    pair = f.value(sampled)
    assert isinstance(pair, tuple)
    image, sampler = pair
    assert isinstance(image, Op)
    assert isinstance(sampler, Op)
    return _read(f, i, _image(f, sampled), [image, sampler], coordinate, tuple(options))


@translates(Opcode.ImageRead, Opcode.ImageFetch)
def read(f: Scope, i: Instruction) -> Tree:
    image, coordinate, *options = i.operands
    return _read(f, i, _image(f, image), [f.scalar(image)], coordinate, tuple(options))


def _read(
    f: Scope, i: Instruction, image: Image, operands: list[Op], coordinate: int, options: tuple[int, ...]
) -> Tree:
    type_ = f.types[i.result_id]
    name = scalar(type_.scalar or type_)
    coordinates, level = _coordinates(f, coordinate, image), _level(f, options)
    kind = _kind(name, options)
    access = ImageAccess(
        kind, len(coordinates), coordinates[0].type == "float", sampler=len(operands) == 2, lod=bool(level)
    )
    texel = f.b.emit("image_read", "float" if kind == FLOAT else "i32", [*operands, *coordinates, *level], access)
    found = [_texel_from32(f.b, each, name) for each in f.b.parts(texel, 4)]
    return tuple(found) if isinstance(type_, Vector) else found[0]


def _texel_from32(b: Builder, value: Op, name: str) -> Op:
    if name in FLOATS:
        return b.cast("fptrunc" if name == "half" else "fpext", value, name)
    return b.resized(value, name, signed=True)


@translates(Opcode.ImageWrite)
def write(f: Scope, i: Instruction) -> None:
    image, coordinate, texel, *options = i.operands
    values = [_as32(f.b, each) for each in f.components(texel)]
    values += [f.b.const(values[0].type, 0)] * (4 - len(values))
    coordinates = _coordinates(f, coordinate, _image(f, image))
    access = ImageAccess(_kind(values[0].type, tuple(options)), len(coordinates))
    f.b.emit("image_write", "", [f.scalar(image), *coordinates, *values], access)


@translates(*_QUERIES)
def query(f: Scope, i: Instruction) -> Tree:
    return _asked(f, f.scalar(i.operands[0]), _QUERIES[i.opcode], f.types[i.result_id])


def _asked(f: Scope, image: Op, what: int, type_: Type) -> Op:
    found = f.b.emit("image_query" if image.name == "argument" else "handle_query", "i32", [image], what)
    return f.b.resized(found, scalar(type_.scalar or type_))


@translates(Opcode.ImageQuerySize, Opcode.ImageQuerySizeLod)
def query_size(f: Scope, i: Instruction) -> Tree:
    b, type_, image = f.b, f.types[i.result_id], _image(f, i.operands[0])
    handle = f.scalar(i.operands[0])
    sizes = [_asked(f, handle, _WIDTH + dimension, type_) for dimension in range(image.dimensions)]
    for id_ in i.operands[1:]:
        level = b.resized(f.scalar(id_), sizes[0].type)
        if level.name != "const" or level.info:
            one = b.const(level.type, 1)
            smaller = [b.lshr(size, level) for size in sizes]
            sizes = [b.select(b.is_zero(size), one, size) for size in smaller]
    if image.arrayed:
        sizes.append(_asked(f, handle, _ARRAY_SIZE, type_))
    return tuple(sizes) if isinstance(type_, Vector) else sizes[0]
