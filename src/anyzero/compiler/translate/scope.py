"""The context of an instruction: values, types, decorations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.builder import Builder
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Op, Space
from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.decorations import Decoration
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.spirv.tables import Decoration as Kind
from anyzero.compiler.spirv.tables import FPFastMathMode, StorageClass
from anyzero.compiler.spirv.types import Pointer, Type
from anyzero.compiler.translate.trees import Tree, bounded, build

if TYPE_CHECKING:
    from anyzero.compiler.translate.translator import Translator

SPACES: dict[int, Space] = {
    StorageClass.UniformConstant: "constant",
    StorageClass.Workgroup: "local",
    StorageClass.CrossWorkgroup: "global",
    StorageClass.DeviceOnlyINTEL: "global",
    StorageClass.HostOnlyINTEL: "global",
    StorageClass.Private: "private",
    StorageClass.Function: "private",
    StorageClass.Input: "private",
    StorageClass.CodeSectionINTEL: "code",
}
"""All others are generic."""

_FAST = {
    FPFastMathMode.NotNaN: "nnan",
    FPFastMathMode.NotInf: "ninf",
    FPFastMathMode.NSZ: "nsz",
    FPFastMathMode.AllowRecip: "arcp",
    FPFastMathMode.AllowContract: "contract",
    FPFastMathMode.AllowReassoc: "reassoc",
}


class Scope:
    """A module's declarations, for operations on constants; a frame adds a function's values."""

    def __init__(self, translator: Translator, index: int) -> None:
        self.translator = translator
        self.b: Builder = translator.b
        self.index = index
        """Index of the module in the translator."""
        self.module: Module = translator.modules[index]
        self.values: dict[int, Tree] = {}
        self.types: dict[int, Type] = self.module.values
        """Types of values, by id."""

    def value(self, id_: int) -> Tree:
        found = self.values.get(id_)
        if found is None:
            found = self.values[id_] = self.translator.outside(self.index, id_)
        return found

    def scalar(self, id_: int) -> Op:
        found = self.value(id_)
        assert isinstance(found, Op)
        return found

    def components(self, id_: int) -> tuple[Op, ...]:
        """The components of a number or a vector."""
        found = self.value(id_)
        return (found,) if isinstance(found, Op) else found  # type: ignore[return-value]

    def type(self, id_: int) -> Type:
        found = self.types.get(id_)
        return found if found is not None else self.module.values[id_]

    def pointer(self, id_: int) -> Pointer:
        type_ = self.type(id_)
        assert isinstance(type_, Pointer)
        return type_

    def space(self, id_: int) -> Space:
        return SPACES.get(self.pointer(id_).storage_class, "generic")

    def integer(self, id_: int) -> int:
        """The value of an operand that must be constant, such as a scope."""
        constant = self.module.constants.get(id_)
        if not isinstance(constant, Scalar):
            raise CompileError(f"%{id_} is not a constant integer")
        return constant.bits

    def undefined(self, type_: Type) -> Tree:
        bounded(type_)
        return build(type_, self.translator.undef)

    def decorations(self, id_: int) -> list[Decoration] | None:
        return self.module.decorations.of.get(id_)

    def wrap_flags(self, id_: int) -> str:
        """The nsw and nuw flags of an integer operation."""
        decorations = self.module.decorations.of.get(id_)
        if decorations is None:
            return ""
        kinds = {decoration.kind for decoration in decorations}
        return " ".join(
            flag for kind, flag in ((Kind.NoSignedWrap, "nsw"), (Kind.NoUnsignedWrap, "nuw")) if kind in kinds
        )

    def float_flags(self, id_: int, contract: bool = False) -> str:
        """The fast-math flags of an operation; `contract` is for operations that can be fused."""
        contract = contract and self.translator.contraction
        decorations = self.module.decorations.of.get(id_)
        if decorations is None:
            return "contract" if contract else ""
        flags = []
        for decoration in decorations:
            if decoration.kind == Kind.FPFastMathMode:
                flags = fast_math(decoration.operands[0])
            elif decoration.kind == Kind.NoContraction:
                contract = False
        if contract and "contract" not in flags and "fast" not in flags:
            flags.append("contract")
        return " ".join(flags)


def fast_math(mask: int) -> list[str]:
    if mask & FPFastMathMode.Fast:
        return ["fast"]
    return [flag for bit, flag in _FAST.items() if mask & bit]
