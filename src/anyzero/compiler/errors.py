"""What the compiler refuses, behind the reader and the verifier."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError

__all__ = ["CompileError"]


class CompileError(SpirvError):
    """A kernel that is good SPIR-V and cannot become machine code; `log` holds what else there is to say about it."""

    def __init__(
        self, reason: str, offset: int | None = None, instruction: str = "", where: str = "", log: str = ""
    ) -> None:
        super().__init__(reason, offset, instruction, where)
        self.log = log
