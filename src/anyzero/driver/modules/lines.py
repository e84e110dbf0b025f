"""Line tables as bytes: the part of a container that names source lines."""

from __future__ import annotations

import struct

from anyzero.compiler.line_table import LineTable, Place
from anyzero.layouts import container as layout
from anyzero.layouts.container import CounterPlace, LinePlace, LineRow, LineTableHead
from anyzero.layouts.kernel import MOST_COUNTERS
from anyzero.wire import Reader, WireError

__all__ = ["decode", "decode_counters", "encode"]


def encode(table: LineTable) -> bytes:
    """No bytes for a table without rows."""
    if not table:
        return b""
    texts, offsets = bytearray(b"\0"), {"": 0}

    def text(value: str) -> int:
        found = offsets.get(value)
        if found is None:
            found = offsets[value] = len(texts)
            # A zero byte would end the text, and half a surrogate pair has no bytes.
            texts.extend(value.replace("\0", " ").encode(errors="replace") + b"\0")
        return found

    places = b"".join(
        LinePlace(
            function=text(each.function),
            file=text(each.file),
            line=each.line,
            column=each.column,
            source=text(each.text),
            caller=each.caller,
        ).pack()
        for each in table.places
    )
    rows = struct.pack(f"<{2 * len(table.rows)}I", *(number for row in table.rows for number in row))
    head = LineTableHead(rows=len(table.rows), places=len(table.places), text_bytes=len(texts))
    return head.pack() + rows + places + texts


def decode(data: bytes) -> LineTable:
    """Raises WireError for bytes that are no table."""
    if not data:
        return LineTable()
    reader = Reader(memoryview(data))
    head = LineTableHead.unpack(reader.raw(layout.LINE_TABLE_HEAD_BYTES))
    if head.rows * layout.LINE_ROW_BYTES + head.places * layout.LINE_PLACE_BYTES + head.text_bytes != reader.left:
        raise WireError("the line table of the container has an inconsistent length")
    rows = [LineRow.unpack(reader.raw(layout.LINE_ROW_BYTES)) for _ in range(head.rows)]
    packed = [LinePlace.unpack(reader.raw(layout.LINE_PLACE_BYTES)) for _ in range(head.places)]
    texts = reader.raw(head.text_bytes)

    def text(at: int) -> str:
        end = texts.find(b"\0", at)
        if end < 0:
            raise WireError("the line table of the container has an unterminated string")
        return texts[at:end].decode(errors="replace")

    places = tuple(
        Place(text(each.function), text(each.file), each.line, each.column, text(each.source), each.caller)
        for each in packed
    )
    if any(each.caller > number for number, each in enumerate(places)):
        raise WireError("the line table of the container has a cyclic call")
    if any(row.place > len(places) for row in rows):
        raise WireError("the line table of the container refers to an entry that does not exist")
    return LineTable(tuple((row.offset, row.place) for row in rows), places)


def decode_counters(data: bytes) -> tuple[CounterPlace, ...]:
    """The places of counters; raises WireError for bytes that are none."""
    size = layout.COUNTER_PLACE_BYTES
    if len(data) % size:
        raise WireError("the counters of the container have an inconsistent length")
    places = tuple(CounterPlace.unpack(data[at : at + size]) for at in range(0, len(data), size))
    if any(each.counter >= MOST_COUNTERS for each in places):
        raise WireError("the container has more counters than there may be")
    return places
