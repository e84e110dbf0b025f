"""Errors of the compiler itself; the reader and the verifier have their own."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError

__all__ = ["CompileError"]


class CompileError(SpirvError):
    """A kernel in valid SPIR-V that cannot be compiled; `log` has further messages."""

    def __init__(
        self, reason: str, offset: int | None = None, instruction: str = "", where: str = "", log: str = ""
    ) -> None:
        super().__init__(reason, offset, instruction, where)
        self.log = log
