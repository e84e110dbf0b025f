"""Features that a kernel uses: barriers, local memory, addresses of functions, built-in variables of the grid."""

from __future__ import annotations

from anyzero.compiler.ir import Body, Variable
from anyzero.lazy_dataclass import dataclass, field

GROUP_BUILTINS = frozenset({"local_id", "group_id", "group_size", "group_count"})
"""Those of a work-item's place in its group."""


@dataclass(slots=True)
class Uses:
    barriers: bool = False
    """Are there barriers or collective operations of a group?"""
    sub_groups: bool = False
    printf: bool = False
    local: bool = False
    """Is there local memory, the kernel's own or as an argument?"""
    calls: bool = False
    """Are functions called through pointers, or do their addresses escape?"""
    builtins: set[str] = field(default_factory=set)
    """Built-in variables of the grid that the kernel reads."""

    @property
    def together(self) -> bool:
        """Do work-items of a group or sub-group share memory or wait for each other, or may called functions?"""
        return self.barriers or self.local or self.sub_groups or self.calls

    @property
    def flat(self) -> bool:
        """May work-items of different groups share a vector, and groups be cut?"""
        return not self.together and not GROUP_BUILTINS & self.builtins


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
