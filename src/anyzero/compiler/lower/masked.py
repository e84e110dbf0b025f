"""Contiguous vector loads and stores under a mask."""

from __future__ import annotations

from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.emitter import Emitter


def masked_load(e: Emitter, address: Value, type_: Type, mask: Value, alignment: int) -> Value:
    b = e.b
    few = e.fronts.get(mask.text, 0)
    if few:
        part = Type(type_.element, few)
        found = b.load(part, address, align=alignment)
        return b.shuffle(found, None, [lane if lane < few else -1 for lane in range(type_.lanes)])
    name = f"llvm.masked.load.{type_.mangled}.p0"
    b.intrinsics.setdefault(name, f"declare {type_} @{name}(ptr, <{type_.lanes} x i1>, {type_})")
    return b.op(
        "call",
        type_,
        f"{type_} @{name}(ptr align {alignment} %s, {mask.type} %s, {type_} poison)",
        address,
        mask,
        kind="reads",
    )


def masked_store(e: Emitter, value: Value, address: Value, mask: Value, alignment: int) -> None:
    b = e.b
    few = e.fronts.get(mask.text, 0)
    if few:
        b.store(b.shuffle(value, None, range(few)), address, align=alignment)
        return
    name = f"llvm.masked.store.{value.type.mangled}.p0"
    b.intrinsics.setdefault(name, f"declare void @{name}({value.type}, ptr, {mask.type})")
    b.line(f"call void @{name}({value.typed}, ptr align {alignment} {address.text}, {mask.typed})")
