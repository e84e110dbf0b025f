"""Containers: one compiled kernel as the bytes that the engine reads.

Its layout is that of `anyzero.layouts.container`. A link says whose variables ``az_globals.1``, ``az_globals.2`` … are:
the engine reads ids of plans there. Stored containers (`builds`, `native`) hold places in the list of linked modules
instead, because ids mean nothing to another process.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Final, get_args

from anyzero.compiler.compiled import Argument, ArgumentKind, CompiledKernel
from anyzero.driver.modules import lines
from anyzero.driver.modules.container_head import looks_whole
from anyzero.layouts import container as layout
from anyzero.layouts.container import ContainerArgument
from anyzero.layouts.container_head import (
    CONTAINER_HEAD_BYTES,
    CONTAINER_HEAD_OFFSETS,
    CONTAINER_MAGIC,
    ContainerHead,
    KernelFlag,
)
from anyzero.lazy_dataclass import dataclass, replace
from anyzero.wire import Reader, WireError

__all__ = ["Container", "decode", "encode", "relink"]

_COVERED: Final = CONTAINER_HEAD_OFFSETS["checksum"] + 8
"""The offset of the first byte that the checksum covers."""
_KINDS: Final[dict[int, ArgumentKind]] = {layout.ArgumentKind[each.upper()]: each for each in get_args(ArgumentKind)}
"""The compiler's names of them, by number."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container taken apart."""

    kernel: CompiledKernel
    kernel_uuid: bytes
    module_uuid: bytes
    function: bool = False
    """A function whose address a program requests, instead of a kernel."""


def encode(content: Container) -> bytes:
    """The container's bytes; the kernel's links are written as they are."""
    kernel = content.kernel
    flags = (
        KernelFlag.BARRIERS * kernel.barriers
        | KernelFlag.PRINTF * kernel.printf
        | KernelFlag.FLAT * kernel.flat
        | KernelFlag.SUB_GROUPS * kernel.sub_groups
        | KernelFlag.WAITS * kernel.waits
        | KernelFlag.FUNCTION * content.function
        | KernelFlag.CONSTANT_TURNS * (kernel.turns == "constant")
        | KernelFlag.TURNS_BY_ARGUMENTS * (kernel.turns == "arguments")
        | KernelFlag.SHARES_ROWS * kernel.shares_rows
        | KernelFlag.SHORT_ELEMENTS * kernel.short_elements
        | KernelFlag.FITS_GROUPS * kernel.fits_groups
        | KernelFlag.CHECKED * kernel.checked
        | KernelFlag.NOTED * kernel.noted
        | KernelFlag.LANES_ALONG_Y * (kernel.lane_dimension == 1)
        | KernelFlag.LANES_ALONG_Z * (kernel.lane_dimension == 2)
        | KernelFlag.DIVIDES_IDS * kernel.divides_ids
    )
    arguments = () if content.function else kernel.arguments
    texts = [text.encode() for text in (kernel.name, kernel.entry, kernel.attributes)]
    names = [f"{each.type} {each.name}".encode() if each.type else each.name.encode() for each in arguments]
    table = lines.encode(kernel.lines)
    counters = b"".join(each.pack() for each in kernel.counters)
    rows = [
        ContainerArgument(
            layout.ArgumentKind[each.kind.upper()],
            each.size,
            each.offset,
            each.alignment,
            each.access,
            each.leading_writes,
            len(name),
        ).pack()
        for each, name in zip(arguments, names, strict=True)
    ]
    links = struct.pack(f"<{len(kernel.links)}Q", *kernel.links)
    strings = [text + b"\0" for text in texts]
    rest = b"".join([*rows, *(name + b"\0" for name in names), links, *strings, table, counters, kernel.object])
    head = partial(
        ContainerHead,
        magic=CONTAINER_MAGIC,
        total_bytes=CONTAINER_HEAD_BYTES + len(rest),
        lanes=kernel.lanes,
        flags=flags,
        n_args=len(arguments),
        args_bytes=kernel.args_bytes,
        local_bytes=kernel.local_bytes,
        private_bytes=kernel.private_bytes,
        spill_bytes=kernel.spill_bytes,
        scratch_fixed=kernel.scratch_fixed,
        scratch_per_vector=kernel.scratch_per_vector,
        n_links=len(kernel.links),
        required_group=kernel.required_group_size or (0, 0, 0),
        max_group_items=kernel.max_group_items,
        required_sub_groups=kernel.required_sub_groups,
        required_sub_group_size=kernel.required_sub_group_size,
        kernel_uuid=content.kernel_uuid,
        module_uuid=content.module_uuid,
        name_bytes=len(texts[0]),
        entry_bytes=len(texts[1]),
        attributes_bytes=len(texts[2]),
        lines_bytes=len(table),
        object_bytes=len(kernel.object),
        counters_bytes=len(counters),
    )
    sealed = checksum(rest, checksum(head(checksum=0).pack()[_COVERED:]))
    return head(checksum=sealed).pack() + rest


