"""Statements: control flow, assignments, and return values."""

from __future__ import annotations

import ast
from typing import Any, Final

from anyzero.language import tree
from anyzero.language.check import hints
from anyzero.language.check.expressions import _SIGNS, Expressions
from anyzero.language.check.printing import printed, text_of
from anyzero.language.check.scope import Scope
from anyzero.language.errors import KernelError
from anyzero.language.parameters import annotation_type
from anyzero.language.types import (
    I32,
    I64,
    SAMPLER,
    U64,
    VOID,
    WEAK_INT,
    Memory,
    Refusal,
    Sampler,
    Scalar,
    Tuple,
    Vector,
    common,
    defaulted,
    is_integer,
    is_weak,
)

__all__ = ["Statements", "ends"]


def ends(block: tree.Block) -> bool:
    """Whether control flow never reaches the end of a block."""
    if not block.statements:
        return False
    last = block.statements[-1]
    if isinstance(last, tree.If):
        return ends(last.body) and ends(last.otherwise)
    return isinstance(last, tree.Return | tree.Break | tree.Continue)


class Statements:
    """The checker of statements in one scope."""

    def __init__(self, scope: Scope, result: Any, *, is_kernel: bool) -> None:
        self.scope = scope
        self.expressions = Expressions(scope)
        self.result = result
        self.is_kernel = is_kernel
        self.loops = 0

    def block(self, nodes: list[ast.stmt]) -> tree.Block:
        """The statements one after another; before the last pass, those with an error are left out."""
        made: list[tree.Statement] = []
        for node in nodes:
            try:
                made += self._statement(node)
            except KernelError:
                if self.scope.strict:
                    raise
        return tree.Block(made)

    def _statement(self, node: ast.stmt) -> list[tree.Statement]:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            word = _WORDS.get(type(node), type(node).__name__.lower())
            hint = hints.for_construct(node) or "see `anyzero docs language`, Statements"
            self.scope.source.refuse(node, f"{word} is not part of the language; {hint}")
        try:
            found = method(node)
        except Refusal as refusal:
            raise self.scope.source.error(node, str(refusal)) from None
        return found if isinstance(found, list) else [] if found is None else [found]

    # Assignments

    def _assign(self, node: ast.Assign) -> list[tree.Statement]:
        if len(node.targets) > 1:
            raise Refusal("a = b = c is not part of the language; write two assignments")
        return self._to(node.targets[0], self.expressions.of(node.value), node)

    def _to(self, target: ast.expr, value: tree.Expression, node: ast.stmt) -> list[tree.Statement]:
        if isinstance(target, ast.Name):
            return [self._to_name(target.id, value, node)]
        if isinstance(target, ast.Tuple):
            if all(isinstance(each, ast.Subscript) for each in target.elts):
                return self._to_elements(target, value, node)
            return [self._to_names(target, value, node)]
        if isinstance(target, ast.Subscript):
            base = self.expressions.of(target.value)
            if isinstance(base.type, Vector):
                at = self.expressions.index(target.slice)
                return [self._to_component(target.value, base, at, value, node)]
            place = self.expressions.element(base, target.slice)
            return [tree.Store(node, place, self.expressions.convert(value, place.type, node))]
        if isinstance(target, ast.Attribute):
            base = self.expressions.of(target.value)
            if isinstance(base.type, Vector) and len(target.attr) == 1:
                part = self.expressions.components(base, target.attr)
                assert isinstance(part, tree.Component)
                return [self._to_component(target.value, base, tree.Constant(I32, part.at[0]), value, node)]
        raise Refusal("assignments go to variables, elements and components of vectors")

    def _to_name(self, name: str, value: tree.Expression, node: ast.stmt) -> tree.Statement:
        if value.type == VOID:
            raise Refusal("the call returns nothing")
        if value.type == SAMPLER and (name in self.scope.assigned or self.loops):
            raise Refusal(f"{name} is a sampler, which is assigned in one place only, outside of loops")
        bounds = self.expressions.bounds(value) if is_integer(value.type) else None
        to = self.scope.assign(name, value.type, node, bounds=bounds)
        return tree.Assign(node, name, self._fitting(name, value, to, node))

    def _fitting(self, name: str, value: tree.Expression, to: Any, node: ast.stmt) -> tree.Expression:
        given = value.type
        annotated = name in self.scope.annotated or name in self.scope.parameters
        if self.scope.strict and isinstance(given, Scalar) and isinstance(to, Scalar) and not annotated:
            if not is_weak(given) and given != to and common(given, to) != to:
                line = self.scope.lines.get(name, 0)
                raise Refusal(f"{name} is {to} since line {line}; a {given} needs an explicit conversion: az.{to}(…)")
        elif self.scope.strict and given != to and not _is_alike(given, to):
            line = self.scope.lines.get(name, 0)
            raise Refusal(f"{name} is {to} since line {line}, and {given} here; a variable has one type")
        return self.expressions.convert(value, to, node)

    def _to_names(self, target: ast.Tuple, value: tree.Expression, node: ast.stmt) -> tree.Statement:
        parts = value.type.parts if isinstance(value.type, Tuple) else None
        if parts is None or len(parts) != len(target.elts):
            raise Refusal(f"{value.type} does not unpack to {len(target.elts)} variables")
        if not all(isinstance(each, ast.Name) for each in target.elts):
            raise Refusal("a tuple is unpacked to variables, or to elements, not to both; assign one by one")
        if any(isinstance(part, Memory | Sampler) for part in parts):
            raise Refusal("memory and samplers are assigned one by one, each in a statement of its own")
        names = [each.id for each in target.elts if isinstance(each, ast.Name)]
        found = value.parts if isinstance(value, tree.TupleOf) else [None] * len(names)
        bounds = [self.expressions.bounds(part) if part and is_integer(part.type) else None for part in found]
        given = zip(names, parts, bounds, strict=True)
        wanted = Tuple(tuple(self.scope.assign(n, t, node, bounds=b) for n, t, b in given))
        if isinstance(value, tree.TupleOf):
            made = [
                self._fitting(name, part, t, node)
                for name, part, t in zip(names, value.parts, wanted.parts, strict=True)
            ]
            return tree.Unpack(node, list(names), tree.TupleOf(wanted, made))
        if self.scope.strict and value.type != wanted:
            raise Refusal(f"{value.type} cannot be assigned to variables of {wanted}")
        return tree.Unpack(node, list(names), value)

    def _to_elements(self, target: ast.Tuple, value: tree.Expression, node: ast.stmt) -> list[tree.Statement]:
        """`a[i], a[j] = a[j], a[i]`: unnamed variables hold all values before the first is stored."""
        held = [f"__{node.lineno}_{node.col_offset}_{at}" for at in range(len(target.elts))]
        made: list[tree.Statement] = []
        if not (isinstance(value, tree.TupleOf) and all(isinstance(part, tree.Constant) for part in value.parts)):
            names = ast.Tuple([ast.Name(name, ast.Store()) for name in held], ast.Store())
            made.append(self._to_names(names, value, node))
        parts = value.parts if isinstance(value, tree.TupleOf) else [None] * len(held)
        if len(parts) != len(held):
            raise Refusal(f"{value.type} does not unpack to {len(held)} elements")
        for each, name, part in zip(target.elts, held, parts, strict=True):
            constant = isinstance(part, tree.Constant)
            made += self._to(each, part if constant and part else tree.Name(self.scope.read(name), name), node)
        return made

    def _to_component(
        self, target: ast.expr, base: tree.Expression, at: tree.Expression, value: tree.Expression, node: ast.stmt
    ) -> tree.Statement:
        if not isinstance(target, ast.Name) or not isinstance(base, tree.Name):
            raise Refusal("components can be assigned only in variables; store the whole vector to memory")
        self.scope.assign(target.id, base.type, node)
        return tree.SetComponent(node, target.id, at, self.expressions.convert(value, base.type.element, node))

    def _annassign(self, node: ast.AnnAssign) -> tree.Statement | None:
        if not isinstance(node.target, ast.Name):
            raise Refusal("annotations are for variables")
        of = annotation_type(self.scope.source, node.annotation)
        name = node.target.id
        if of is None and node.value is not None:
            return self._to_name(name, self.expressions.of(node.value), node)
        if isinstance(of, Memory):
            if node.value is not None:
                raise Refusal(f"local and private memory has no initial values; write {name} = {of!r}")
            value: tree.Expression = self.expressions.own(of, node)
        elif node.value is None:
            raise Refusal("a variable needs an initial value")
        else:
            value = self.expressions.of(node.value)
        self.scope.declare(name, of)
        return self._to_name(name, value, node)

    def _augassign(self, node: ast.AugAssign) -> list[tree.Statement]:
        target: Any = node.target
        loaded = _loaded(target)
        joined = ast.copy_location(ast.BinOp(loaded, node.op, node.value), node)
        joined.end_lineno, joined.end_col_offset = node.end_lineno, node.end_col_offset
        if isinstance(target, ast.Subscript) and type(node.op) in _SIGNS:
            base = self.expressions.of(target.value)
            if not isinstance(base.type, Vector):
                # The place is evaluated once.
                place = self.expressions.element(base, target.slice)
                place.indices = [
                    each if isinstance(each, tree.Constant) else tree.Shared(each.type, each) for each in place.indices
                ]
                value = self.expressions.binary(_SIGNS[type(node.op)], place, self.expressions.of(node.value), node)
                return [tree.Store(node, place, self.expressions.convert(value, place.type, node))]
        return self._to(target, self.expressions.of(joined), node)

    # Control flow

    def _if(self, node: ast.If) -> tree.Statement:
        test = self.expressions.condition(node.test)
        before = set(self.scope.defined)
        self.scope.defined |= _assigned_if(node.test)
        body = self.block(node.body)
        after_body = self.scope.defined
        self.scope.defined = set(before)
        otherwise = self.block(node.orelse)
        if ends(otherwise):
            self.scope.defined = after_body
        elif not ends(body):
            self.scope.defined &= after_body
        return tree.If(node, test, body, otherwise)

    def _while(self, node: ast.While) -> tree.Statement:
        test = self.expressions.condition(node.test)
        self.loops += 1
        before = set(self.scope.defined)
        self.scope.defined |= _assigned_if(node.test)
        body = self.block(node.body)
        self.scope.defined -= _assigned_if(node.test) - before
        self.loops -= 1
        return tree.While(node, test, body, self.block(node.orelse))

    def _for(self, node: ast.For) -> tree.Statement:
        call = node.iter
        e = self.expressions
        if not (isinstance(call, ast.Call) and e.static(call.func) is range and not call.keywords):
            self.scope.source.refuse(node.iter, "for loops go over range(…), as in `for i in range(n)`")
        if not isinstance(node.target, ast.Name):
            self.scope.source.refuse(node.target, "a loop has one variable")
        if not 1 <= len(call.args) <= 3:
            self.scope.source.refuse(call, "range takes 1 to 3 integers")
        given = [e.of(each) for each in call.args]
        for value, each in zip(given, call.args, strict=True):
            if not isinstance(value.type, Scalar) or not is_integer(value.type):
                self.scope.source.refuse(each, f"range takes integers, not {value.type}; write az.i32(…)")
        start = given[0] if len(given) > 1 else tree.Constant(WEAK_INT, 0)
        stop = given[1] if len(given) > 1 else given[0]
        step = given[2] if len(given) > 2 else tree.Constant(WEAK_INT, 1)
        counter = common(common(start.type, stop.type), step.type)
        if isinstance(step, tree.Constant) and step.value == 0:
            self.scope.source.refuse(call.args[2], "the step of range must not be 0")
        constant = isinstance(step, tree.Constant | tree.Specialized)
        rises = step.value > 0 if constant else True if e.is_nonnegative(step) else None  # type: ignore[attr-defined]
        counter = defaulted(counter) if self.scope.strict else counter
        low, high = e.bounds(start)[0], e.bounds(stop)[1]
        bounds = (low, max(low, high)) if rises else None
        to = self.scope.assign(node.target.id, counter, node, joins=True, bounds=bounds)
        counter = to if isinstance(to, Scalar) and is_integer(to) and self.scope.strict else counter
        narrow = rises and e.fits(I32, start, stop, step) and e.bounds(stop)[1] + e.bounds(step)[1] <= I32.high
        if self.scope.strict and counter in (I64, U64) and narrow:
            counter = I32
        else:
            narrow = False
        start, stop, step = (e.convert(value, counter, node, explicit=narrow) for value in (start, stop, step))
        self.loops += 1
        body = self.block(node.body)
        self.loops -= 1
        otherwise = self.block(node.orelse)
        return tree.For(node, node.target.id, counter, start, stop, step, body, otherwise, rises)

    def _break(self, node: ast.Break) -> tree.Statement:
        return tree.Break(node)

    def _continue(self, node: ast.Continue) -> tree.Statement:
        return tree.Continue(node)

    def _pass(self, node: ast.Pass) -> None:
        return None

    def _return(self, node: ast.Return) -> tree.Statement:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            if self.result.type not in (None, VOID):
                raise Refusal(f"the function returns {self.result.type} elsewhere")
            self.result.type = VOID
            return tree.Return(node, None)
        if self.is_kernel:
            raise Refusal("a kernel returns nothing; store its results to memory")
        value = self.expressions.of(node.value)
        return tree.Return(node, self.expressions.convert(value, self.result.join(value.type, self.scope.strict), node))

    # Other statements

    def _expr(self, node: ast.Expr) -> tree.Statement | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        if isinstance(node.value, ast.Call) and self.expressions.static(node.value.func) is print:
            return printed(self.expressions, node.value, node)
        value = self.expressions.of(node.value)
        return tree.Run(node, value)

    def _assert(self, node: ast.Assert) -> tree.Statement:
        test = self.expressions.condition(node.test)
        message = text_of(node.msg) if node.msg is not None else ""
        return tree.Assert(node, test, message or ast.unparse(node.test))


