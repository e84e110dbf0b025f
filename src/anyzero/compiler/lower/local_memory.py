"""Initial contents of local variables, written once when a group begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from anyzero.compiler.ir import Variable
from anyzero.compiler.llvm import PTR
from anyzero.compiler.lower.constants import bytes_text

if TYPE_CHECKING:
    from anyzero.compiler.lower.entry import Entry
    from anyzero.compiler.lower.regions import Written

MEMSET = "llvm.memset.p0.i64"
MEMCPY = "llvm.memcpy.p0.p0.i64"


def initialized(variables: Iterable[Variable]) -> list[Variable]:
    """Local variables with an initialiser."""
    return [each for each in variables if each.space == "local" and each.image is not None and each.size]


def declare(variables: list[Variable], out: Written) -> None:
    """Constants and intrinsics that `initialize` names."""
    for variable in variables:
        if variable.image:
            out.declarations[MEMCPY] = f"declare void @{MEMCPY}(ptr, ptr, i64, i1)"
            head = f"@{_symbol(variable)} = private unnamed_addr constant"
            out.globals[_symbol(variable)] = f"{head} {bytes_text(variable.image)}, align {max(variable.alignment, 1)}"
        else:
            out.declarations[MEMSET] = f"declare void @{MEMSET}(ptr, i8, i64, i1)"


def initialize(e: Entry, variables: list[Variable]) -> None:
    """Initialises local variables. A group runs on one thread, so no barrier is needed."""
    if not variables:
        return
    local = e.load(e.worker, 0, PTR)
    for variable in variables:
        to = e.at(local, variable.offset).typed
        if variable.image:
            e.b.line(f"call void @{MEMCPY}({to}, ptr @{_symbol(variable)}, i64 {variable.size}, i1 false)")
        else:
            e.b.line(f"call void @{MEMSET}({to}, i8 0, i64 {variable.size}, i1 false)")


def _symbol(variable: Variable) -> str:
    return f"local.{variable.offset}"