def decode(data: bytes) -> Container:
    """The container that the bytes hold; raises WireError for any others."""
    if not looks_whole(data):
        raise WireError("is not a whole container of a kernel")
    head = ContainerHead.unpack(data)
    if checksum(memoryview(data)[_COVERED:]) != head.checksum:
        raise WireError("the checksum of the container is wrong")
    reader = Reader(memoryview(data)[CONTAINER_HEAD_BYTES:])
    if head.n_args * (layout.CONTAINER_ARGUMENT_BYTES + 1) + head.n_links * 8 > reader.left:
        raise WireError(f"{head.n_args} arguments and {head.n_links} links do not fit into the container")
    rows = [ContainerArgument.unpack(reader.raw(layout.CONTAINER_ARGUMENT_BYTES)) for _ in range(head.n_args)]
    flags, group = head.flags, head.required_group
    kernel = CompiledKernel(
        arguments=tuple(_argument(index, row, _string(reader, row.name_bytes)) for index, row in enumerate(rows)),
        links=tuple(reader.u64() for _ in range(head.n_links)),
        name=_string(reader, head.name_bytes),
        entry=_string(reader, head.entry_bytes),
        attributes=_string(reader, head.attributes_bytes),
        lines=lines.decode(reader.raw(head.lines_bytes)),
        counters=lines.decode_counters(reader.raw(head.counters_bytes)),
        object=reader.raw(head.object_bytes),
        lanes=head.lanes,
        lane_dimension=1 if flags & KernelFlag.LANES_ALONG_Y else 2 if flags & KernelFlag.LANES_ALONG_Z else 0,
        divides_ids=bool(flags & KernelFlag.DIVIDES_IDS),
        flat=bool(flags & KernelFlag.FLAT),
        shares_rows=bool(flags & KernelFlag.SHARES_ROWS),
        short_elements=bool(flags & KernelFlag.SHORT_ELEMENTS),
        checked=bool(flags & KernelFlag.CHECKED),
        noted=bool(flags & KernelFlag.NOTED),
        fits_groups=bool(flags & KernelFlag.FITS_GROUPS),
        barriers=bool(flags & KernelFlag.BARRIERS),
        printf=bool(flags & KernelFlag.PRINTF),
        sub_groups=bool(flags & KernelFlag.SUB_GROUPS),
        waits=bool(flags & KernelFlag.WAITS),
        turns="constant"
        if flags & KernelFlag.CONSTANT_TURNS
        else "arguments"
        if flags & KernelFlag.TURNS_BY_ARGUMENTS
        else "unknown",
        args_bytes=head.args_bytes,
        local_bytes=head.local_bytes,
        private_bytes=head.private_bytes,
        spill_bytes=head.spill_bytes,
        scratch_fixed=head.scratch_fixed,
        scratch_per_vector=head.scratch_per_vector,
        required_group_size=(group[0], group[1], group[2]) if any(group) else None,
        max_group_items=head.max_group_items,
        required_sub_groups=head.required_sub_groups,
        required_sub_group_size=head.required_sub_group_size,
    )
    reader.end()
    return Container(kernel, head.kernel_uuid, head.module_uuid, bool(flags & KernelFlag.FUNCTION))


def relink(data: bytes, plans: Sequence[int]) -> bytes:
    """A stored container, with the ids of plans for the places that its links name."""
    if not ContainerHead.unpack(data).n_links:
        return data
    content = decode(data)
    if any(place >= len(plans) for place in content.kernel.links):
        raise WireError("the container names a module that is not linked")
    return encode(replace(content, kernel=replace(content.kernel, links=tuple(plans[i] for i in content.kernel.links))))


def checksum(data: bytes | memoryview, before: int = 0) -> int:
    """The checksum of bytes that follow others with the checksum `before`."""
    return zlib.crc32(data, before)


def _argument(index: int, row: ContainerArgument, name: str) -> Argument:
    if row.kind not in _KINDS:
        raise WireError(f"argument {index} is of kind {row.kind}, which does not exist")
    type_, _, name = name.rpartition(" ")
    place = row.size, row.offset, row.alignment
    return Argument(index, name, _KINDS[row.kind], *place, row.access, type_, row.leading_writes)


def _string(reader: Reader, length: int) -> str:
    raw = reader.raw(length + 1)
    if raw[-1]:
        raise WireError("a string is not terminated")
    try:
        return raw[:-1].decode()
    except UnicodeDecodeError:
        raise WireError("a string is not UTF-8") from None
