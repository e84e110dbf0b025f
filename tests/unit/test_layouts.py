"""Shared layouts: their bytes, which compiled kernels and kept files depend on, and what the description refuses."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from anyzero.layouts import container_head, description, frame, kernel
from anyzero.layouts.module_requests import BuildReply, ModuleRelocation, ModuleVariable
from anyzero.wire import Reader, WireError, Writer
from codegen.layouts import LayoutError, load

REPLY = BuildReply(
    *(7, ["saxpy"], [], [ModuleVariable("table", 16, 8)], 24, 8, b"a\0b"),
    *([ModuleRelocation(0, 16)], ["far"], 1, 1),
)


def test_compiled_code_finds_these_offsets() -> None:
    """Typed once more, because kernels of earlier versions are in caches.

    A change needs another container magic, unless it is a field at the end, which those do not use.
    """
    assert kernel.GRID_OFFSETS == {
        "group_count": 0,
        "group_size": 24,
        "global_offset": 48,
        "global_size": 72,
        "dimensions": 96,
        "strip": 104,
        "lane_dimension": 112,
        "row_length": 120,
        "unaliased": 128,
    }
    assert kernel.WORKER_OFFSETS == {
        "local": 0,
        "scratch": 8,
        "local_bytes": 16,
        "scratch_bytes": 24,
        "launch": 32,
        "counters": 40,
        "sums": 48,
    }
    assert [each.value for each in kernel.FaultKind] == [1, 2, 3, 4, 5]


def test_kept_files_have_these_heads() -> None:
    assert (container_head.CONTAINER_MAGIC, container_head.CONTAINER_HEAD_BYTES) == (b"AZKERN09", 144)
    assert (description.DESCRIPTION_MAGIC, description.DESCRIPTION_HEAD_BYTES) == (b"AZDESC03", 24)
    assert frame.Frame(1, 2, 3).pack() == struct.pack("<IIQ", 1, 2, 3)


def test_messages_come_back() -> None:
    data = REPLY.write(Writer()).done()
    reader = Reader(data)
    found = BuildReply.read(reader)
    reader.end()
    assert [tuple(each) if isinstance(each, list) else each for each in found] == [
        tuple(each) if isinstance(each, list) else each for each in REPLY
    ]
    assert (found.kernels, found.relocations, found.imports) == (("saxpy",), ((0, 16),), ("far",))
    for size in range(len(data)):
        with pytest.raises(WireError):
            BuildReply.read(Reader(data[:size]))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('struct.S]\nabout=""\nfields=[["a","u32",""],["b","u64",""]]', "b needs padding in front"),
        ('struct.S]\nabout=""\nfields=[["b","u64",""],["a","u32",""]]', "padding at its end"),
        ('struct.S]\nabout=""\nfields=[["a","text",""]]', "no type text"),
        ('message.M]\nabout=""\nfields=[["a","list of Other",""]]', "no type list of Other above it"),
        ('enum.E]\nabout=""\ntype="u32"\nvalues=[["a",1,""],["b",1,""]]', "the same number"),
        ("union.U]", "no kind union"),
    ],
)
def test_descriptions_that_cannot_be_are_refused(body: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "layouts.toml"
    path.write_text(f'[x]\nabout=""\n[x.{body}\n')
    with pytest.raises(LayoutError, match=reason):
        load(path)
