"""assert: a failed one prints the line and the work-item, and stops the launch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anyzero.language import tree
from anyzero.language.builtins.work_items import global_id, global_linear_id
from anyzero.language.types import I32, I64
from anyzero.language.write.module import Enum, literal
from anyzero.language.write.printing import print_call
from anyzero.layouts.kernel import ASSERTION_ADDRESS

if TYPE_CHECKING:
    from anyzero.language.write.values import Values

__all__ = ["fail"]


def fail(v: Values, file: str, line: int, message: str) -> None:
    """Print the failed condition and its place, then store to an unmapped address: the device is lost there.

    The address tells this project's driver which work-item it was.
    """
    ids = [v.of(tree.Builtin(I64, global_id, [tree.Constant(I32, axis)])) for axis in range(3)]
    where = f"{Path(file).name}:{line}".replace("%", "%%")
    print_call(v, f"{where}: assertion failed in work-item (%ld, %ld, %ld): {message.replace('%', '%%')}\n", ids)
    module = v.b.module
    first, four = v.b.constant(I64, ASSERTION_ADDRESS - (1 << 64)), v.b.constant(I64, 4)
    number = v.of(tree.Builtin(I64, global_linear_id, []))
    address = v.b.emit("IAdd", I64, first, v.b.emit("IMul", I64, number, four))
    nowhere = v.b.emit("ConvertUToPtr", module.pointer("global", module.type(I32)), address)
    v.b.effect("Store", nowhere, v.b.constant(I32, 0), Enum("MemoryAccess", "Volatile|Aligned"), literal(4))
