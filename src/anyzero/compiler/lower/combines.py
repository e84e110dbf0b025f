"""Writes the reduction of a collective's shares, once for a group when all its vectors have reached the barrier."""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import SIZES, Combine, Masks
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.emitter import Choices, Emitter, Frame
from anyzero.compiler.lower.entry import Entry
from anyzero.compiler.lower.groups import combine, identity
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.regions import Storage, Written
from anyzero.lazy_dataclass import replace


def write_combine(
    name: str, what: Combine, storage: Storage, state: int, per_vector: int, choices: Choices, out: Written
) -> None:
    """`state` bytes come first in a vector's memory."""
    e = Entry(name, choices, LaunchInvariants(), False)
    b = e.b
    # The loads of the grid that an entry begins with are dead here; LLVM removes them.
    frame = Frame(e.arguments, e.grid, e.worker, None)
    scalar = Emitter(replace(choices, lanes=1), Shapes(), Masks(), frame, b, {})
    vectors = e.last
    place = storage.slots.get(what.slot)
    if place is None:
        # The result is unused.
        place = 0
    type_ = Type(what.slot.type)

    def at(vector: Value, offset: int) -> Value:
        return e.at(e.scratch, vector * per_vector + (state + offset))

    zero = e.number(0)
    if what.kind == "pick":
        x, y, z = (
            e.get(at(zero, storage.slots[slot])) if slot is not None else zero
            for slot in [*what.places, None, None, None][:3]
        )
        if e.linear:
            number = (z * e.size[1] + y) * e.size[0] + x
            vector, lane = b.binary("udiv", number, e.number(e.step)), b.binary("urem", number, e.number(e.step))
        else:
            rows = b.binary("udiv", e.size[0] + (e.step - 1), e.number(e.step))
            vector = (z * e.size[1] + y) * rows + b.binary("udiv", x, e.number(e.step))
            lane = b.binary("urem", x, e.number(e.step))
        vector = b.select(b.compare("ult", vector, vectors), vector, zero)
        assert what.source is not None
        address = e.at(at(vector, storage.slots[what.source]), lane * SIZES[type_.element])
        found = e.get(address, type_)
        e.for_(zero, vectors, 1, lambda w: e.set(at(w, place), found))
    else:
        total = e.variable(identity(scalar, what.operation, type_))

        def one(w: Value) -> None:
            share = e.get(at(w, place), type_)
            before = e.get(total, type_)
            if what.kind == "before":
                e.set(at(w, place), before)
            e.set(total, combine(scalar, what.operation, before, share))

        e.for_(zero, vectors, 1, one)
        if what.kind == "total":
            whole = e.get(total, type_)
            e.for_(zero, vectors, 1, lambda w: e.set(at(w, place), whole))
    out.functions.append(e.text().replace("define void", "define internal void", 1))
    out.declarations.update(b.intrinsics)
