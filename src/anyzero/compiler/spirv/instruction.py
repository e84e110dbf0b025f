"""A decoded instruction: the parts that all instructions share."""

from __future__ import annotations

from functools import lru_cache

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import enumerant_name, opcode_name
from anyzero.compiler.spirv.tables import MemoryAccess as Bits
from anyzero.lazy_dataclass import dataclass


@dataclass(slots=True)
class Instruction:
    """One instruction with raw operands."""

    opcode: int
    type_id: int
    """0 without a result."""
    result_id: int
    operands: tuple[int, ...]
    """Every word after the result, ids and literals."""
    offset: int
    """Index of the instruction's first word in the module."""

    @property
    def name(self) -> str:
        return opcode_name(self.opcode)


@dataclass(slots=True, frozen=True)
class MemoryAccess:
    """Memory operands of a load, store or copy."""

    volatile: bool = False
    nontemporal: bool = False
    alignment: int | None = None
    alias_scopes: int | None = None
    """The id of the list of alias scopes that the access belongs to."""
    no_alias: int | None = None
    """The id of the list of alias scopes that it does not alias with."""


_PLAIN = MemoryAccess()
_KNOWN = (
    Bits.Volatile
    | Bits.Aligned
    | Bits.Nontemporal
    | Bits.NonPrivatePointer
    | Bits.AliasScopeINTELMask
    | Bits.NoAliasINTELMask
)


def memory_access(operands: tuple[int, ...], start: int) -> tuple[MemoryAccess, int]:
    """The optional memory operands at `start`, and the index after them."""
    if start >= len(operands):
        return _PLAIN, start
    access, count = _access(operands[start : start + 4])
    return access, start + count


@lru_cache(maxsize=1024)
def _access(operands: tuple[int, ...]) -> tuple[MemoryAccess, int]:
    mask = operands[0]
    if mask & ~_KNOWN:
        unknown = mask & ~_KNOWN
        raise SpirvError(f"has the memory operand {enumerant_name('MemoryAccess', unknown & -unknown)}")
    place = 1
    values: list[int | None] = []
    for bit in (Bits.Aligned, Bits.AliasScopeINTELMask, Bits.NoAliasINTELMask):
        present = bool(mask & bit)
        if present and place >= len(operands):
            raise SpirvError(f"ends before the value of {enumerant_name('MemoryAccess', bit)}")
        values.append(operands[place] if present else None)
        place += present
    if values[0] is not None and (values[0] & (values[0] - 1) or not values[0]):
        raise SpirvError(f"is aligned to {values[0]}, which is no power of two")
    access = MemoryAccess(bool(mask & Bits.Volatile), bool(mask & Bits.Nontemporal), values[0], values[1], values[2])
    return access, place


def switch_cases(instruction: Instruction, width: int) -> list[tuple[int, int]]:
    """The values and labels of an OpSwitch; `width` is that of the selector."""
    words = instruction.operands[2:]
    step = -(-width // 32) + 1
    if len(words) % step:
        raise SpirvError(f"does not pair values of {width} bits with labels")
    mask = (1 << width) - 1
    if step == 2:
        return [(words[i] & mask, words[i + 1]) for i in range(0, len(words), 2)]
    return [(_whole(words[i : i + step - 1]) & mask, words[i + step - 1]) for i in range(0, len(words), step)]


def _whole(words: tuple[int, ...]) -> int:
    return sum(word << 32 * place for place, word in enumerate(words))
