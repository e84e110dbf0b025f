"""Containers of kernels: as the engine reads them, and nothing but whole ones read back."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.compiled import Argument, CompiledKernel
from anyzero.compiler.line_table import LineTable, Place, stack
from anyzero.driver.modules import container, lines
from anyzero.driver.modules.container import Container
from anyzero.driver.modules.container_head import looks_whole
from anyzero.wire import WireError
from tests.unit.planning import kernel

KERNEL = kernel(
    name="größe",
    entry="az_entry",
    object=b"\x7fELF and code",
    lanes=16,
    flat=False,
    shares_rows=False,
    short_elements=False,
    barriers=True,
    printf=True,
    sub_groups=True,
    arguments=(
        Argument(0, "y", "global", 8, 0, 8, leading_writes=4),
        Argument(1, "", "value", 12, 8, 4),
        Argument(2, "scratch", "local", 8, 24, 8),
        Argument(3, "picture", "image", 8, 32, 8, 2),
        Argument(4, "how", "sampler", 8, 40, 8),
        Argument(5, "table", "constant", 8, 48, 8),
    ),
    args_bytes=56,
    local_bytes=1024,
    private_bytes=40,
    spill_bytes=4,
    scratch_fixed=256,
    scratch_per_vector=512,
    required_group_size=(64, 2, 1),
    max_group_items=128,
    required_sub_groups=3,
    required_sub_group_size=16,
    attributes="reqd_work_group_size(64,2,1)",
    waits=True,
    turns="arguments",
    lane_dimension=1,
    links=(3, 1),
)
WHOLE = Container(KERNEL, bytes(range(16)), bytes(range(16, 32)))
BYTES = container.encode(WHOLE)


def test_the_engine_finds_everything_where_the_layout_says() -> None:
    """A reader of its own, which walks the bytes in the order of the format's description."""
    magic, total, checksum = struct.unpack_from("<8sQQ", BYTES)
    assert magic == b"AZKERN09"
    assert total == len(BYTES)
    rest = 0xFFFFFFFF
    for byte in BYTES[24:]:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0xEDB88320 if rest & 1 else 0)
    assert checksum == rest ^ 0xFFFFFFFF
    place = 24
    numbers = struct.unpack_from("<16I", BYTES, place)
    assert numbers[:4] == (16, 1 | 2 | 8 | 16 | 128 | 8192, 6, 56)
    assert numbers[4:10] == (1024, 40, 4, 256, 512, 2)
    assert numbers[10:16] == (64, 2, 1, 128, 3, 16)
    place += 64
    assert BYTES[place : place + 32] == bytes(range(32))
    place += 32
    lengths = struct.unpack_from("<6I", BYTES, place)
    assert lengths == (len("größe".encode()), 8, 28, 0, 13, 0)
    place += 24
    rows = [struct.unpack_from("<7I", BYTES, place + 28 * index) for index in range(6)]
    assert [row[0] for row in rows] == [1, 0, 3, 4, 5, 2]
    assert rows[1] == (0, 12, 8, 4, 0, 0, 0)
    assert rows[3] == (4, 8, 32, 8, 2, 0, 7)
    place += 28 * 6
    assert BYTES[place:].startswith(b"y\0\0scratch\0picture\0how\0table\0" + struct.pack("<QQ", 3, 1))
    assert BYTES.endswith("größe".encode() + b"\0az_entry\0reqd_work_group_size(64,2,1)\0\x7fELF and code")


def test_it_is_read_back_as_it_was() -> None:
    assert container.decode(BYTES) == WHOLE
    plain = Container(kernel(), bytes(16), bytes(16))
    assert container.decode(container.encode(plain)) == plain


def test_a_function_has_no_arguments() -> None:
    packed = container.encode(replace(WHOLE, function=True))
    found = container.decode(packed)
    assert found.function
    assert found.kernel.arguments == ()
    assert struct.unpack_from("<II", packed, 28) == (1 | 2 | 8 | 16 | 32 | 128 | 8192, 0)


def test_links_become_ids_of_plans() -> None:
    linked = container.relink(BYTES, [10, 11, 12, 13])
    assert container.decode(linked).kernel == replace(KERNEL, links=(13, 11))
    with pytest.raises(WireError, match="not linked"):
        container.relink(BYTES, [10, 11])


def test_a_container_without_links_stays_as_it_is() -> None:
    packed = container.encode(replace(WHOLE, kernel=replace(KERNEL, links=())))
    assert container.relink(packed, [1, 2]) is packed


@given(st.integers(0, len(BYTES) * 8 - 1))
def test_a_flipped_bit_is_noticed(place: int) -> None:
    damaged = bytearray(BYTES)
    damaged[place // 8] ^= 1 << place % 8
    with pytest.raises(WireError):
        container.decode(bytes(damaged))


@given(st.integers(0, len(BYTES) - 1))
def test_a_cut_is_noticed(length: int) -> None:
    assert not looks_whole(BYTES[:length])
    with pytest.raises(WireError):
        container.decode(BYTES[:length])


@given(st.integers(0, 200), st.binary(min_size=1, max_size=8))
def test_wrong_contents_under_a_right_checksum_are_refused_or_read(place: int, change: bytes) -> None:
    """Nothing else than a container or a WireError, even where somebody repaired the checksum."""
    body = bytearray(BYTES[24:])
    body[place : place + len(change)] = change
    data = struct.pack("<8sQQ", b"AZKERN09", 24 + len(body), container.checksum(body)) + body
    try:
        found = container.decode(data)
    except WireError:
        return
    assert isinstance(found.kernel, CompiledKernel)


@given(st.binary(max_size=300))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        container.decode(data)


LINES = LineTable(((0, 1), (16, 0), (20, 2)), (Place("k", "a.cl", 3, 1, "x = y", 0), Place("f", "a.cl", 9, 2, "", 1)))


def test_line_tables_are_read_back() -> None:
    assert lines.decode(lines.encode(LINES)) == LINES


@given(at=st.integers(0, len(lines.encode(LINES)) - 1), value=st.integers(0, 255), cut=st.integers(0, 3))
def test_a_damaged_line_table_is_refused_or_harmless(at: int, value: int, cut: int) -> None:
    data = bytearray(lines.encode(LINES))
    data[at] = value
    try:
        found = lines.decode(bytes(data[: len(data) - cut]))
    except WireError:
        return
    for _, number in found.rows:
        stack(found.places, number)
