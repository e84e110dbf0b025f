"""A body as text."""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.ir import Body, Op, Variable


def show(body: Body) -> str:
    """Every operation on a line, values numbered in order."""
    return "\n".join(_lines(body)) + "\n"


def _lines(body: Body) -> Iterator[str]:
    names: dict[Op, str] = {}
    for op in body.ops:
        names[op] = f"%{len(names)}"
    variables = {variable: f"{variable.name or 'variable'}.{place}" for place, variable in enumerate(body.variables)}

    def value(op: Op) -> str:
        return f"{op.type} {op.info:#x}" if op.name == "const" else names.get(op, f"?{op!r}")

    def info(op: Op) -> str:
        if isinstance(op.info, Variable):
            return " " + variables.get(op.info, "?")
        return "" if op.info is None else f" {_short(op.info)}"

    yield f"body {body.name}"
    for variable, name in variables.items():
        yield f"  {name}: {_short(variable)}"
    for block in body.blocks:
        before = ", ".join(str(parent.number) for parent in block.predecessors)
        yield f"block {block.number}:" + (f"  from {before}" if before else "")
        for op in block.everything:
            result = f"{names[op]} = {op.type} " if op.type else ""
            flags = f" {op.flags}" if op.flags else ""
            args = ", ".join(map(value, op.args))
            yield f"  {result}{op.name}{flags}({args}){info(op)}"
        targets = [str(target.number) for target in block.successors]
        if block.condition is not None:
            yield f"  if {value(block.condition)} then {targets[0]} else {targets[1]}"
        else:
            yield f"  goto {targets[0]}" if targets else "  end"


def _short(info: object) -> str:
    """The properties that differ from the default."""
    from dataclasses import fields, is_dataclass  # which takes longer to import than all that a compilation needs of it

    if not is_dataclass(info) or isinstance(info, type):
        return str(info)
    said = []
    for each in fields(info):
        value = getattr(info, each.name)
        if value != each.default and value not in ("", None):
            said.append(f"{each.name}={len(value)} bytes" if isinstance(value, bytes) else f"{each.name}={value}")
    return "[" + " ".join(said) + "]"
