"""The table of operations: the facts that passes need to know about each operation of the compiler's own form.

`ir.py` describes the operations. A new one is a row here, a line there, and a handler in each lowering. Passes use a
column (`op.name in PURE`) instead of listing names, so a complete row is enough for all of them. A choice that one pass
makes for some operations, rather than a fact about them, stays with the pass.
"""

from __future__ import annotations

from typing import Literal

from anyzero.lazy_dataclass import dataclass

Uniform = Literal["always", "operands", "never", "asked"]
"""Is the result the same in all lanes? `operands`: where the operands are. `asked`: it depends on `info`."""

Rows = Literal["once", "each", "never"]
"""How code that runs several rows of work-items treats it: once where the operands are the same for all rows; for each
row in any case; `never`: a body with it gets no such code.
"""

Memory = Literal["", "memory", "image", "slot"]

TRAITS = {
    "pure": "has no effect and cannot fail: may be speculated, repeated, moved and removed",
    "effect": "has an effect besides its result",
    "traps": "may fault for some operands",
    "placed": "may have another result at another place, though its operands are the same",
    "orders": "may release writes to other threads, or acquire theirs",
    "collective": "is executed by the work-items of a group or sub-group together",
    "integer": "takes two integers of the result's type",
    "float": "takes two floats of the result's type",
    "division": "divides two integers of the result's type",
    "swaps": "its operands may be swapped",
    "strided": "where operands differ by a constant from lane to lane, the result may as well",
    "mask": "combines masks and conditions to a mask",
    "cheap": "is rematerialised rather than kept in memory across a barrier",
    "long": "becomes many instructions, such as a library function",
}
"""The names in the column `traits`."""


@dataclass(slots=True, frozen=True)
class Operation:
    name: str
    operands: int | None
    """None: their number depends on `info`, on the block or on the types."""
    uniform: Uniform
    rows: Rows
    cost: float
    """The cost for one work-item, in simple instructions; for loads, stores, maths and atomics `info` counts, too."""
    reads: Memory
    writes: Memory
    pointers: int
    """The number of leading operands that are addresses of accessed memory."""
    traits: frozenset[str]


def _op(
    name: str,
    operands: int | None,
    uniform: Uniform,
    rows: Rows,
    cost: float,
    reads: Memory,
    writes: Memory,
    pointers: int,
    traits: str,
) -> Operation:
    return Operation(name, operands, uniform, rows, cost, reads, writes, pointers, frozenset(traits.split()))


