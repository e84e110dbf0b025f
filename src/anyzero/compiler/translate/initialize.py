"""Constants stored to memory: initializers of variables, and constants too large for a value."""

from __future__ import annotations

from anyzero.compiler.globals import constant_bytes
from anyzero.compiler.ir import Access, Op
from anyzero.compiler.ir import Variable as Memory
from anyzero.compiler.spirv.constants import Constant, Undef
from anyzero.compiler.spirv.types import Array, Struct
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.transfer import store


def initialize(f: Scope, address: Op, constant: Constant, access: Access) -> None:
    """Stores a constant. A large one is copied with its padding, since the target has no contents yet."""
    if isinstance(constant, Undef):
        return
    if isinstance(constant.type, (Array, Struct)):
        image = constant_bytes(f.module, constant)
        if image is not None:
            source = f.translator.address(Memory(len(image), constant.type.alignment, "constant", image=image))
            f.b.emit("copy", "", [address, source, f.b.const("i64", len(image))], access)
            return
    store(f, address, f.value(constant.id), constant.type, access)
