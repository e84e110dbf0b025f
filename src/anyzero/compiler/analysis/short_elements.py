"""Do work-items access a byte or a short each, beside those of neighbours? Rows of a block are then little memory,
and the work for each row counts.
"""

from __future__ import annotations

from anyzero.compiler.analysis.speculative_stride import speculative_stride
from anyzero.compiler.analysis.uniformity import Flow, analyse
from anyzero.compiler.ir import SIZES, Body

__all__ = ["short_elements"]

MOST = 2
"""Bytes of a work-item."""
NEAR = 4
"""Elements from lane to lane."""
_SPACES = ("global", "constant", "generic")


def short_elements(body: Body, flow: Flow, lanes: int) -> bool:
    """Accesses at places that are the same for all lanes do not count."""
    accesses = [op for op in body.ops if op.name in ("load", "store") and op.info.space in _SPACES]
    sizes = {op: SIZES[op.type or op.args[1].type] * op.info.count for op in accesses}
    if min(sizes.values(), default=MOST + 1) > MOST:
        return False
    shapes = analyse(body, flow, lanes, flat=True)
    strides = {op: speculative_stride(op.args[0], shapes) for op in accesses}
    apart = [(sizes[op], stride) for op, stride in strides.items() if stride != 0]
    return bool(apart) and all(
        size <= MOST and stride is not None and abs(stride) <= NEAR * size for size, stride in apart
    )