# fmt: off
_ROWS = (
    #   name                operands, uniform, rows, cost, reads, writes, pointers, traits
    # Values that the launch or the module gives
    _op("const",            0,    "always",   "once",  1,    "",       "",       0, "pure"),
    _op("undef",            0,    "always",   "once",  0,    "",       "",       0, "pure"),
    _op("argument",         0,    "always",   "once",  0,    "",       "",       0, "pure cheap"),
    _op("argument_address", 0,    "always",   "once",  1,    "",       "",       0, "pure cheap"),
    _op("local_argument",   0,    "always",   "once",  1,    "",       "",       0, "pure cheap"),
    _op("builtin",          0,    "asked",    "once",  0,    "",       "",       0, "pure cheap"),
    _op("variable",         0,    "asked",    "once",  1,    "",       "",       0, "pure cheap"),
    _op("sampler",          0,    "always",   "once",  1,    "",       "",       0, "pure cheap"),
    _op("function",         0,    "always",   "never", 1,    "",       "",       0, "pure"),
    _op("parameter",        0,    "never",    "never", 1,    "",       "",       0, "pure"),
    # Arithmetic
    _op("add",              2,    "operands", "once",  1,    "",       "",       0, "pure strided integer swaps cheap"),
    _op("sub",              2,    "operands", "once",  1,    "",       "",       0, "pure strided integer cheap"),
    _op("mul",              2,    "operands", "once",  1,    "",       "",       0, "pure strided integer swaps cheap"),
    _op("and",              2,    "operands", "once",  1,    "",       "",       0, "pure strided integer swaps cheap"),
    _op("or",               2,    "operands", "once",  1,    "",       "",       0, "pure strided integer swaps cheap"),
    _op("xor",              2,    "operands", "once",  1,    "",       "",       0, "pure strided integer swaps"),
    _op("shl",              2,    "operands", "once",  1,    "",       "",       0, "pure strided integer cheap"),
    _op("lshr",             2,    "operands", "once",  1,    "",       "",       0, "pure strided integer"),
    _op("ashr",             2,    "operands", "once",  1,    "",       "",       0, "pure strided integer"),
    _op("udiv",             2,    "operands", "once",  8,    "",       "",       0, "traps strided division long"),
    _op("sdiv",             2,    "operands", "once",  8,    "",       "",       0, "traps strided division long"),
    _op("urem",             2,    "operands", "once",  8,    "",       "",       0, "traps strided division long"),
    _op("srem",             2,    "operands", "once",  8,    "",       "",       0, "traps strided division long"),
    _op("fadd",             2,    "operands", "once",  1,    "",       "",       0, "pure float"),
    _op("fsub",             2,    "operands", "once",  1,    "",       "",       0, "pure float"),
    _op("fmul",             2,    "operands", "once",  1,    "",       "",       0, "pure float"),
    _op("fdiv",             2,    "operands", "once",  8,    "",       "",       0, "pure float"),
    _op("frem",             2,    "operands", "once",  1,    "",       "",       0, "pure float long"),
    _op("fneg",             1,    "operands", "once",  1,    "",       "",       0, "pure"),
    _op("icmp",             2,    "operands", "once",  1,    "",       "",       0, "pure cheap"),
    _op("fcmp",             2,    "operands", "once",  1,    "",       "",       0, "pure"),
    _op("select",           3,    "operands", "once",  1,    "",       "",       0, "pure strided"),
    _op("cast",             1,    "operands", "once",  0.25, "",       "",       0, "pure strided cheap"),
    _op("intrinsic",        None, "operands", "once",  1,    "",       "",       0, "pure placed"),
    _op("math",             None, "operands", "once",  1,    "",       "",       0, "pure"),
    _op("offset",           2,    "operands", "once",  0.25, "",       "",       0, "pure strided cheap"),
    _op("space_of",         1,    "operands", "never", 1,    "",       "",       0, "pure"),
    _op("part",             1,    "operands", "once",  0,    "",       "",       0, "pure"),
    _op("phi",              None, "operands", "once",  1,    "",       "",       0, "pure placed strided"),
    # Memory
    _op("load",             1,    "operands", "once",  1,    "memory", "",       1, ""),
    _op("store",            None, "operands", "once",  1,    "",       "memory", 1, "effect"),
    _op("copy",             3,    "operands", "never", 1,    "memory", "memory", 2, "effect long"),
    _op("prefetch",         1,    "operands", "once",  1,    "",       "",       1, "effect"),
    _op("resident",         None, "operands", "once",  1,    "",       "",       1, "effect traps"),
    _op("bounds",           0,    "always",   "once",  0,    "",       "",       0, "pure cheap"),
    _op("bounds_of",        1,    "operands", "once",  1,    "",       "",       0, "placed long"),
    _op("check",            2,    "operands", "once",  1,    "",       "",       0, "effect traps"),
    _op("note",             None, "operands", "each",  1,    "",       "",       1, "effect"),
    _op("meet",             0,    "always",   "each",  1,    "",       "",       0, "effect"),
    _op("count",            0,    "always",   "each",  1,    "",       "",       0, "effect"),
    _op("atomic",           None, "never",    "each",  1,    "memory", "memory", 1, "effect orders long"),
    _op("fence",            0,    "always",   "once",  1,    "",       "",       0, "effect orders"),
    # Groups
    _op("barrier",          0,    "always",   "once",  1,    "",       "",       0, "effect orders collective long"),
    _op("group",            None, "asked",    "never", 1,    "memory", "memory", 0, "effect collective long"),
    _op("group_copy",       4,    "operands", "never", 1,    "memory", "memory", 2, "effect collective long"),
    # Images
    _op("image_read",       None, "never",    "each",  1,    "image",  "",       0, "long"),
    _op("image_write",      None, "operands", "each",  1,    "",       "image",  0, "effect long"),
    _op("image_query",      1,    "operands", "once",  1,    "",       "",       0, "pure"),
    _op("handle_query",     1,    "operands", "each",  1,    "",       "",       0, "traps"),
    # The rest
    _op("call",             None, "never",    "never", 1,    "memory", "memory", 0, "effect orders long"),
    _op("result",           None, "operands", "never", 1,    "",       "",       0, "effect"),
    _op("printf",           None, "operands", "never", 1,    "",       "",       0, "effect long"),
    _op("fault",            0,    "operands", "each",  1,    "",       "",       0, "effect traps"),
    # Written by passes after the choice of lanes
    _op("read",             0,    "asked",    "once",  1,    "slot",   "",       0, "placed"),
    _op("write",            1,    "operands", "once",  1,    "",       "slot",   0, "effect"),
    _op("pack",             2,    "never",    "once",  1,    "",       "",       0, "pure"),
    _op("unpack",           1,    "never",    "once",  1,    "",       "",       0, "pure"),
    _op("entry_mask",       0,    "never",    "once",  1,    "",       "",       0, "pure placed cheap"),
    _op("any",              1,    "always",   "once",  1,    "",       "",       0, "pure placed"),
    _op("mask_and",         2,    "operands", "once",  1,    "",       "",       0, "mask"),
    _op("mask_andn",        2,    "operands", "once",  1,    "",       "",       0, "mask"),
    _op("mask_or",          2,    "operands", "once",  1,    "",       "",       0, "mask"),
)
# fmt: on