def _assigned_if(test: ast.expr) -> set[str]:
    """The variables that `:=` has assigned where a condition holds: in every part of an `and`."""
    if isinstance(test, ast.NamedExpr):
        return {ast.unparse(test.target)} | _assigned_if(test.value)
    if isinstance(test, ast.IfExp):
        return _assigned_if(test.test)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return _assigned_if(test.values[0])
    parts = (each for each in ast.iter_child_nodes(test) if isinstance(each, ast.expr))
    return {name for part in parts for name in _assigned_if(part)}


def _is_alike(given: Any, to: Any) -> bool:
    """Whether a conversion between them may exist: of numbers, of tuples, of a number to a vector."""
    return isinstance(given, Scalar | Tuple) and (type(to) is type(given) or isinstance(to, Vector))


def _loaded(target: ast.expr) -> Any:
    """The target of an augmented assignment as a value."""
    copied = ast.parse(ast.unparse(target), mode="eval").body
    for each in ast.walk(copied):
        ast.copy_location(each, target)
    return copied


_WORDS: Final = {
    ast.FunctionDef: "a function inside of a kernel",
    ast.ClassDef: "a class",
    ast.With: "with",
    ast.Try: "try",
    ast.Raise: "raise",
    ast.Delete: "del",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Match: "match",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.AsyncFor: "async",
    ast.AsyncWith: "async",
}
