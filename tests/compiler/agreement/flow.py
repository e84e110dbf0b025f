"""Random control flow that is a nest of ifs, loops and switches, with ways out of the middle."""

from __future__ import annotations

from tests.compiler.agreement.expressions import any_type, condition, leaf, makes, merged_type, value
from tests.compiler.agreement.function import Callee, Code, Loop
from tests.compiler.agreement.statements import statements, states
from tests.compiler.agreement.writer import Value

DEEPEST = 3
TURNS = 4


@states(3)
def remember(code: Code) -> None:
    """Something for later."""
    value(code, any_type(code), 3)


@states(7)
def if_(code: Code) -> None:
    if code.depth >= DEEPEST:
        return
    uniform = code.uniform
    choice = condition(code, uniform and code.draw.chance(40))
    both, merged = code.draw.chance(60), code.draw.chance(50)
    type_ = merged_type(code)
    then, otherwise, join = (code.new_label(each) for each in ("then", "else", "join"))
    edges: list[tuple[str, Value]] = []
    if not both:
        edges.append((code.label, leaf(code, type_)))
    code.branch(choice, then, otherwise if both else join)
    code.depth += 1
    for label in (then, otherwise)[: 1 + both]:
        code.begin(label)
        code.uniform = uniform and choice.uniform and not code.left
        here = len(code.values)
        statements(code, 1, 3)
        edge = value(code, type_, 1)
        del code.values[here:]
        edges.append((code.label, edge))
        code.goto(join)
    code.depth -= 1
    code.begin(join)
    code.settle(uniform)
    if merged:
        _phi(code, type_, edges)


def _phi(code: Code, type_: str, edges: list[tuple[str, Value]]) -> Value:
    return code.keep(code.emit("Phi", type_, *(word for label, each in edges for word in (each.id, label))))


@states(4)
def loop(code: Code) -> None:
    """Counted; the question stands at the begin of a turn, or at its end."""
    if len(code.loops) >= 2 or code.depth >= DEEPEST:
        return
    uniform = code.uniform
    together = uniform and code.draw.chance(50)
    test_first = code.draw.chance(70)
    type_ = any_type(code, vectors=False)
    turns = _turns(code, together)
    start = leaf(code, type_, together)
    header, body, again, exit_ = (code.new_label(each) for each in ("header", "body", "again", "exit"))
    here = code.writer.name("turn"), code.writer.name("carried")
    next_ = code.writer.name("next"), code.writer.name("carried")
    before = code.label
    code.goto(header)
    code.begin(header)
    counter = code.keep(Value(here[0], "i32", together))
    carried = code.keep(Value(here[1], type_, False))
    code.line(f"{here[0]} = OpPhi %i32 {code.const('i32', 0).id} {before} {next_[0]} {again}")
    code.line(f"{here[1]} = OpPhi {code.writer.type(type_)} {start.id} {before} {next_[1]} {again}")
    kept = len(code.values)
    inside = Loop(exit_, again, together, merged_type(code))
    if test_first:
        inside.edges.append((header, leaf(code, inside.carried)))
        code.branch(code.op("ULessThan", "bool", counter, turns), body, exit_)
    else:
        code.goto(body)
    code.begin(body)
    code.loops.append(inside)
    code.depth += 1
    code.uniform = together
    statements(code, 1, 4)
    code.depth -= 1
    code.loops.pop()
    code.goto(again)
    del code.values[kept:]
    code.begin(again)
    code.line(f"{next_[0]} = OpIAdd %i32 {counter.id} {code.const('i32', 1).id}")
    opcode = "IAdd" if type_[0] == "i" else "FAdd"
    code.line(f"{next_[1]} = Op{opcode} {code.writer.type(type_)} {carried.id} {leaf(code, type_).id}")
    if test_first:
        code.goto(header)
    else:
        inside.edges.append((again, leaf(code, inside.carried)))
        code.branch(code.op("ULessThan", "bool", Value(next_[0], "i32", together), turns), header, exit_)
        del code.values[kept:]
    code.begin(exit_)
    code.settle(uniform)
    _phi(code, inside.carried, inside.edges)


def _turns(code: Code, uniform: bool) -> Value:
    if code.draw.chance(30):
        return code.const("i32", code.draw.number(0, TURNS))
    return code.op("BitwiseAnd", "i32", value(code, "i32", 2, uniform), code.const("i32", TURNS - 1))


@states(2)
def leave_loop(code: Code) -> None:
    """Break or continue."""
    if not code.loops:
        return
    at = code.loops[-1]
    again = code.draw.chance(50)
    together = at.uniform and code.uniform and (not again or code.draw.chance(40))
    if at.uniform and not together and not again:
        return
    choice = condition(code, together)
    out, on = code.new_label("out"), code.new_label("on")
    code.branch(choice, out, on)
    code.begin(out)
    uniform, code.uniform = code.uniform, together
    here = len(code.values)
    if code.draw.chance(30):
        code.depth += 1
        statements(code, 1, 2)
        code.depth -= 1
    if not again:
        at.edges.append((code.label, leaf(code, at.carried)))
    del code.values[here:]
    code.goto(at.again if again else at.exit)
    code.begin(on)
    if again and at.uniform and not together:
        at.skipped = True
    code.settle(uniform)


