"""Non-temporal stores: the test whether a launch is large enough for them, and the stores themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from anyzero.compiler.analysis.streaming_stores import LINE
from anyzero.compiler.ir import SIZES
from anyzero.compiler.llvm import Value
from anyzero.compiler.lower.emitter import Emitter

if TYPE_CHECKING:
    from anyzero.compiler.lower.entry import Entry

NEVER = -1
"""Every address has one of these bits, so the test for non-temporal stores always fails."""
HIGHEST = -(1 << 63)


def misaligned_bits(e: Entry, items: int) -> Value:
    """The bits that the address of a non-temporal store must not have, from so many work-items of a launch on."""
    b = e.b
    x, y, z = e.global_size
    all_ = x * y * z
    return b.select(b.compare("uge", all_, items), e.number(LINE - 1), e.number(NEVER))


def fence(e: Entry, bits: Value) -> None:
    """A store fence: other threads see the stores before the completion."""
    b = e.b
    e.if_(b.compare("ne", bits, NEVER), lambda: b.line("call void @llvm.x86.sse.sfence()"))


def either_way(e: Emitter, pieces: Sequence[tuple[Value, Value]], usual: Callable[[], None]) -> None:
    """Non-temporal where all lanes are active and fill whole cache lines. Pieces are values of one length, side by
    side, each with its address.
    """
    b, mask = e.b, e.mask
    assert mask is not None
    bits = e.frame.given["stream"]
    number = b.cast("ptrtoint", pieces[0][1], "i64")
    # The highest bit is in NEVER alone: LLVM folds the test for that.
    whole = b.compare("eq", (number | HIGHEST) & bits, 0) & e.all(mask)
    past, through, join = e.label(), e.label(), e.label()
    known = e.known
    b.branch(whole, past, through)
    e.start(past)
    for value, address in pieces:
        alignment = min(LINE, SIZES[value.type.element] * value.type.lanes)
        b.line(f"store {value.typed}, {address.typed}, align {alignment}, !nontemporal !2")
    b.jump(join)
    e.start(through)
    usual()
    b.jump(join)
    e.start(join)
    e.forget_since(known)
