"""Address spaces and bases of pointers, as far as the chain of offsets shows them."""

from __future__ import annotations

from anyzero.compiler.ir import Op, Space

_KNOWN: dict[str, Space] = {
    # An address from a caller can only be one that the caller knows itself.
    "argument": "global",
    "local_argument": "local",
    "argument_address": "constant",
}


def root(pointer: Op) -> Op:
    """The base pointer: the operand at the end of a chain of offsets."""
    while pointer.name == "offset":
        pointer = pointer.args[0]
    return pointer


def known_space(pointer: Op) -> Space | None:
    begin = root(pointer)
    if begin.name == "variable":
        space: Space = begin.info.space
        return space
    if begin.name == "cast" and begin.args[0].name == "argument":
        return "global"
    return _KNOWN.get(begin.name)


def signed_offset(bytes_: Op) -> int:
    """A constant number of bytes, possibly negative."""
    value: int = bytes_.info
    return value - (1 << 64) if value >> 63 else value
