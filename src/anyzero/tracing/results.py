"""Result codes by their names."""

from __future__ import annotations

from functools import cache

from anyzero import ze

__all__ = ["result_name"]


@cache
def result_name(code: int) -> str:
    """The specification's name without its prefix.

    >>> result_name(0)
    'SUCCESS'
    """
    for name in dir(ze):
        if name.startswith("ZE_RESULT_") and getattr(ze, name) == code:
            return name.removeprefix("ZE_RESULT_").removeprefix("ERROR_")
    return hex(code)
