"""Atomic operations on elements of global and local memory. Each returns the value from before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from anyzero.language.builtins.table import ALL, Builtin, Signature
from anyzero.language.numbers import converted
from anyzero.language.types import Refusal

__all__ = [
    "Atomic",
    "atomic_add",
    "atomic_and",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_store",
    "atomic_sub",
    "atomic_xor",
]


class Atomic(Builtin):
    """A builtin on one element: the memory, its index, then the values. Work-items of the simulator run one by one."""

    def __call__(self, *given: Any) -> Any:
        count = len(self.signature.parameters)
        if len(given) != count + 2:
            raise Refusal(f"{self.name} takes the memory, an index and {count} values; {len(given)} were given")
        memory, index, *values = given
        old = memory[index]
        new = self.plain(old, *(converted(value, old.type) for value in values))
        if new is not None:
            memory[index] = new
        return old


def _atomic(name: str, values: int, opcodes: dict[str, str], plain: Callable[..., Any], doc: str) -> Atomic:
    made = Atomic(f"az.{name}", Signature("T" * values), ("atomic", opcodes), plain, doc)
    ALL[made.name] = made
    return made


def _integers(name: str) -> dict[str, str]:
    return {"i": name, "u": name}


def _replaced_if(old: Any, expected: Any, new: Any) -> Any:
    return new if old == expected else old


atomic_add: Final = _atomic(
    "atomic_add", 1, {**_integers("AtomicIAdd"), "f": "AtomicFAddEXT"}, lambda old, x: old + x, "add to the element"
)
atomic_sub: Final = _atomic(
    "atomic_sub", 1, _integers("AtomicISub"), lambda old, x: old - x, "subtract from the element"
)
atomic_min: Final = _atomic(
    "atomic_min", 1, {"i": "AtomicSMin", "u": "AtomicUMin", "f": "AtomicFMinEXT"}, min, "keep the smaller value"
)
atomic_max: Final = _atomic(
    "atomic_max", 1, {"i": "AtomicSMax", "u": "AtomicUMax", "f": "AtomicFMaxEXT"}, max, "keep the greater value"
)
atomic_and: Final = _atomic(
    "atomic_and", 1, _integers("AtomicAnd"), lambda old, x: old & x, "bitwise and with the element"
)
atomic_or: Final = _atomic("atomic_or", 1, _integers("AtomicOr"), lambda old, x: old | x, "bitwise or with the element")
atomic_xor: Final = _atomic(
    "atomic_xor", 1, _integers("AtomicXor"), lambda old, x: old ^ x, "bitwise xor with the element"
)
atomic_exchange: Final = _atomic(
    "atomic_exchange",
    1,
    {**_integers("AtomicExchange"), "f": "AtomicExchange"},
    lambda old, x: x,
    "replace the element",
)
atomic_compare_exchange: Final = _atomic(
    "atomic_compare_exchange", 2, _integers("AtomicCompareExchange"), _replaced_if,
    "replace the element by y if it equals x",
)  # fmt: skip
atomic_load: Final = _atomic(
    "atomic_load", 0, {**_integers("AtomicLoad"), "f": "AtomicLoad"}, lambda old: None, "the element"
)
atomic_store: Final = _atomic(
    "atomic_store", 1, {**_integers("AtomicStore"), "f": "AtomicStore"}, lambda old, x: x, "store to the element"
)
