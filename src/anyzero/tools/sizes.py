"""Numbers of bytes for people."""

from __future__ import annotations

__all__ = ["size"]


def size(nbytes: int) -> str:
    """A number of bytes for people.

    >>> size(1536), size(3 << 30)
    ('1.5 KiB', '3.0 GiB')
    """
    amount = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{nbytes} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