OPERATIONS = {row.name: row for row in _ROWS}


def having(trait: str) -> frozenset[str]:
    """The names of all operations with this trait."""
    return frozenset(row.name for row in _ROWS if trait in row.traits)


PURE = having("pure")
SAME = PURE - having("placed")
"""Operations that give the same result wherever they stand, from the same operands."""
REMOVABLE = frozenset(OPERATIONS) - having("effect")
"""Operations whose only effect is their result; a volatile load has to stay all the same."""
DIVISIONS = having("division")
INTEGER = having("integer") | DIVISIONS
FLOAT = having("float")
COMMUTATIVE = having("swaps")
OPPOSITE = {"eq": "ne", "ult": "uge", "ugt": "ule", "slt": "sge", "sgt": "sle"}
OPPOSITE |= {b: a for a, b in OPPOSITE.items()}
"""The predicate of a comparison of integers that holds where this one does not."""
SWAPPED = {"eq": "eq", "ne": "ne", "ult": "ugt", "ugt": "ult", "ule": "uge", "uge": "ule"}
SWAPPED |= {"slt": "sgt", "sgt": "slt", "sle": "sge", "sge": "sle"}
"""The predicate of the same comparison with its operands swapped."""
STRIDED = having("strided")
MASKS = having("mask")
LONG = having("long")
CHEAP = having("cheap")
ORDERS = having("orders")
ALWAYS_UNIFORM = frozenset(row.name for row in _ROWS if row.uniform == "always")
NEVER_UNIFORM = frozenset(row.name for row in _ROWS if row.uniform == "never")
READS = frozenset(row.name for row in _ROWS if row.reads == "memory")
WRITES = frozenset(row.name for row in _ROWS if row.writes == "memory")
ADDRESSED = frozenset(row.name for row in _ROWS if row.pointers and (row.reads or row.writes))
"""Accesses of memory by pointers among their operands; their `info` has the address space."""
BLOCK_READS = frozenset({"block_read", "image_block_read"})
BLOCK_WRITES = frozenset({"block_write", "image_block_write"})
"""The kinds of `group` that access memory. The others only exchange values between work-items."""
