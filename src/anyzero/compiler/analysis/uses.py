"""What a kernel asks of the place where it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from anyzero.compiler.ir import Body, Variable


@dataclass(slots=True)
class Uses:
    barriers: bool = False
    """Do the work-items of a group wait for each other, or compute together?"""
    sub_groups: bool = False
    printf: bool = False
    local: bool = False
    """Is there local memory, the kernel's own or as an argument?"""
    calls: bool = False
    """Are functions called by their address, or their addresses given away?"""
    builtins: set[str] = field(default_factory=set)
    """The names of the numbers about the grid that are asked for."""


def uses(body: Body) -> Uses:
    found = Uses()
    for op in body.ops:
        match op.name:
            case "barrier":
                found.barriers |= op.info == "group"
                found.sub_groups |= op.info == "sub_group"
            case "group":
                found.barriers |= op.info.scope == "group"
                found.sub_groups |= op.info.scope == "sub_group"
            case "group_copy":
                found.barriers = True
            case "builtin":
                found.builtins.add(op.info[0])
                found.sub_groups |= op.info[0].startswith("sub_group")
            case "printf":
                found.printf = True
            case "local_argument":
                found.local = True
            case "variable":
                found.local |= op.info.space == "local"
                found.calls |= leads_to_functions(op.info)
            case "call" | "function":
                found.calls = True
    return found


def leads_to_functions(variable: Variable) -> bool:
    seen, waiting = {variable}, [variable]
    while waiting:
        each = waiting.pop()
        if each.functions:
            return True
        new = {target for _, target, _ in each.addresses} - seen
        seen |= new
        waiting += new
    return False
