"""Reinterpretation of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyzero.language.numbers import Number, VectorValue, raw, wrapped
from anyzero.language.types import Refusal, Vector

__all__ = ["bitcast"]


def bitcast(value: Any, to: Any) -> Any:
    """The same bits as a value of another type of the same size, in a kernel: ``az.bitcast(x, az.u32)``."""
    parts = value.parts if isinstance(value, VectorValue) else [value]
    if not all(isinstance(part, Number) for part in parts):
        raise Refusal("az.bitcast works inside a kernel only")
    bits = np.array([raw(part) for part in parts], parts[0].type.dtype).view(getattr(to, "element", to).dtype)
    return VectorValue(to, bits.tolist()) if isinstance(to, Vector) else wrapped(to, bits[0])
