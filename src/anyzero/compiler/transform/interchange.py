"""Interchange of dimensions: the work-items of a vector are neighbours along another dimension than the first one.

Programs in Python and C often number rows first, `a[i * n + j]` with `i = global_id(0)`. Lanes along the first
dimension are then whole rows apart. The engine exchanges the sizes of such a launch as well.
"""

from __future__ import annotations

from anyzero.compiler.ir import Body

BY_DIMENSION = frozenset({"global_id", "global_size", "global_offset"})
"""The builtins with a dimension that kernels without groups have."""


def interchange(body: Body, dimension: int) -> None:
    """Exchanges the dimension with the first one; once more, and they are as before."""
    places = {0: dimension, dimension: 0}
    for op in body.ops:
        if op.name == "builtin" and op.info[0] in BY_DIMENSION:
            name, place = op.info
            op.info = (name, places.get(place, place))
