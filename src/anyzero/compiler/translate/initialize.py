"""Constants written to memory: what variables hold at first, and what is too large to be a value."""

from __future__ import annotations

from anyzero.compiler.globals import constant_bytes
from anyzero.compiler.ir import Access, Op
from anyzero.compiler.ir import Variable as Memory
from anyzero.compiler.spirv.constants import Constant, Undef
from anyzero.compiler.spirv.types import Array, Struct
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.transfer import store


def initialize(f: Scope, address: Op, constant: Constant, access: Access) -> None:
    """Writes a constant to memory. What has many parts is copied from where it lies: no byte of it is anybody's yet."""
    if isinstance(constant, Undef):
        return
    if isinstance(constant.type, (Array, Struct)):
        image = constant_bytes(f.module, constant)
        if image is not None:
            source = f.translator.address(Memory(len(image), constant.type.alignment, "constant", image=image))
            f.b.emit("copy", "", [address, source, f.b.const("i64", len(image))], access)
            return
    store(f, address, f.value(constant.id), constant.type, access)
