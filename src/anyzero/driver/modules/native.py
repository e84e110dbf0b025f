"""Native binaries: the inputs of a module, with its compiled kernels.

    char magic[8]; u32 version; u32 zero; u64 total bytes; u8 SHA-256[32] of everything behind
    text versions of anyzero and of LLVM, text processor
    u32 inputs      blob SPIR-V, text build flags, u32 constants {u32 number; blob value}
    u32 containers  u8 key[32], blob container

A container is used if its key is the one that the disk cache would be asked for: same program, options, compiler and
processor. Otherwise the SPIR-V is compiled again, so a binary works on every machine; its debug information is in the
SPIR-V.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from anyzero.driver.modules import provenance
from anyzero.driver.modules.container_head import looks_whole
from anyzero.driver.modules.inputs import Input
from anyzero.kernel_cache import KEY_BYTES
from anyzero.lazy_dataclass import dataclass, field
from anyzero.wire import Reader, WireError, Writer

__all__ = ["MAGIC", "Native", "decode", "encode"]

MAGIC: Final = b"AZMODU01"
VERSION: Final = 1
_HEAD: Final = 56


@dataclass(frozen=True, slots=True)
class Native:
    """A native binary taken apart."""

    inputs: tuple[Input, ...]
    containers: Mapping[bytes, bytes] = field(default_factory=dict)
    """Containers by key."""
    versions: str = ""
    processor: str = ""


def encode(inputs: Sequence[Input], containers: Mapping[bytes, bytes]) -> bytes:
    body = Writer().text(provenance.versions()).text(provenance.processor()).u32(len(inputs))
    for each in inputs:
        body.blob(each.data).text(each.flags).u32(len(each.constants))
        for number, value in each.constants:
            body.u32(number).blob(value)
    body.u32(len(containers))
    # Sorted, so that the same module always makes the same bytes.
    for key, packed in sorted(containers.items()):
        body.raw(key).blob(packed)
    content = body.done()
    head = Writer().raw(MAGIC).u32(VERSION, 0).u64(_HEAD + len(content)).raw(hashlib.sha256(content).digest())
    return head.raw(content).done()


def decode(data: bytes) -> Native:
    """Raises WireError, with a reason, for bytes that are no native binary."""
    if not data.startswith(MAGIC):
        kind = "SPIR-V" if data[:4] in (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03") else "something else"
        raise WireError(f"is {kind} and not a native binary of anyzero")
    reader = Reader(data)
    reader.raw(len(MAGIC))
    version, zero = reader.u32(), reader.u32()
    if version != VERSION or zero:
        raise WireError(f"is a native binary of version {version}; this driver reads version {VERSION}")
    total, digest = reader.u64(), reader.raw(32)
    if total != len(data):
        raise WireError(f"is a native binary of {total} bytes, of which {len(data)} were given")
    if hashlib.sha256(memoryview(data)[_HEAD:]).digest() != digest:
        raise WireError("is a native binary that was altered or damaged: its checksum is wrong")
    versions, processor = reader.text(), reader.text()
    inputs = tuple(_input(reader) for _ in range(reader.count(20)))
    packed = dict(_container(reader) for _ in range(reader.count(KEY_BYTES + 8)))
    reader.end()
    if not inputs:
        raise WireError("is a native binary without a module in it")
    # Containers of other versions have keys that are never asked for.
    containers = {key: each for key, each in packed.items() if looks_whole(each)}
    return Native(inputs, containers, versions, processor)


def _input(reader: Reader) -> Input:
    data, flags = reader.blob(), reader.text()
    constants = tuple((reader.u32(), reader.blob()) for _ in range(reader.count(12)))
    return Input(data, flags, constants)


def _container(reader: Reader) -> tuple[bytes, bytes]:
    return reader.raw(KEY_BYTES), reader.blob()
