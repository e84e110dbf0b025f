"""A function of the language as plain Python: the same lines, with assignments converted to the variables' types.

The code has the file and the lines of the source, so that pdb, coverage and tracebacks show it.
"""

from __future__ import annotations

import ast
import copy
import math
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from anyzero.language import tree
from anyzero.language.builtins.mathematics import MATH, STANDARD
from anyzero.language.numbers import Number, VectorValue, converted, raw, type_of, wrapped
from anyzero.language.simulated_memory import Elements, own_memory
from anyzero.language.source import MISSING, Source
from anyzero.language.types import F32, I32, VOID, Scalar, Tuple, Vector, is_weak, of_value

__all__ = ["plain_function", "to_type", "value_of"]


class _Math:
    """Python's math module, with functions that compute in the language's types."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        return _standard(found) if callable(found) else found


def _printed(*values: Any, sep: str = " ", end: str = "\n") -> None:
    print(*(int(value) if isinstance(value, bool) else value for value in values), sep=sep, end=end)


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return a // b, a % b


def _sum(values: Any) -> Any:
    from anyzero.language.library import total

    return total(values, len(values)) if isinstance(values, Elements) else sum(values)


def _gcd(a: Any, b: Any) -> Any:
    from anyzero.language.library import greatest_divisor

    of = type_of(a + b)
    return math.gcd(a, b) if is_weak(of) else greatest_divisor(converted(a, of), converted(b, of))


def _standard(function: Any) -> Any:
    """A function of Python's own, with the results that kernels compute."""
    return _CALLS.get(function) or STANDARD.get(function, function)


_CALLS: Final[dict[Any, Any]] = {divmod: _divmod, sum: _sum, math.gcd: _gcd}
_MATH: Final = _Math()
_NAMES: Final[dict[str, Any]] = {
    **{name: MATH[name] for name in ("min", "max", "abs")},
    "round": MATH["rint"],
    "int": I32,
    "float": F32,
    "print": _printed,
    "sum": _sum,
    "divmod": _divmod,
}


def plain_function(source: Source, checked: tree.Function) -> Callable[..., Any]:
    """The function for the types that it was checked for; it takes and returns values of the simulator."""
    transformer = _Transformer(checked)
    definition = transformer.visit(copy.deepcopy(source.tree))
    module = ast.fix_missing_locations(ast.Module([definition], []))
    space = _outside(source)
    space.update(transformer.functions)
    exec(compile(module, source.file, "exec"), space)
    made: Callable[..., Any] = space[source.name]
    return made


def _outside(source: Source) -> dict[str, Any]:
    """The outer names of the function: its own, except for those that compute in other types there."""
    function = source.function
    space = {**_NAMES, **function.__globals__}
    for name in function.__code__.co_freevars:
        value = source.value(name)
        if value is not MISSING:
            space[name] = value
    for name, value in space.items():
        if value is math:
            space[name] = _MATH
        elif isinstance(value, np.generic):
            of = of_value(value)
            space[name] = wrapped(of, value) if of is not None else value
        elif isinstance(value, types.BuiltinFunctionType):
            space[name] = _standard(value)
    return space


def to_type(value: Any, of: Any) -> Any:
    """A value as a variable of that type holds it."""
    if isinstance(of, Tuple):
        return tuple(to_type(part, t) for part, t in zip(value, of.parts, strict=True))
    if isinstance(of, Scalar | Vector):
        return converted(value, of)
    return value


class _Transformer(ast.NodeTransformer):
    """Writes the conversions that the checker found into the statements."""

    def __init__(self, function: tree.Function) -> None:
        self._function = function
        self._types = {each.name: each.type for each in (*function.variables.values(), *function.parameters)}
        self._statements = {_key(each.node): each for each in _walk(function.body)}
        self.functions: dict[str, Any] = {}

    def _call(self, node: ast.expr, function: Callable[..., Any], *arguments: ast.expr) -> ast.expr:
        name = f"__az_{len(self.functions)}"
        self.functions[name] = function
        called = ast.Name(name, ast.Load())
        return ast.copy_location(ast.Call(called, list(arguments), []), node)

    def _converted(self, value: ast.expr, of: Any) -> ast.expr:
        return self._call(value, lambda given: to_type(given, of), value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        node.decorator_list, node.returns = [], None
        node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            each.annotation = None
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        key = _key(node)
        self.generic_visit(node)
        statement = self._statements.get(key)
        if isinstance(statement, tree.Assign):
            node.value = self._assigned(node.value, statement)
        elif isinstance(statement, tree.Unpack):
            of = Tuple(tuple(self._types[name] for name in statement.names if name is not None))
            node.value = self._converted(node.value, of)
        return node

    def _assigned(self, value: ast.expr, statement: tree.Assign) -> ast.expr:
        if isinstance(statement.value, tree.Own):
            own = statement.value
            return self._call(value, lambda: own_memory(own.type, own.key))
        of = self._types.get(statement.name)
        return value if of is None else self._converted(value, of)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        key = _key(node)
        self.generic_visit(node)
        statement = self._statements[key]
        assert isinstance(statement, tree.Assign)
        value = node.value if node.value is not None else ast.copy_location(ast.Constant(None), node)
        return ast.copy_location(ast.Assign([node.target], self._assigned(value, statement)), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        self.generic_visit(node)
        node.value = self._converted(node.value, self._types[node.target.id])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        joined = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        value = self._converted(joined, self._types[node.target.id])
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_For(self, node: ast.For) -> Any:
        statement = self._statements[_key(node)]
        assert isinstance(statement, tree.For)
        self.generic_visit(node)
        assert isinstance(node.iter, ast.Call)
        counter, of = statement.counter, self._types[statement.name]
        node.iter = self._call(node.iter, lambda *given: _counted(counter, of, given), *node.iter.args)
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        if node.value is not None and self._function.result != VOID:
            node.value = self._converted(node.value, self._function.result)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        of = self._function.choices.get((node.lineno, node.col_offset))
        self.generic_visit(node)
        return node if of is None or is_weak(of) else self._converted(node, of)


def _counted(counter: Scalar, of: Scalar, given: tuple[Any, ...]) -> Iterator[Any]:
    for each in range(*(int(raw(converted(value, counter))) for value in given)):
        yield converted(wrapped(counter, each), of)


def _key(node: Any) -> tuple[str, int, int]:
    return type(node).__name__, node.lineno, node.col_offset


def _walk(block: tree.Block) -> Iterator[tree.Statement]:
    for statement in block.statements:
        yield statement
        for name in ("body", "otherwise"):
            inner = getattr(statement, name, None)
            if isinstance(inner, tree.Block):
                yield from _walk(inner)


def value_of(given: Any, of: Any) -> Any:
    """A number of Python's or numpy's as a parameter of that type."""
    if isinstance(of, Vector) and not isinstance(given, VectorValue):
        return VectorValue(of, list(given) if hasattr(given, "__len__") else [given] * of.count)
    return converted(given if isinstance(given, Number) else raw(given), of)
