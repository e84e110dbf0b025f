"""The dominator tree of LLVM's code, as far as it is written.

Each node has skip links of growing length, so that a search far up a deep tree takes few steps.
"""

from __future__ import annotations

__all__ = ["Scope", "common"]


class Scope:
    """A block; `above` dominates it immediately."""

    __slots__ = ("above", "depth", "far")

    def __init__(self, above: Scope | None = None) -> None:
        self.above = above
        self.depth = 0
        self.far: Scope = self
        """A skip link; their lengths are such that any height takes a logarithmic number of steps."""
        if above is not None:
            self.depth = above.depth + 1
            far = above.far
            self.far = far.far if above.depth - far.depth == far.depth - far.far.depth else above

    def at(self, depth: int) -> Scope:
        """Itself, or its ancestor at a smaller depth."""
        scope = self
        while scope.depth > depth:
            assert scope.above is not None
            scope = scope.far if scope.far.depth >= depth else scope.above
        return scope

    def inside(self, other: Scope) -> bool:
        """Does the other one dominate it?"""
        return self.depth >= other.depth and self.at(other.depth) is other


def common(one: Scope | None, other: Scope | None) -> Scope | None:
    """The nearest common dominator."""
    if one is None or other is None:
        return None
    one, other = one.at(other.depth), other.at(one.depth)
    while one is not other:
        if one.above is None or other.above is None:
            return None
        one, other = (one.far, other.far) if one.far is not other.far else (one.above, other.above)
    return one
