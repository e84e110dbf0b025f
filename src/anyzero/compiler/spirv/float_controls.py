"""Rounding and denormal modes per float width, from execution modes of kernels and decorations of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.spirv.tables import Decoration, FPDenormMode, FPRoundingMode
from anyzero.compiler.spirv.tables import ExecutionMode as Mode
from anyzero.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from anyzero.compiler.spirv.module import Module

_ROUNDING = {
    Mode.RoundingModeRTE: FPRoundingMode.RTE,
    Mode.RoundingModeRTZ: FPRoundingMode.RTZ,
    Mode.RoundingModeRTPINTEL: FPRoundingMode.RTP,
    Mode.RoundingModeRTNINTEL: FPRoundingMode.RTN,
}
_DENORMALS = {Mode.DenormPreserve: FPDenormMode.Preserve, Mode.DenormFlushToZero: FPDenormMode.FlushToZero}


@dataclass(frozen=True, slots=True)
class FloatControls:
    """Deviations from the default: round to nearest even, preserve denormals."""

    rounding: frozenset[tuple[int, int]] = frozenset()
    """Pairs of a width and its FPRoundingMode."""
    flushed: frozenset[int] = frozenset()
    """Widths whose denormal operands and results are flushed to zero."""

    def direction(self, width: int) -> int:
        return next((mode for each, mode in self.rounding if each == width), FPRoundingMode.RTE)

    def with_mode(self, mode: int, operands: tuple[int, ...]) -> FloatControls:
        """The controls after an execution mode; modes of other kinds change nothing."""
        if mode in _ROUNDING:
            return self.rounded(operands[0], _ROUNDING[mode])
        return self.denormals(operands[0], _DENORMALS[mode]) if mode in _DENORMALS else self

    def within(self, module: Module, function: int) -> FloatControls:
        """The controls inside a function, which may have its own."""
        found = self
        for words in module.decorations.all(function, Decoration.FunctionRoundingModeINTEL):
            found = found.rounded(words[0], words[1])
        for words in module.decorations.all(function, Decoration.FunctionDenormModeINTEL):
            found = found.denormals(words[0], words[1])
        return found

    def rounded(self, width: int, mode: int) -> FloatControls:
        others = {pair for pair in self.rounding if pair[0] != width}
        known = {(width, mode)} if mode in (FPRoundingMode.RTZ, FPRoundingMode.RTP, FPRoundingMode.RTN) else set()
        return FloatControls(frozenset(others | known), self.flushed)

    def denormals(self, width: int, mode: int) -> FloatControls:
        flush = mode == FPDenormMode.FlushToZero
        return FloatControls(self.rounding, self.flushed | {width} if flush else self.flushed - {width})


USUAL = FloatControls()
