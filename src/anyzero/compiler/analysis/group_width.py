"""How many work-items the rows of a group have, as far as a kernel tells, and how many lanes suit them.

Vectors run along rows, so a row that is shorter than a vector leaves lanes idle, and one vector for the whole row needs
no loop over it, fills whole lines of memory and reads a tile in local memory once for more work-items.
"""

from __future__ import annotations

from anyzero.compiler.analysis.cost import mostly_wide
from anyzero.compiler.analysis.shapes import Shapes
from anyzero.compiler.ir import Body
from anyzero.compiler.spirv.kernel import Kernel

FEW = 100
"""Operations of a kernel whose vectors may take four registers."""
SEVERAL = 250
"""And two."""


def group_width(body: Body, kernel: Kernel) -> int | None:
    """Required or hinted at, or the longest power of two in a row of the tiles in local memory, which often have a
    column of padding or a border beside the group's own.
    """
    size = kernel.required_group_size or kernel.group_size_hint
    if size is not None:
        return size[0]
    used = {op.info for op in body.ops if op.name == "variable"}
    rows = [variable.row for variable in used if variable.space == "local" and variable.row > 1]
    return 1 << (min(rows).bit_length() - 1) if rows else None


def suited(width: int, lanes: int, most: int) -> int:
    """As many lanes as a row has, up to `most`, or a part of that; `lanes` where no number divides it.

    >>> [suited(width, 8, 32) for width in (4, 8, 12, 16, 24, 32, 64, 100)]
    [4, 8, 8, 16, 8, 32, 32, 8]
    """
    if width < lanes:
        return 1 << (width - 1).bit_length()
    while most > lanes and width % most:
        most //= 2
    return most


def most_lanes(body: Body, shapes: Shapes, lanes: int, whole: bool) -> int:
    """So that what a vector keeps finds room in registers. `whole` says that `lanes` floats fill one of them: a target
    without AVX2 has half of that.
    """
    count = sum(len(block.ops) for block in body.blocks)
    registers = 4 if count <= FEW else 2 if count <= SEVERAL else 1
    halvings = mostly_wide(body, shapes) + (not whole)
    return lanes * max(1, registers >> halvings)
