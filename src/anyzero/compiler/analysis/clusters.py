"""Clusters: sub-groups whose lanes exchange values only within an aligned part, such as the halves of 16 lanes.

Such a sub-group may run as several shorter vectors, one after the other. Kernels for GPUs are written so where a
hardware thread has 8 lanes and the compiler for it put two threads into a sub-group. A vector of 8 is a row of a group
that is 8 wide, so that its work-items read neighbours; a vector of 16 would be two rows, which is a gather.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.ir import SIZES, Body, Op

__all__ = ["closed", "place_of"]

_KNOWN = {"sub_group_local_id", "sub_group_id", "sub_group_count", "sub_group_max_size"}


def closed(body: Body, width: int, free: bool = False) -> bool:
    """Does every lane exchange values only with lanes of its own cluster of `width` lanes? `width` is a power of two.

    `free` says that sub-groups may be of any size. Then a kernel that names its lanes, all of them below `width`, was
    written for sub-groups of that size.
    """
    return all(_closed(op, width, free) for op in body.ops)


def _closed(op: Op, width: int, free: bool) -> bool:
    match op.name:
        case "barrier":
            return bool(op.info == "group")
        case "builtin":
            return not op.info[0].startswith("sub_group") or op.info[0] in _KNOWN
        case "group":
            if op.info.scope != "sub_group" or op.info.cluster:
                return False
            by = op.args[-1]
            if op.info.kind == "shuffle":
                place = int(by.info) if free and by.name == "const" else place_of(by, width)
                return place is not None and 0 <= place < width
            return op.info.kind == "shuffle_xor" and by.name == "const" and int(by.info) < width
        case "call" | "function" | "group_copy" | "printf":
            return False
        case _:
            return True


def place_of(op: Op, width: int, depth: int = 8) -> int | None:
    """A lane's number relative to the first lane of its cluster; None if unknown."""
    if depth == 0:
        return None
    if op.name == "cast" and op.info in ("trunc", "zext", "sext") and SIZES[op.type] >= 4:
        return place_of(op.args[0], width, depth - 1)
    if op.name in ("add", "or") and op.args[1].name == "const":
        first, more = place_of(op.args[0], width, depth - 1), int(op.args[1].info)
        return None if first is None or more >= width or (op.name == "or" and first & more) else first + more
    return 0 if _rounded_down(op, width) else None


def _rounded_down(op: Op, width: int) -> bool:
    """Is it the number of the first lane of the cluster: `lane / width * width`, `lane & -width` or
    `lane - lane % width`?
    """
    bits = width.bit_length() - 1
    if (op.name == "mul" and _is(op.args[1], [width])) or (op.name == "shl" and _is(op.args[1], [bits])):
        number = op.args[0]
        shifted = number.name in ("lshr", "ashr") and _is(number.args[1], [bits])
        divided = number.name in ("sdiv", "udiv") and _is(number.args[1], [width])
        return (shifted or divided) and _lane(number.args[0])
    if op.name == "and":
        every = (1 << 8 * SIZES[op.type]) - width
        return _is(op.args[1], [every]) and _lane(op.args[0])
    if op.name == "sub" and _lane(op.args[0]):
        rest = op.args[1]
        cut = rest.name == "and" and _is(rest.args[1], [width - 1])
        divided = rest.name in ("urem", "srem") and _is(rest.args[1], [width])
        return (cut or divided) and _lane(rest.args[0])
    return False


def _is(op: Op, numbers: Iterable[int]) -> bool:
    return op.name == "const" and op.info in numbers


def _lane(op: Op) -> bool:
    while op.name == "cast" and op.info in ("trunc", "zext", "sext") and SIZES[op.type] >= 4:
        op = op.args[0]
    return op.name == "builtin" and bool(op.info[0] == "sub_group_local_id")
