"""`az.math`: the mathematical functions of kernels."""

from __future__ import annotations

from typing import Any

from anyzero.language.builtins.mathematics import MATH

__all__ = ["math"]


class _Functions:
    """The mathematical functions that kernels call, those of Python's math module among them: ``az.math.rsqrt(x)``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return MATH[name]
        except KeyError:
            raise AttributeError(f"az.math has no function {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted(MATH)


math = _Functions()
