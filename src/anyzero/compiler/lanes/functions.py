"""Translation of functions that are called through pointers, with the same module numbers in all of them."""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler import translate as translation
from anyzero.compiler.ir import Body, Variable
from anyzero.compiler.lower.calls import symbol
from anyzero.compiler.spirv.float_controls import FloatControls
from anyzero.compiler.spirv.module import Module

__all__ = ["symbol", "translate"]


def translate(modules: Sequence[Module], at: int, id_: int, floats: FloatControls, debug: bool) -> Body:
    """A function's body; modules are numbered as in the list, not as the function's own module sees them."""
    order = [at, *(place for place in range(len(modules)) if place != at)]
    body = translation.function(modules[at], id_, [modules[place] for place in order[1:]], floats=floats, debug=debug)
    for op in body.ops:
        if op.name == "function":
            op.info = order[op.info[0]], op.info[1]
    for variable in _all(body.variables):
        variable.module = order[variable.module]
        variable.functions = tuple((place, (order[at], id_)) for place, (at, id_) in variable.functions)
    return body


def _all(variables: Sequence[Variable]) -> list[Variable]:
    """With the variables whose addresses they hold, each once."""
    found = dict.fromkeys(variables)
    waiting = list(found)
    while waiting:
        new = {target: None for _, target, _ in waiting.pop().addresses if target not in found}
        found |= new
        waiting += new
    return list(found)
