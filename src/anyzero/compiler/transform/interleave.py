"""Interleaves private arrays: the same element of all lanes is contiguous.

Then a load at a uniform index is a vector load, where separate arrays would need a gather. It is possible where the
array is accessed only by loads and stores of elements of one size, and its address does not escape. An initializer is
stored element by element.
"""

from __future__ import annotations

from anyzero.compiler.analysis.known_bits import low_zeros
from anyzero.compiler.ir import SIZES, Access, Body, Op, Variable
from anyzero.lazy_dataclass import replace
from anyzero.lazy_namedtuple import NamedTuple

INITIAL = 64
"""The most elements of an initializer."""


def interleave(body: Body, lanes: int) -> None:
    if lanes == 1:
        return
    users: dict[Op, list[Op]] = {}
    for op in body.ops:
        for arg in op.args:
            users.setdefault(arg, []).append(op)
    addresses: dict[Variable, list[Op]] = {}
    for op in body.ops:
        if op.name == "variable" and op.info.space == "private" and not op.info.element:
            addresses.setdefault(op.info, []).append(op)
    rewritten = _Rewritten({}, {})
    for variable, ops in addresses.items():
        found = _reached(ops, users)
        size = _element(found) if found is not None else 0
        if found is not None and size and variable.size % size == 0:
            variable.element = size
            _rewrite(body, found, users, size, lanes, rewritten)
            copies = (op for op in found if op.name == "copy")
            rewritten.instead.update((op, _initialized(body, op, size, lanes)) for op in copies)
    if rewritten.instead:
        rewritten.apply(body)


def _reached(addresses: list[Op], users: dict[Op, list[Op]]) -> list[Op] | None:
    """Offsets, loads and stores that use an address; None where it has other uses."""
    found: list[Op] = []
    waiting, seen = list(addresses), set(addresses)
    while waiting:
        address = waiting.pop()
        for user in users.get(address, ()):
            if user.name == "offset" and user.args[0] is address and user.args[1] is not address:
                if user not in seen:
                    seen.add(user)
                    waiting.append(user)
                    found.append(user)
            elif user.name == "load" or (user.args[0] is address and _fills(user, address)):
                found.append(user)
            else:
                return None
    return found


def _fills(op: Op, address: Op) -> bool:
    return (op.name == "store" and address not in op.args[1:]) or (op.name == "copy" and _initializes(op))


def _initializes(copy: Op) -> bool:
    """Does it copy numbers from a constant?"""
    _, source, size = copy.args
    if source.name != "variable" or size.name != "const":
        return False
    constant: Variable = source.info
    plain = constant.space == "constant" and not constant.functions and not constant.addresses
    return plain and constant.image is not None and len(constant.image) >= size.info


def _element(found: list[Op]) -> int:
    """The common size of the elements, if no offset points into the middle of one; else 0."""
    accesses = [op for op in found if op.name in ("load", "store")]
    sizes = {SIZES[op.type if op.name == "load" else op.args[1].type] for op in accesses}
    if len(sizes) != 1 or any(op.name != "offset" and op.info.volatile for op in found):
        return 0
    size = sizes.pop()
    copied = [int(op.args[2].info) for op in found if op.name == "copy"]
    if any(each % size or each > INITIAL * size for each in copied):
        return 0
    whole = all(1 << low_zeros(op.args[1]) >= size for op in found if op.name == "offset")
    return size if whole else 0


class _Rewritten(NamedTuple):
    """Changes of all arrays, which are made in one walk over the body."""

    instead: dict[Op, list[Op]]
    """The operations that take the place of one."""
    parts: dict[Op, Op]
    """The loads that take the place of a vector load's parts."""

    def apply(self, body: Body) -> None:
        for block in body.blocks:
            block.ops = [each for op in block.ops if op not in self.parts for each in self.instead.get(op, (op,))]
            for op in block.everything if self.parts else ():
                op.args = [self.parts.get(arg, arg) for arg in op.args]
            if block.condition is not None:
                block.condition = self.parts.get(block.condition, block.condition)


def _rewrite(
    body: Body, found: list[Op], users: dict[Op, list[Op]], size: int, lanes: int, rewritten: _Rewritten
) -> None:
    """Scales offsets by the number of lanes: that many elements lie between two of a lane."""
    factor = body.const("i64", lanes)
    for op in found:
        assert op.block is not None
        if op.name == "offset":
            by = op.args[1]
            if by.name == "const":
                op.args[1] = body.const("i64", by.info * lanes)
            else:
                wide = Op("mul", "i64", [by, factor], block=op.block)
                rewritten.instead[op] = [wide, op]
                op.args[1] = wide
        elif op.name != "copy" and op.info.count > 1:
            made, singles = _single(body, op, size, lanes)
            rewritten.instead[op] = made
            if op.name == "load":
                rewritten.parts.update((part, singles[part.info]) for part in users.get(op, ()) if part.name == "part")


def _initialized(body: Body, copy: Op, size: int, lanes: int) -> list[Op]:
    """Stores of the elements of a constant, one by one."""
    block, to = copy.block, copy.args[0]
    image: bytes = copy.args[1].info.image
    made: list[Op] = []
    for place in range(0, int(copy.args[2].info), size):
        address = to
        if place:
            address = Op("offset", "ptr", [to, body.const("i64", place * lanes)], block=block)
            made.append(address)
        number = body.const(f"i{8 * size}", int.from_bytes(image[place : place + size], "little"))
        access = Access(alignment=size, space="private")
        made.append(Op("store", copy.type, [address, number], access, word=copy.word, block=block))
    return made


def _single(body: Body, op: Op, size: int, lanes: int) -> tuple[list[Op], list[Op]]:
    """Splits a vector access, whose components are no longer contiguous: all operations, and those of components."""
    block = op.block
    access = replace(op.info, count=1, alignment=size)
    made: list[Op] = []
    singles: list[Op] = []
    for index in range(op.info.count):
        address = op.args[0]
        if index:
            far = body.const("i64", index * size * lanes)
            address = Op("offset", "ptr", [op.args[0], far], block=block)
            made.append(address)
        values = [op.args[1 + index]] if op.name == "store" else []
        single = Op(op.name, op.type, [address, *values], access, word=op.word, block=block)
        made.append(single)
        singles.append(single)
    return made, singles
