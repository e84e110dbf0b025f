"""select and bitselect."""

from __future__ import annotations

from anyzero.compiler.builtins.formats import INTEGERS, REALS
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value


@instruction("bitselect", "T", "T", "T", elements=REALS + INTEGERS)
def bitselect(w: Writer, a: Value, b: Value, mask: Value) -> Value:
    if not a.type.is_float:
        return a ^ ((a ^ b) & mask)
    x, y, bits = w.to_bits(a), w.to_bits(b), w.to_bits(mask)
    return w.from_bits(x ^ ((x ^ y) & bits))


@instruction("select", "T", "T", "I", elements=REALS + INTEGERS)
def select(w: Writer, a: Value, b: Value, condition: Value, count: int) -> Value:
    """`b` where the condition holds."""
    return w.select(w.compare("slt" if count > 1 else "ne", condition, 0), b, a)
