"""Spilled bytes of a kernel's stack frame.

LLVM's API does not report them: they are the size of the frame, read from the machine code, less the variables in it,
which the optimised IR lists.
"""

from __future__ import annotations

import re
from typing import Any

from anyzero.compiler import elf

# sub rsp, with 8 and 32 bits; and LLVM's instructions before it: push, mov rbp rsp, and rsp.
_LOWER = re.compile(rb"\x48(?:\x83\xec(.)|\x81\xec(....))", re.DOTALL)
_BEFORE = re.compile(rb"(?:[\x50-\x57]|\x41[\x50-\x57]|\x48\x89\xe5|\x48\x83\xe4.|\x48\x81\xe4....)*", re.DOTALL)
# A large frame is touched page by page: r11 gets its end first.
_PAGES = re.compile(rb"\x4c\x8d\x9c\x24(....)|\x49\x89\xe3\x49\x81\xeb(....)", re.DOTALL)
_PAGE = 4096
_TOUCH = re.compile(rb"(?:\x48\xc7\x04\x24\0\0\0\0|\x48\x81\xec\x00\x10\0\0|\x4c\x39\xdc|\x75.)*", re.DOTALL)

_ALLOCA = re.compile(r"= alloca (.*?)(?:, align (\d+))?$")
_TYPE = re.compile(r"[<\[](\d+) x (.*)[>\]]")
_SMALL = {"half": 16, "float": 32, "double": 64, "ptr": 64}
_ALIGNMENT = 16
"""The stack's alignment: less than this beyond the variables is padding."""


def variables(optimised: Any) -> dict[str, int]:
    """Variables of each function; read before code generation, which changes the module."""
    return {each.name: _variables(each) for each in optimised.functions if not each.is_declaration}


def spilled(object_: bytes, variables: dict[str, int]) -> int:
    """Bytes of the function that spills most. Exact where a function has no variables in memory, else a lower bound."""
    most = 0
    for name, code in elf.Object(object_).functions():
        rest = frame(code) - variables.get(name, 0)
        most = max(most, rest if rest >= _ALIGNMENT else 0)
    return most


def frame(code: bytes) -> int:
    """Bytes that a function takes from the stack, without the registers it saves for its caller."""
    found = _BEFORE.match(code)
    at = found.end() if found else 0
    pages = _PAGES.match(code, at)
    if pages:
        size = _number(pages[1] or pages[2])
        loop = _TOUCH.match(code, pages.end())
        rest = _LOWER.match(code, loop.end() if loop else pages.end())
        return size + (_lowered(rest) if rest else 0)
    # An early return may come first.
    first = _LOWER.match(code, at) or _LOWER.search(code, at)
    if first is None:
        return 0
    size = _lowered(first)
    while size % _PAGE == 0 and (loop := _TOUCH.match(code, first.end())) and (more := _LOWER.match(code, loop.end())):
        pages_between = code.count(b"\x48\x81\xec\x00\x10\0\0", first.end(), loop.end())
        size += pages_between * _PAGE + _lowered(more)
        first = more
    return size


def _lowered(found: re.Match[bytes]) -> int:
    return _number(found[2] if found[1] is None else found[1])


def _number(data: bytes) -> int:
    return abs(int.from_bytes(data, "little", signed=True))


def _variables(function: Any) -> int:
    """Bytes of the variables in a function's frame, at most: LLVM lets some of them share their place."""
    total, widest = 0, 0
    for instruction in next(iter(function.blocks)).instructions:
        if instruction.opcode != "alloca":
            break  # variables come first
        found = _ALLOCA.search(str(instruction).strip())
        if found is not None:
            size, alignment = _size(found[1]), int(found[2] or 1)
            total, widest = total + -(-size // alignment) * alignment, max(widest, alignment)
    # With the guard behind them that `sspstrong` asks for.
    return total + widest


def _size(type_: str) -> int:
    """Bytes of a type."""
    many = _TYPE.fullmatch(type_)
    if many is None:
        return -(-_bits(type_) // 8)
    count = int(many[1])
    if type_[0] == "<":
        return -(-count * _bits(many[2]) // 8)
    return count * _size(many[2])


def _bits(type_: str) -> int:
    return _SMALL.get(type_) or int(type_[1:])
