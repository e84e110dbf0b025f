"""Constant data beside the code, which may hold addresses."""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, Variable
from anyzero.compiler.lower.calls import symbol
from anyzero.compiler.lower.emitter import Emitter


def block(e: Emitter, module: int) -> str:
    """The symbol of a module's variables."""
    name = "az_globals" if module == 0 else f"az_globals.{module}"
    e.globals[name] = f"@{name} = external global i8"
    return name


def constant(e: Emitter, variable: Variable) -> str:
    """The symbol of a constant; writes its definition on first use."""
    name = f"constant.{e.number_of(variable)}"
    if name in e.globals:
        return name
    # Ends the recursion of a constant that refers to itself.
    e.globals[name] = ""
    head = f"@{name} = private unnamed_addr constant"
    e.globals[name] = f"{head} {_contents(e, variable)}, align {max(variable.alignment, 1)}"
    return name


def _contents(e: Emitter, variable: Variable) -> str:
    image = variable.image or bytes(variable.size)
    addresses = _addresses(e, variable)
    if not addresses:
        return bytes_text(image)
    parts, end = [], 0
    for place in sorted(addresses):
        if place > end:
            parts.append(bytes_text(image[end:place]))
        parts.append(f"ptr {addresses[place]}")
        end = place + SIZES["ptr"]
    if end < len(image):
        parts.append(bytes_text(image[end:]))
    kinds = ", ".join("ptr" if part.startswith("ptr ") else part.split(" c", 1)[0] for part in parts)
    return f"<{{ {kinds} }}> <{{ {', '.join(parts)} }}>"


def _addresses(e: Emitter, variable: Variable) -> dict[int, str]:
    found = {}
    for place, function in variable.functions:
        e.functions.add(function)
        found[place] = f"@{symbol(*function)}"
    for place, target, further in variable.addresses:
        if target.space == "global":
            name, by = block(e, target.module), target.offset + further
        else:
            name, by = constant(e, target), further
        found[place] = f"getelementptr (i8, ptr @{name}, i64 {by})"
    return found


def bytes_text(data: bytes) -> str:
    """An array of them as LLVM writes it."""
    return f'[{len(data)} x i8] c"{"".join(f"{chr(92)}{byte:02X}" for byte in data)}"'
