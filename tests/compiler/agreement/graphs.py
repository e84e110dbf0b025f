"""Random control flow that is any graph: ways that cross, loops with several ends, some that can be entered twice."""

from __future__ import annotations

from anyzero.compiler.dominators import dominators
from tests.compiler.agreement.expressions import condition, value
from tests.compiler.agreement.function import Code
from tests.compiler.agreement.statements import states

FUEL = 5
"""How often all loops of a graph together may start over."""


@states(4)
def graph(code: Code) -> None:
    if code.depth > 1 or len(code.loops) > 1:
        return
    count = code.draw.number(2, 7)
    forward = _forward(code, count)
    back = _back(code, count, forward)
    labels = [code.new_label("node") for _ in range(count + 1)]
    fuel = code.writer.name("fuel")
    code.variables.append(f"{fuel} = OpVariable {code.writer.pointer('Function', 'i32')} Function")
    code.store(fuel, code.const("i32", FUEL))
    uniform, loops = code.uniform, code.loops
    # No work-item leaves a surrounding loop from here: the active set is unknown.
    code.uniform, code.loops, code.structured = False, [], False
    code.goto(labels[0])
    for node in range(count):
        code.begin(labels[node])
        here = len(code.values)
        for _ in range(code.draw.number(1, 2)):
            _statement(code)
        targets = [labels[target] for target in forward[node]]
        if node in back:
            _with_way_back(code, fuel, targets, labels[back[node]])
        elif len(targets) == 1:
            code.goto(targets[0])
        else:
            code.branch(condition(code), targets[0], targets[1])
        del code.values[here:]
    code.begin(labels[count])
    code.loops, code.structured = loops, True
    code.settle(uniform)


def _statement(code: Code) -> None:
    from tests.compiler.agreement import memory

    code.draw.weighted(((4, memory.to_place), (1, memory.to_output), (1, memory.to_array)))(code)


def _with_way_back(code: Code, fuel: str, targets: list[str], back: str) -> None:
    """A branch of two or three ways, one of which leads back while there is fuel."""
    edge = code.new_label("edge")
    if len(targets) == 1:
        code.branch(condition(code), edge, targets[0])
    else:
        selector = code.op("BitwiseAnd", "i32", value(code, "i32", 1), code.const("i32", 3))
        code.line(f"OpSwitch {selector.id} {targets[0]} 1 {targets[1]} 2 {edge}")
    code.begin(edge)
    left = code.load("i32", fuel)
    code.store(fuel, code.op("ISub", "i32", left, code.const("i32", 1)))
    code.branch(code.op("SGreaterThan", "bool", left, code.const("i32", 0)), back, targets[0])


def _forward(code: Code, count: int) -> list[list[int]]:
    """One or two ways from each node to later ones; the last is the end of all."""
    targets: list[list[int]] = [[] for _ in range(count)]
    for node in range(1, count):
        free = [each for each in range(node) if len(targets[each]) < 2]
        targets[code.draw.one_of(free[::-1])].append(node)
    for node in range(count):
        if not targets[node] or (len(targets[node]) == 1 and code.draw.chance(40)):
            target = code.draw.number(node + 1, count)
            if target not in targets[node]:
                targets[node].append(target)
        if not targets[node]:
            targets[node].append(node + 1)
    return targets


def _back(code: Code, count: int, forward: list[list[int]]) -> dict[int, int]:
    """Which nodes lead back to which."""
    anywhere = code.draw.chance(10)
    above = dominators(0, lambda node: forward[node] if node < count else [])
    found = {}
    for node in range(count):
        if code.draw.chance(35):
            targets = [node]
            while targets[-1] != 0:
                targets.append(above[targets[-1]])
            # Nothing leads back to the first block of a function, but this one is not.
            found[node] = code.draw.one_of(range(node, -1, -1) if anywhere else targets)
    return found