@states(1)
def return_early(code: Code) -> None:
    together = code.uniform and code.draw.chance(50)
    if not together and any(each.uniform for each in code.loops):
        return
    choice = condition(code, together)
    out, on = code.new_label("out"), code.new_label("on")
    code.branch(choice, out, on)
    code.begin(out)
    uniform, code.uniform = code.uniform, together
    here = len(code.values)
    code.depth += 1
    statements(code, 1, 2)
    code.depth -= 1
    if code.result == "void":
        code.line("OpReturn")
    else:
        code.line(f"OpReturnValue {value(code, code.result, 1).id}")
    del code.values[here:]
    code.begin(on)
    code.left |= not together
    code.settle(uniform)


@states(2)
def switch(code: Code) -> None:
    if code.depth >= DEEPEST:
        return
    uniform = code.uniform
    type_ = code.draw.one_of(("i32", "i64", "i16", "i8"))
    selector = value(code, type_, 2, uniform and code.draw.chance(30))
    if code.draw.chance(80):
        selector = code.op("BitwiseAnd", type_, selector, code.const(type_, 7))
    cases = [code.new_label("case") for _ in range(code.draw.number(1, 3))]
    join = code.new_label("join")
    default = code.draw.one_of((join, code.new_label("default")))
    literals = [(number, code.draw.number(0, len(cases))) for number in (0, 1, 2, 3, 5, 6)]
    words = [word for number, at in literals if at for word in (str(number), cases[at - 1])]
    carried = merged_type(code)
    edges = [(code.label, leaf(code, carried))] if default == join else []
    code.line(f"OpSwitch {selector.id} {default} {' '.join(words)}")
    blocks = cases if default == join else [*cases, default]
    taken = set(words) | {default}
    code.depth += 1
    fallen = False
    for at, label in enumerate(blocks):
        code.begin(label)
        code.uniform = uniform and selector.uniform and not code.left
        here = len(code.values)
        statements(code, 1, 2)
        edge = leaf(code, carried)
        del code.values[here:]
        fallen = at + 1 < len(blocks) and code.draw.chance(30)
        if fallen:
            code.goto(blocks[at + 1])
        else:
            edges.append((code.label, edge))
            code.goto(join)
    code.depth -= 1
    code.begin(join)
    code.settle(uniform)
    # A block that nothing leads to is none that a phi may name.
    if all(label in taken for label in blocks):
        _phi(code, carried, edges)


@makes(2, "int", "float")
def called(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    callees = [each for each in code.callees if each.result == type_]
    return None if not callees or uniform else _call(code, code.draw.one_of(callees), depth)


@states(2)
def call(code: Code) -> None:
    if code.callees:
        _call(code, code.draw.one_of(code.callees), 2)


@states(2)
def call_by_address(code: Code) -> None:
    """One of two functions, chosen by all work-items together or by each."""
    pairs = [
        (one, other)
        for one in code.callees
        for other in code.callees
        if one is not other and (one.result, one.parameters) == (other.result, other.parameters)
    ]
    if not pairs or not code.kernel:
        return
    pair = code.draw.one_of(pairs)
    addresses = [code.writer.function_address(each.id, each.result, _types(code, each)) for each in pair]
    choice = condition(code, code.draw.chance(30))
    id_ = code.writer.name("p")
    code.line(f"{id_} = OpSelect {addresses[0].type} {choice.id} {addresses[0].id} {addresses[1].id}")
    arguments = _arguments(code, pair[0], 2)
    if arguments is not None:
        code.keep(code.emit("FunctionPointerCallINTEL", pair[0].result, id_, *arguments))


def _types(code: Code, callee: Callee) -> list[str]:
    return [
        code.writer.pointer("Function", each[1:]) if each[0] == "*" else code.writer.type(each)
        for each in callee.parameters
    ]


def _call(code: Code, callee: Callee, depth: int) -> Value | None:
    arguments = _arguments(code, callee, depth)
    if arguments is None:
        return None
    return code.keep(code.emit("FunctionCall", callee.result, callee.id, *arguments))


def _arguments(code: Code, callee: Callee, depth: int) -> list[str] | None:
    """Ids for all parameters; None where there is no variable to point to."""
    arguments = []
    for parameter in callee.parameters:
        if parameter[0] != "*":
            arguments.append(value(code, parameter, depth).id)
            continue
        places = [each for each in code.places if each.type == parameter[1:] and not each.uniform]
        if not places:
            return None
        arguments.append(code.draw.one_of(places).id)
    return arguments
