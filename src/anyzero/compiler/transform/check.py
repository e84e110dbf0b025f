"""The verifier of a body. Tests run it after every transformation; a compilation does not."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.dominators import dominators
from anyzero.compiler.folding import FLOATS, width
from anyzero.compiler.ir import PAIR, SIZES, Block, Body, Op
from anyzero.compiler.operations import FLOAT, INTEGER, OPERATIONS


class BrokenBodyError(AssertionError):
    """A transformation left a body that is not well-formed."""


def check(body: Body) -> None:
    """Raises BrokenBodyError where blocks, phis, operands or types do not fit together."""
    for number, block in enumerate(body.blocks):
        _require(block.number == number, f"{block} is listed at position {number}")
        _flow(body, block)
    entry = body.blocks[0]
    _require(not entry.predecessors, "the entry block has a predecessor")
    _require(sum(not block.successors for block in body.blocks) <= 1, "several blocks end the body")
    above = dominators(entry, lambda block: block.successors)
    _require(len(above) + 1 == len(body.blocks), "a block is unreachable")
    _order(body, above)
    _values(body, above)
    for op in body.ops:
        _types(op)
        _require(op.name != "variable" or op.info in body.variables, f"{op} names a variable that is not in the body")


def _require(held: bool, otherwise: str) -> None:
    if not held:
        raise BrokenBodyError(otherwise)


def _flow(body: Body, block: Block) -> None:
    _require(len(block.successors) == (2 if block.condition is not None else min(len(block.successors), 1)), f"{block}")
    _require(len(set(block.successors)) == len(block.successors), f"{block} has a successor twice")
    _require(len(set(block.predecessors)) == len(block.predecessors), f"{block} has a predecessor twice")
    for target in block.successors:
        _require(block in target.predecessors, f"{target} does not list its predecessor {block}")
    for parent in block.predecessors:
        _require(block in parent.successors, f"{parent} does not list its successor {block}")
    for phi in block.phis:
        _require(
            phi.name == "phi" and len(phi.args) == len(block.predecessors), f"{phi} of {block} has {len(phi.args)}"
        )
    for op in block.everything:
        _require(op.block is block, f"{op} is in {block}, but names {op.block}")
    _require(
        all(op.name not in ("phi", "const") for op in block.ops), f"{block} has phis or constants among its operations"
    )
    _require(block.condition is None or block.condition.type == "i1", f"the condition of {block} is not an i1")


def _order(body: Body, above: dict[Block, Block]) -> None:
    for block, dominator in above.items():
        _require(dominator.number < block.number, f"{block} comes before its dominator {dominator}")


def _values(body: Body, above: dict[Block, Block]) -> None:
    """Definitions dominate their uses."""
    place: dict[Op, tuple[Block, int]] = {}
    for block in body.blocks:
        for index, op in enumerate(block.ops):
            _require(op not in place, f"{op} stands twice")
            place[op] = block, index
        for phi in block.phis:
            place[phi] = block, -1
    spans = _spans(body.blocks[0], above)

    def available(op: Op, block: Block, index: int) -> bool:
        if op.name == "const":
            return body.constants.get((op.type, op.info)) is op
        if op not in place:
            return False
        home, at = place[op]
        if home is block:
            return at < index
        begin, end = spans[home]
        return begin <= spans[block][0] < end

    for block in body.blocks:
        for phi in block.phis:
            for arg, parent in zip(phi.args, block.predecessors, strict=True):
                _require(available(arg, parent, 1 << 60), f"{arg} is not available at the end of {parent}")
        for op in block.ops:
            for arg in op.args:
                _require(available(arg, block, place[op][1]), f"{op} in {block} uses {arg}, which does not dominate it")
        if block.condition is not None:
            _require(available(block.condition, block, 1 << 60), f"the condition of {block} is not available there")


def _spans(entry: Block, above: dict[Block, Block]) -> dict[Block, tuple[int, int]]:
    """Preorder numbers of the dominator tree: a block dominates all blocks whose number lies in its span."""
    below: dict[Block, list[Block]] = {entry: []}
    for block in above:
        below[block] = []
    for block, dominator in above.items():
        below[dominator].append(block)
    begin: dict[Block, int] = {}
    spans: dict[Block, tuple[int, int]] = {}
    stack: list[tuple[Block, bool]] = [(entry, False)]
    while stack:
        block, done = stack.pop()
        if done:
            spans[block] = begin[block], len(begin)
        else:
            begin[block] = len(begin)
            stack.append((block, True))
            stack += [(each, False) for each in below[block]]
    return spans


def _types(op: Op) -> None:
    types = [arg.type for arg in op.args]
    count, fits = OPERATIONS[op.name].operands, _FITS.get(op.name)
    if op.name in INTEGER:
        right = types == [op.type, op.type] and op.type[0] == "i"
    elif op.name in FLOAT:
        right = types == [op.type, op.type] and op.type in (*FLOATS, PAIR)
    else:
        right = (count is None or len(types) == count) and (fits is None or fits(op, types))
    _require(right, f"{op} has operands of the types {types}")
    _require(not op.type or op.type in SIZES, f"{op} has an unknown type")
    _require("" not in types, f"{op} uses an operation without a result")


def _cast(op: Op, types: list[str]) -> bool:
    if len(types) != 1 or types[0] == op.type:
        return False
    source, target, kind = types[0], op.type, op.info.partition(".")[0]
    narrower, wider = width(target) < width(source), width(target) > width(source)
    return bool(
        {
            "trunc": source[0] == target[0] == "i" and narrower,
            "zext": source[0] == target[0] == "i" and wider,
            "sext": source[0] == target[0] == "i" and wider,
            "fptrunc": source in FLOATS and target in FLOATS and narrower,
            "fpext": source in FLOATS and target in FLOATS and wider,
            "fptosi": source in FLOATS and target[0] == "i",
            "fptoui": source in FLOATS and target[0] == "i",
            "sitofp": source[0] == "i" and target in FLOATS,
            "uitofp": source[0] == "i" and target in FLOATS,
            "bitcast": "ptr" not in (source, target) and not narrower and not wider,
            "ptrtoint": (source, target) == ("ptr", "i64"),
            "inttoptr": (source, target) == ("i64", "ptr"),
        }[kind]
    )


def _part(op: Op, types: list[str]) -> bool:
    (of,) = op.args
    if of.name in ("load", "group"):
        return bool(op.info < of.info.count > 1 and op.type == of.type)
    if of.name == "call":
        return bool(of.info.results[op.info] == op.type)
    return of.name in ("math", "image_read", "bounds_of")


def _store(op: Op, types: list[str]) -> bool:
    return types[0] == "ptr" and len(set(types[1:])) == 1 and op.info.count == len(types) - 1 and "i1" not in types


_FITS: dict[str, Callable[[Op, list[str]], bool]] = {
    "icmp": lambda op, types: len(types) == 2 and types[0] == types[1] and types[0] not in FLOATS and op.type == "i1",
    "fcmp": lambda op, types: len(types) == 2 and types[0] == types[1] and types[0] in FLOATS and op.type == "i1",
    "fneg": lambda op, types: types == [op.type],
    "select": lambda op, types: types == ["i1", op.type, op.type],
    "cast": _cast,
    "part": _part,
    "phi": lambda op, types: set(types) == {op.type},
    "offset": lambda op, types: types == ["ptr", "i64"] and op.type == "ptr",
    "load": lambda op, types: types == ["ptr"] and op.type not in ("", "i1"),
    "store": _store,
    "copy": lambda op, types: types == ["ptr", "ptr", "i64"],
    "group_copy": lambda op, types: types == ["ptr", "ptr", "i64", "i64"],
    "atomic": lambda op, types: types[0] == "ptr" and (not op.type or set(types[1:]) <= {op.type}),
    "check": lambda op, types: types == ["ptr", "i64"],
    "bounds_of": lambda op, types: types == ["ptr"],
    "space_of": lambda op, types: types == ["ptr"] and op.type == "i32",
    "call": lambda op, types: types == ["ptr", *op.info.parameters],
    "image_write": lambda op, types: len(types) == 1 + op.info.coordinates + 4,
    "image_read": lambda op, types: len(types) == 1 + op.info.sampler + op.info.coordinates + op.info.lod,
    "pack": lambda op, types: types == ["float", "float"] and op.type == PAIR,
    "unpack": lambda op, types: types == [PAIR] and op.type == "float" and op.info in (0, 1),
    "printf": lambda op, types: types[0] == "ptr",
}
