"""Group width: the work-items of a group's row, as far as the kernel implies it, and the vector length that suits it.

Vectors run along rows. A row that is shorter than a vector leaves lanes idle; one vector for the whole row needs no
loop over it, fills whole cache lines and reads a tile in local memory once for more work-items.
"""

from __future__ import annotations

from anyzero.compiler.analysis.cost import mostly_wide
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Body
from anyzero.compiler.spirv.kernel import Kernel

FEW = 100
"""Operations of a kernel whose vectors may take four registers."""
SEVERAL = 250
"""The same for two registers."""


def likely_group(body: Body) -> tuple[int, int, int] | None:
    """The group size estimated from the arrays in local memory. In a kernel of two dimensions an array has a row for
    each row of the group, and often a column of padding or a border; in other kernels it has an element for each
    work-item.
    """
    used = {op.info for op in body.ops if op.name == "variable" and op.info.space == "local"}
    if any(op.name == "builtin" and op.info[0] in ("local_id", "global_id") and op.info[1] for op in body.ops):
        tiles = [variable.extents[-2:] for variable in used if len(variable.extents) > 1]
        return (_power(min(x for _, x in tiles)), _power(min(y for y, _ in tiles)), 1) if tiles else None
    lengths = [variable.extents[0] for variable in used if len(variable.extents) == 1]
    return (_power(max(lengths)), 1, 1) if lengths else None


def _power(number: int) -> int:
    """The largest power of two that is not larger.

    >>> [_power(number) for number in (1, 16, 17, 34)]
    [1, 16, 16, 32]
    """
    return 1 << (max(number, 1).bit_length() - 1)


def group_width(body: Body, kernel: Kernel) -> int | None:
    """The width that is required, hinted at, or likely. Likely sizes count in two dimensions only: in one dimension, a
    short array need not have an element for each work-item.
    """
    size = kernel.required_group_size or kernel.group_size_hint or likely_group(body)
    if size is None or (size[1] == 1 and not kernel.required_group_size and not kernel.group_size_hint):
        return None
    return size[0] if size[0] > 1 or kernel.required_group_size else None


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
    """The longest vector whose values fit into registers. `whole` says that `lanes` floats fill one register: without
    AVX2 they fill two.
    """
    count = sum(len(block.ops) for block in body.blocks)
    registers = 4 if count <= FEW else 2 if count <= SEVERAL else 1
    halvings = mostly_wide(body, shapes) + (not whole)
    return lanes * max(1, registers >> halvings)
