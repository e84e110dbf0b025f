"""Control flow and calls."""

from __future__ import annotations

from itertools import groupby

from anyzero.compiler.ir import Op, Signature
from anyzero.compiler.spirv.instruction import Instruction, switch_cases
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.types import FunctionType, Int
from anyzero.compiler.translate.chapter import ends, translates
from anyzero.compiler.translate.frame import Frame
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, build, leaves, scalars


@ends(Opcode.Branch)
def branch(f: Frame, i: Instruction) -> None:
    f.goto(i.operands[0])


@ends(Opcode.BranchConditional)
def branch_conditional(f: Frame, i: Instruction) -> None:
    condition, then, otherwise = i.operands[:3]
    choice = f.scalar(condition)
    if then == otherwise:
        f.goto(then)
    elif choice.name == "const":
        f.goto(then if choice.info else otherwise)
    else:
        f.b.branch(choice, f.leave_to(then), f.leave_to(otherwise))


@ends(Opcode.Switch)
def switch(f: Frame, i: Instruction) -> None:
    """A chain of comparisons, one per target."""
    selector, default = f.scalar(i.operands[0]), i.operands[1]
    type_ = f.type(i.operands[0])
    assert isinstance(type_, Int)
    values: dict[int, list[int]] = {}
    for value, label in switch_cases(i, type_.width):
        if selector.name == "const" and value == selector.info:
            f.goto(label)
            return
        values.setdefault(label, []).append(value)
    values.pop(default, None)
    if selector.name == "const":
        values.clear()
    for label, chosen in values.items():
        following = f.b.new_block()
        f.b.branch(_one_of(f, selector, chosen), f.leave_to(label), following)
        f.b.block = following
    f.goto(default)


def _one_of(f: Frame, selector: Op, values: list[int]) -> Op:
    """Tests membership; a range of consecutive values takes one comparison."""
    b, found = f.b, None
    for _, run in groupby(enumerate(sorted(values)), key=lambda pair: pair[1] - pair[0]):
        together = [value for _, value in run]
        first = b.const(selector.type, together[0])
        if len(together) == 1:
            test = b.icmp("eq", selector, first)
        else:
            test = b.icmp("ult", b.sub(selector, first), b.const(selector.type, len(together)))
        found = test if found is None else b.or_(found, test)
    assert found is not None
    return found


@ends(Opcode.Return)
def return_(f: Frame, i: Instruction) -> None:
    f.give_back(None)


@ends(Opcode.ReturnValue)
def return_value(f: Frame, i: Instruction) -> None:
    f.give_back(f.value(i.operands[0]))


@ends(Opcode.Unreachable)
def unreachable(f: Frame, i: Instruction) -> None:
    f.b.emit("fault", "", [], "unreachable")
    f.translator.leave()


@translates(Opcode.FunctionPointerCallINTEL)
def call_pointer(f: Scope, i: Instruction) -> Tree | None:
    pointee = f.pointer(i.operands[0]).pointee
    assert isinstance(pointee, FunctionType)
    operands = [leaf for id_ in i.operands[1:] for leaf in leaves(f.value(id_))]
    results = signature(pointee)
    op = f.b.emit("call", "", [f.scalar(i.operands[0]), *operands], results)
    if not results.results:
        return None
    op.type = results.results[0]
    if len(results.results) == 1:
        return build(pointee.result, lambda _: op)
    index = iter(range(len(results.results)))
    return build(pointee.result, lambda type_: f.b.part(op, next(index), type_))


def signature(type_: FunctionType) -> Signature:
    """The signature of a function type, flattened to scalars."""
    parameters = tuple(name for parameter in type_.parameters for name in scalars(parameter))
    return Signature(scalars(type_.result) if type_.result.sized else (), parameters)


@translates(Opcode.AssumeTrueKHR)
def assume(f: Scope, i: Instruction) -> Tree | None:
    return None
