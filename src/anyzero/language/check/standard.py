"""Functions of Python's own that are more than one instruction: divmod, sum and math.gcd."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from anyzero.language import tree
from anyzero.language.operators import binary_types
from anyzero.language.types import I32, WEAK_INT, Memory, Refusal, Scalar, Tuple, Vector, is_integer, is_weak

if TYPE_CHECKING:
    from anyzero.language.check.expressions import Expressions

__all__ = ["STANDARD_CALLS"]


def _once(value: tree.Expression) -> tree.Expression:
    return value if isinstance(value, tree.Constant) else tree.Shared(value.type, value)


def _divmod(e: Expressions, node: ast.Call) -> tree.Expression:
    if len(node.args) != 2:
        raise Refusal("divmod takes two numbers")
    a, b = (_once(e.of(each)) for each in node.args)
    parts = [e.binary(sign, a, b, node) for sign in ("//", "%")]
    return tree.TupleOf(Tuple(tuple(part.type for part in parts)), parts)


def _sum(e: Expressions, node: ast.Call) -> tree.Expression:
    value = e.of(node.args[0]) if len(node.args) == 1 else None
    if value is not None and isinstance(value.type, Memory) and len(value.type.shape) == 1:
        return _total(e, value, value.type)
    if value is None or not isinstance(value.type, Tuple | Vector):
        given = value.type if value is not None else "these arguments"
        raise Refusal(f"sum takes a tuple, a vector, or local or private memory with one axis, not {given}")
    found: tree.Expression = tree.Constant(WEAK_INT, 0)
    for part in _parts(value):
        found = e.binary("+", found, part, node)
    return found


def _parts(value: tree.Expression) -> list[tree.Expression]:
    if isinstance(value, tree.TupleOf):
        return list(value.parts)
    types = value.type.parts if isinstance(value.type, Tuple) else [value.type.element] * value.type.count
    shared = tree.Shared(value.type, value)
    return [tree.Component(t, shared, [at]) for at, t in enumerate(types)]


def _total(e: Expressions, value: tree.Expression, of: Memory) -> tree.Expression:
    from anyzero.language.check.functions import specialized
    from anyzero.language.library import total

    function = specialized(e.scope.program, total.source, {"first": of.decayed, "count": I32})
    return tree.Call(function.result, function, [tree.Convert(of.decayed, value), tree.Constant(I32, of.shape[0])])


def _gcd(e: Expressions, node: ast.Call) -> tree.Expression:
    from anyzero.language.check.functions import specialized
    from anyzero.language.library import greatest_divisor

    values = e.arguments(node.args)
    if len(values) != 2 or not all(isinstance(each.type, Scalar) and is_integer(each.type) for each in values):
        raise Refusal("math.gcd takes two integers")
    if all(isinstance(each, tree.Constant) and is_weak(each.type) for each in values):
        return tree.Constant(WEAK_INT, math.gcd(*(each.value for each in values)))  # type: ignore[attr-defined]
    t = binary_types("+", values[0].type, values[1].type)[2]
    if is_weak(t):
        t = I32
    function = specialized(e.scope.program, greatest_divisor.source, {"a": t, "b": t})
    return tree.Call(function.result, function, [e.convert(each, t, node) for each in values])


STANDARD_CALLS: Final[dict[Any, Callable[[Expressions, ast.Call], tree.Expression]]] = {
    divmod: _divmod,
    sum: _sum,
    math.gcd: _gcd,
}
