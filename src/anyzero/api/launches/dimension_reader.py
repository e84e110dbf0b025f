"""Reads from SPIR-V which ids of work-items a kernel uses. In doubt a kernel uses all dimensions."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final

from anyzero.api.launches.dimensions import ALL
from anyzero.spirv.numbers import MAGIC, BuiltIn, Decoration, Op

__all__ = ["kernels"]

_HEADER: Final = 5
"""Words before the first instruction."""

_CHAINS: Final = {Op.AccessChain: 0, Op.InBoundsAccessChain: 0, Op.PtrAccessChain: 1, Op.InBoundsPtrAccessChain: 1}
"""Access chains, and the number of their indices that only move the pointer as a whole."""
_SAME_VALUE: Final = frozenset(
    {
        *(Op.CopyObject, Op.UConvert, Op.SConvert, Op.Bitcast),
        *(Op.PtrCastToGeneric, Op.GenericCastToPtr, Op.GenericCastToPtrExplicit),
    }
)
"""Copies and conversions: the result stands for the operand."""
_LITERALS: Final = frozenset(
    {
        *(Op.Line, Op.NoLine, Op.Variable, Op.LoopMerge, Op.SelectionMerge, Op.Label),
        *(Op.Branch, Op.BranchConditional, Op.Switch),
    }
)
"""Instructions that use no ids of work-items, but have literals that could be taken for them."""
_FUNCTION_POINTERS: Final = frozenset({Op.ConstantFunctionPointerINTEL, Op.FunctionPointerCallINTEL})

_VECTORS: Final = frozenset({BuiltIn.WorkgroupId, BuiltIn.LocalInvocationId, BuiltIn.GlobalInvocationId})
_LINEAR: Final = frozenset(
    {
        *(BuiltIn.LocalInvocationIndex, BuiltIn.GlobalLinearId),
        *(BuiltIn.SubgroupId, BuiltIn.SubgroupLocalInvocationId),
    }
)
"""Ids that are computed from all three dimensions."""

_Instruction = tuple[int, Sequence[int]]


def kernels(module: bytes) -> dict[str, int]:
    """The dimensions that each kernel of a module reads, as masks; none of a module that is cut short."""
    reader = _Reader()
    try:
        reader.read(_instructions(module))
        return {name: reader.reached(entry) for name, entry in reader.kernels.items()}
    except IndexError:
        # Truncated or invalid: the driver reports the error.
        return {}


def _instructions(module: bytes) -> Iterator[_Instruction]:
    words = array("I", module[: len(module) // 4 * 4])
    if len(words) > _HEADER and words[0] != MAGIC:
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
            if opcode == Op.Function:
                self._function(words[2], instructions)
            elif opcode == Op.EntryPoint:
                self.kernels[_text(words[3:])] = words[2]
            elif opcode == Op.Constant:
                self._constants[words[2]] = words[3]
            elif opcode == Op.Decorate and words[2] == Decoration.BuiltIn and words[3] in _VECTORS | _LINEAR:
                # Decorations of a group come before the group's members.
                self._variables[words[1]] = words[3] in _VECTORS
            elif opcode == Op.GroupDecorate and words[1] in self._variables:
                self._variables |= dict.fromkeys(words[2:], self._variables[words[1]])

    def reached(self, entry: int) -> int:
        """The mask of dimensions that a function and all its callees read."""
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
            if opcode == Op.FunctionEnd:
                break
            has_body = has_body or opcode == Op.Label
            if opcode in _LITERALS:
                continue
            if opcode == Op.FunctionCall:
                calls.add(words[3])
            if tracked.isdisjoint(_operands(opcode, words)):
                mask |= ALL if opcode in _FUNCTION_POINTERS else 0
                continue
            result, source = words[2], words[3] if len(words) > 3 else 0
            if opcode == Op.CompositeExtract and source in vectors:
                mask |= 1 << words[4]
            elif opcode == Op.VectorExtractDynamic and source in vectors:
                mask |= self._component(words[4])
            elif opcode == Op.Load and source in components:
                mask |= components[source]
            elif opcode in _CHAINS and source in pointers and len(words) > 4 + _CHAINS[opcode]:
                components[result] = self._component(words[4 + _CHAINS[opcode]])
                tracked.add(result)
            elif (opcode in _SAME_VALUE or opcode in _CHAINS) and source in pointers:
                pointers.add(result)
                tracked.add(result)
            elif (opcode == Op.Load and source in pointers) or (opcode in _SAME_VALUE and source in vectors):
                vectors.add(result)
                tracked.add(result)
            else:
                # Any other use of an id counts as a read of all dimensions.
                mask = ALL
        if has_body:
            self._reads[function], self._calls[function] = mask, calls

    def _component(self, index: int) -> int:
        """The dimension that an index chooses; all of them where it is not known yet."""
        return 1 << min(self._constants[index], 2) if index in self._constants else ALL


def _operands(opcode: int, words: Sequence[int]) -> Sequence[int]:
    """The words of an instruction that may be ids."""
    if opcode in (Op.Load, Op.CompositeExtract):
        return words[3:4]
    if opcode == Op.Store:
        return words[1:3]
    if opcode in (Op.VectorShuffle, Op.CompositeInsert):
        return words[3:5]
    return words[5:] if opcode == Op.ExtInst else words[1:]


def _text(words: Sequence[int]) -> str:
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return data.split(b"\0", 1)[0].decode(errors="replace")
