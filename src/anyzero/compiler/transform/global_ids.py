"""Recognises global ids that are written as `group_id * group_size + local_id`, as programs from CUDA do.

A kernel that uses its groups for nothing else does not depend on them, and runs in blocks of the engine's choice. Its
ids are counted from zero then: the sum does not contain the launch's offset.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uses import GROUP_BUILTINS, Uses, uses
from anyzero.compiler.ir import Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce, needed

Size = tuple[int, int, int]

_FROM_OFFSET = frozenset({"global_id", "global_offset"})


def global_ids(body: Body, found: Uses, size: Size | None) -> Uses | None:
    """Replaces such sums, and products of group size and group count by the global size.

    Nothing changes, and the result is None, unless the kernel is independent of its groups afterwards. `size` is the
    size of all groups, where it is known.
    """
    if found.together or found.flat or _FROM_OFFSET & found.builtins:
        return None
    replacements: dict[Op, Op] = {}
    made: dict[tuple[str, int], Op] = {}
    new: list[Op] = []
    for op in body.ops:
        what = _recognised(op, size)
        if what is None:
            continue
        if what not in made:
            made[what] = Op("builtin", "i64", [], what, word=op.word, block=body.blocks[0])
            new.append(made[what])
        replacements[op] = made[what]
        if op.type == "i32":
            replacements[op] = Op("cast", "i32", [made[what]], "trunc", word=op.word, block=body.blocks[0])
            new.append(replacements[op])
    left = needed(body, replacements)
    if not replacements or any(op.name == "builtin" and op.info[0] in GROUP_BUILTINS for op in left):
        return None
    body.blocks[0].ops[:0] = new
    substitute(body, replacements)
    dce(body)
    return uses(body)


def _recognised(op: Op, size: Size | None) -> tuple[str, int] | None:
    """The builtin that the operation computes."""
    if op.type not in ("i32", "i64"):
        return None
    if op.name == "add":
        for one, other in (op.args, op.args[::-1]):
            found = _builtin(other, "local_id")
            if found is not None and _by_group_size(one, "group_id", size) == found:
                return "global_id", found
    elif op.name in ("mul", "shl"):
        found = _by_group_size(op, "group_count", size)
        if found is not None:
            return "global_size", found
    return None


def _by_group_size(op: Op, name: str, size: Size | None) -> int | None:
    """The dimension, where the operation is the product of this builtin and the group size."""
    if op.name == "mul":
        for one, other in (op.args, op.args[::-1]):
            found = _builtin(one, name)
            if found is not None and (_builtin(other, "group_size") == found or _is_size(other, found, size)):
                return found
        return None
    if op.name == "shl":
        found = _builtin(op.args[0], name)
        power = op.args[1].name == "const" and op.args[1].info < 32
        return (
            found if power and found is not None and size is not None and 1 << op.args[1].info == size[found] else None
        )
    # A product with one.
    found = _builtin(op, name)
    return found if found is not None and size is not None and size[found] == 1 else None


def _is_size(op: Op, dimension: int, size: Size | None) -> bool:
    return op.name == "const" and size is not None and op.info == size[dimension]


def _builtin(op: Op, name: str) -> int | None:
    """The dimension, where the operation is this builtin or its low half.

    Sums and products of low halves are the low halves of sums and products. Local ids and group sizes are small, so
    their low halves may have been widened again.
    """
    if op.name == "cast" and op.info in ("sext", "zext") and name in ("local_id", "group_size"):
        op = op.args[0]
    if op.name == "cast" and op.info == "trunc" and op.type == "i32":
        op = op.args[0]
    return op.info[1] if op.name == "builtin" and op.info[0] == name else None
