"""Containers: one compiled kernel as the bytes that the engine reads.

    char magic[8]; u64 total bytes; u64 checksum (CRC-32 of everything behind this field)
    u32 lanes, flags, arguments, bytes of the argument block
    u32 local, private and spill bytes, fixed scratch, scratch per vector, links
    u32 required group size[3], most items of a group, required sub-groups, required sub-group size
    u8 kernel uuid[16], module uuid[16]
    u32 length of name, entry, attributes, object
    argument  u32 kind, size, offset, alignment, access, length of name; then all the arguments' types and
              names
    u64 links; name, entry, attributes, object

Every text is followed by a zero byte that its length does not count; the object is not. A link says whose variables
``az_globals.1``, ``az_globals.2`` … are: the engine reads ids of plans there. Stored containers (`cache`, `native`)
hold places in the list of linked modules instead, because ids mean nothing to another process.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from anyzero.compiler.compiled import Argument, ArgumentKind, CompiledKernel
from anyzero.driver.wire import Reader, WireError

__all__ = ["Container", "decode", "encode", "looks_whole", "relink"]

MAGIC: Final = b"AZKERN03"

BARRIERS: Final = 1
PRINTF: Final = 2
FLAT: Final = 4
SUB_GROUPS: Final = 8
WAITS: Final = 16
FUNCTION: Final = 32
CONSTANT_TURNS: Final = 64
TURNS_BY_ARGUMENTS: Final = 128
SHARES_ROWS: Final = 256

KINDS: Final[tuple[ArgumentKind, ...]] = get_args(ArgumentKind)
"""A kind is encoded as its index here."""

_PROLOGUE: Final = struct.Struct("<8sQQ")
_HEAD: Final = struct.Struct("<16I16s16s4I")
_ARGUMENT: Final = struct.Struct("<6I")


@dataclass(frozen=True, slots=True)
class Container:
    """A container taken apart."""

    kernel: CompiledKernel
    kernel_uuid: bytes
    module_uuid: bytes
    function: bool = False
    """A function whose address a program asks for, instead of a kernel."""


def encode(content: Container) -> bytes:
    """The container's bytes; the kernel's links are written as they are."""
    kernel = content.kernel
    flags = (
        BARRIERS * kernel.barriers
        | PRINTF * kernel.printf
        | FLAT * kernel.flat
        | SUB_GROUPS * kernel.sub_groups
        | WAITS * kernel.waits
        | FUNCTION * content.function
        | CONSTANT_TURNS * (kernel.turns == "constant")
        | TURNS_BY_ARGUMENTS * (kernel.turns == "arguments")
        | SHARES_ROWS * kernel.shares_rows
    )
    arguments = () if content.function else kernel.arguments
    texts = [text.encode() for text in (kernel.name, kernel.entry, kernel.attributes)]
    names = [f"{each.type} {each.name}".encode() if each.type else each.name.encode() for each in arguments]
    head = _HEAD.pack(
        kernel.lanes,
        flags,
        len(arguments),
        kernel.args_bytes,
        kernel.local_bytes,
        kernel.private_bytes,
        kernel.spill_bytes,
        kernel.scratch_fixed,
        kernel.scratch_per_vector,
        len(kernel.links),
        *(kernel.required_group_size or (0, 0, 0)),
        kernel.max_group_items,
        kernel.required_sub_groups,
        kernel.required_sub_group_size,
        content.kernel_uuid,
        content.module_uuid,
        *map(len, texts),
        len(kernel.object),
    )
    rows = [
        _ARGUMENT.pack(KINDS.index(each.kind), each.size, each.offset, each.alignment, each.access, len(name))
        for each, name in zip(arguments, names, strict=True)
    ]
    links = struct.pack(f"<{len(kernel.links)}Q", *kernel.links)
    strings = [text + b"\0" for text in texts]
    body = b"".join([head, *rows, *(name + b"\0" for name in names), links, *strings, kernel.object])
    return _PROLOGUE.pack(MAGIC, _PROLOGUE.size + len(body), checksum(body)) + body


def decode(data: bytes) -> Container:
    """The container that the bytes hold; raises WireError for any others."""
    if not looks_whole(data):
        raise WireError("is not a whole container of a kernel")
    body = memoryview(data)[_PROLOGUE.size :]
    if checksum(body) != _PROLOGUE.unpack_from(data)[2]:
        raise WireError("the checksum of the container is wrong")
    reader = Reader(body)
    (lanes, flags, n_args, args_bytes, local, private, spill, fixed, per_vector, n_links, *rest) = _HEAD.unpack(
        reader.raw(_HEAD.size)
    )
    *group, max_items, sub_groups, sub_group_size, kernel_uuid, module_uuid, name, entry, attributes, size = rest
    if n_args * (_ARGUMENT.size + 1) + n_links * 8 > reader.left:
        raise WireError(f"{n_args} arguments and {n_links} links do not fit into the container")
    rows = [_ARGUMENT.unpack(reader.raw(_ARGUMENT.size)) for _ in range(n_args)]
    kernel = CompiledKernel(
        arguments=tuple(_argument(index, row, _string(reader, row[5])) for index, row in enumerate(rows)),
        links=tuple(reader.u64() for _ in range(n_links)),
        name=_string(reader, name),
        entry=_string(reader, entry),
        attributes=_string(reader, attributes),
        object=reader.raw(size),
        lanes=lanes,
        flat=bool(flags & FLAT),
        shares_rows=bool(flags & SHARES_ROWS),
        barriers=bool(flags & BARRIERS),
        printf=bool(flags & PRINTF),
        sub_groups=bool(flags & SUB_GROUPS),
        waits=bool(flags & WAITS),
        turns="constant" if flags & CONSTANT_TURNS else "arguments" if flags & TURNS_BY_ARGUMENTS else "unknown",
        args_bytes=args_bytes,
        local_bytes=local,
        private_bytes=private,
        spill_bytes=spill,
        scratch_fixed=fixed,
        scratch_per_vector=per_vector,
        required_group_size=(group[0], group[1], group[2]) if any(group) else None,
        max_group_items=max_items,
        required_sub_groups=sub_groups,
        required_sub_group_size=sub_group_size,
    )
    reader.end()
    return Container(kernel, kernel_uuid, module_uuid, bool(flags & FUNCTION))


def looks_whole(data: bytes) -> bool:
    """Has it the magic number of a container and the length it states? The contents are not checked."""
    if len(data) < _PROLOGUE.size + _HEAD.size:
        return False
    magic, total, _ = _PROLOGUE.unpack_from(data)
    return bool(magic == MAGIC and total == len(data))


def relink(data: bytes, plans: Sequence[int]) -> bytes:
    """A stored container, with the ids of plans for the places that its links name."""
    if not _HEAD.unpack_from(data, _PROLOGUE.size)[9]:
        return data
    content = decode(data)
    if any(place >= len(plans) for place in content.kernel.links):
        raise WireError("the container names a module that is not linked")
    return encode(replace(content, kernel=replace(content.kernel, links=tuple(plans[i] for i in content.kernel.links))))


def checksum(data: bytes | memoryview) -> int:
    return zlib.crc32(data)


def _argument(index: int, row: tuple[int, ...], name: str) -> Argument:
    kind, size, offset, alignment, access, _ = row
    if kind >= len(KINDS):
        raise WireError(f"argument {index} is of kind {kind}, which there is not")
    type_, _, name = name.rpartition(" ")
    return Argument(index, name, KINDS[kind], size, offset, alignment, access, type_)


def _string(reader: Reader, length: int) -> str:
    raw = reader.raw(length + 1)
    if raw[-1]:
        raise WireError("a text has no end")
    try:
        return raw[:-1].decode()
    except UnicodeDecodeError:
        raise WireError("a text is not UTF-8") from None
