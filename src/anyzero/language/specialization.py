"""A kernel for certain types of arguments: its tree, its SPIR-V, and its text."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from anyzero.language.types import Array, Const, Memory, Scalar, Vector

if TYPE_CHECKING:
    from anyzero.api.launches.arguments import Declared
    from anyzero.language import tree
    from anyzero.language.check.scope import Program
    from anyzero.language.kernel import Kernel
    from anyzero.language.write.module import Module

__all__ = ["Specialization"]


class Specialization:
    """A kernel with a type for each parameter. It is compiled on first use."""

    def __init__(self, kernel: Kernel, types: dict[str, Any]) -> None:
        self.kernel = kernel
        self.types = types
        self.passed = [name for name, t in types.items() if not isinstance(t, Memory)]
        self.expands = any(isinstance(t, Array | Const) for t in types.values())

    @cached_property
    def _checked(self) -> tuple[tree.Function, Program]:
        from anyzero.language.check.functions import checked_kernel

        return checked_kernel(self.kernel.source, self.types)

    @property
    def tree(self) -> tree.Function:
        """The typed tree."""
        return self._checked[0]

    @property
    def synchronizes(self) -> bool:
        """Whether there is a barrier for the work-items of a group."""
        return self._checked[1].synchronizes

    @cached_property
    def _module(self) -> Module:
        from anyzero.language.write.kernel import written

        return written(self.tree, self.kernel.group, self.kernel.contract)

    @cached_property
    def spirv(self) -> bytes:
        """The module as SPIR-V, of an earlier run where there was one."""
        from anyzero.language import spirv_cache

        key = spirv_cache.key(self)
        found = spirv_cache.load(key) if key else None
        if found is not None:
            return found
        made = self._module.binary()
        if key:
            spirv_cache.store(key, made)
        return made

    @property
    def spvasm(self) -> str:
        """The module as text, one instruction per line."""
        return self._module.text()

    @property
    def declared(self) -> list[Declared]:
        """The arguments of a launch as SPIR-V has them: without constants, and with the sizes of arrays."""
        found: list[Declared] = []
        for name in self.passed:
            t = self.types[name]
            if isinstance(t, Const):
                continue
            number = t.element if isinstance(t, Vector) else t
            whole = isinstance(number, Scalar) and number.kind in "biu"
            found.append((name, repr(t), *((number.low, number.high) if whole else (None, None))))
            if isinstance(t, Array):
                found += [(f"{name}.shape", "az.i64", None, None)] * (2 * t.ndim - 1)
        return found

    @property
    def signature(self) -> str:
        """The name of the kernel with the types of its parameters."""
        return f"{self.kernel.source.name}({', '.join(f'{name}: {self.types[name]}' for name in self.passed)})"

    def __repr__(self) -> str:
        return f"<kernel {self.signature}>"
