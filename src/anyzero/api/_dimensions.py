"""The dimensions along which kernels tell their work-items apart, read from SPIR-V.

A kernel that never reads an id along y does the same in all work-items along y. A launch that asks for several of them
was most likely meant otherwise, and this is how it is noticed. In doubt a kernel reads all dimensions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

__all__ = ["ALL", "Dimensions"]

ALL: Final = 0b111
"""All three dimensions, as a mask: 1 is x, 2 is y, 4 is z."""

_MAGIC: Final = 0x07230203
_HEADER: Final = 5

# Opcodes and enumerants of the SPIR-V specification.
_EXT_INST: Final = 12
_ENTRY_POINT: Final = 15
_CONSTANT: Final = 43
_FUNCTION: Final = 54
_FUNCTION_END: Final = 56
_FUNCTION_CALL: Final = 57
_LOAD: Final = 61
_STORE: Final = 62
_CHAINS: Final = {65: 0, 66: 0, 67: 1, 70: 1}
"""Access chains, and how many of their indices only move the pointer as a whole."""
_DECORATE: Final = 71
_GROUP_DECORATE: Final = 74
_EXTRACT_DYNAMIC: Final = 77
_SHUFFLE: Final = 79
_EXTRACT: Final = 81
_INSERT: Final = 82
_SAME_VALUE: Final = frozenset({83, 113, 114, 121, 122, 123, 124})
"""CopyObject, UConvert, SConvert, the casts between address spaces, Bitcast: the result stands for the operand."""
_LITERALS: Final = frozenset({8, 59, 246, 247, 248, 249, 250, 251, 317})
"""Instructions that use no ids of work-items, but have literals that could be taken for them: lines, branches, …"""
_FUNCTION_POINTERS: Final = frozenset({5600, 5601})
_LABEL: Final = 248

_BUILT_IN: Final = 11
_VECTORS: Final = frozenset({26, 27, 28})
"""WorkgroupId, LocalInvocationId, GlobalInvocationId."""
_LINEAR: Final = frozenset({29, 34, 40, 41})
"""LocalInvocationIndex, GlobalLinearId, SubgroupId, SubgroupLocalInvocationId: made of all three."""

_Instruction = tuple[int, Sequence[int]]


class Dimensions:
    """Of the kernels of one module; the SPIR-V is read when it is first asked about."""

    def __init__(self, modules: Iterable[bytes]) -> None:
        self._modules = list(modules)
        self._found: dict[str, int] | None = None

    def read_by(self, kernel: str) -> int:
        """The dimensions whose ids a kernel reads, as a mask."""
        if self._found is None:
            found: dict[str, int] = {}
            for module in self._modules:
                found |= _kernels(module)
            self._found, self._modules = found, []
        return self._found.get(kernel, ALL)


def _kernels(module: bytes) -> dict[str, int]:
    reader = _Reader()
    try:
        reader.read(_instructions(module))
        return {name: reader.reached(entry) for name, entry in reader.kernels.items()}
    except IndexError:
        # Cut short, or worse: for the driver to judge.
        return {}


def _instructions(module: bytes) -> Iterator[_Instruction]:
    words = array("I", module[: len(module) // 4 * 4])
    if len(words) > _HEADER and words[0] != _MAGIC:
        words.byteswap()
    at = _HEADER
    while at < len(words):
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        yield opcode, words[at : at + count]
        at += count or len(words)


class _Reader:
    def __init__(self) -> None:
        self.kernels: dict[str, int] = {}
        self._variables: dict[int, bool] = {}  # Whether it is a vector
        self._constants: dict[int, int] = {}
        self._reads: dict[int, int] = {}
        self._calls: dict[int, set[int]] = {}

    def read(self, instructions: Iterator[_Instruction]) -> None:
        for opcode, words in instructions:
            if opcode == _FUNCTION:
                self._function(words[2], instructions)
            elif opcode == _ENTRY_POINT:
                self.kernels[_text(words[3:])] = words[2]
            elif opcode == _CONSTANT:
                self._constants[words[2]] = words[3]
            elif opcode == _DECORATE and words[2] == _BUILT_IN and words[3] in _VECTORS | _LINEAR:
                # Decorations of a group come before the group's members.
                self._variables[words[1]] = words[3] in _VECTORS
            elif opcode == _GROUP_DECORATE and words[1] in self._variables:
                self._variables |= dict.fromkeys(words[2:], self._variables[words[1]])

    def reached(self, entry: int) -> int:
        """What a function and all that it calls read."""
        mask, seen, pending = 0, set[int](), [entry]
        while pending:
            function = pending.pop()
            if function in seen:
                continue
            seen.add(function)
            # A function without a body comes from another module and may do anything.
            mask |= self._reads.get(function, ALL)
            pending += self._calls.get(function, ())
        return mask

    def _function(self, function: int, instructions: Iterator[_Instruction]) -> None:
        pointers = {name for name, vector in self._variables.items() if vector}
        tracked = set(self._variables)
        components: dict[int, int] = {}  # Pointers to one component, and its dimension
        vectors: set[int] = set()
        calls: set[int] = set()
        mask, has_body = 0, False
        for opcode, words in instructions:
            if opcode == _FUNCTION_END:
                break
            has_body = has_body or opcode == _LABEL
            if opcode in _LITERALS:
                continue
            if opcode == _FUNCTION_CALL:
                calls.add(words[3])
            if tracked.isdisjoint(_operands(opcode, words)):
                mask |= ALL if opcode in _FUNCTION_POINTERS else 0
                continue
            result, source = words[2], words[3] if len(words) > 3 else 0
            if opcode == _EXTRACT and source in vectors:
                mask |= 1 << words[4]
            elif opcode == _EXTRACT_DYNAMIC and source in vectors:
                mask |= self._component(words[4])
            elif opcode == _LOAD and source in components:
                mask |= components[source]
            elif opcode in _CHAINS and source in pointers and len(words) > 4 + _CHAINS[opcode]:
                components[result] = self._component(words[4 + _CHAINS[opcode]])
                tracked.add(result)
            elif (opcode in _SAME_VALUE or opcode in _CHAINS) and source in pointers:
                pointers.add(result)
                tracked.add(result)
            elif (opcode == _LOAD and source in pointers) or (opcode in _SAME_VALUE and source in vectors):
                vectors.add(result)
                tracked.add(result)
            else:
                # Whatever else an id is used for, all of it counts.
                mask = ALL
        if has_body:
            self._reads[function], self._calls[function] = mask, calls

    def _component(self, index: int) -> int:
        """The dimension that an index chooses; all of them where it is not known yet."""
        return 1 << min(self._constants[index], 2) if index in self._constants else ALL


def _operands(opcode: int, words: Sequence[int]) -> Sequence[int]:
    """Those words of an instruction that may be ids."""
    if opcode in (_LOAD, _EXTRACT):
        return words[3:4]
    if opcode == _STORE:
        return words[1:3]
    if opcode in (_SHUFFLE, _INSERT):
        return words[3:5]
    return words[5:] if opcode == _EXT_INST else words[1:]


def _text(words: Sequence[int]) -> str:
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return data.split(b"\0", 1)[0].decode(errors="replace")
