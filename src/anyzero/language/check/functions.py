"""A whole function: its parameters, its result and its body."""

from __future__ import annotations

import ast
from typing import Any

from anyzero.language import tree
from anyzero.language.check.scope import Program, Scope
from anyzero.language.check.statements import Statements, ends
from anyzero.language.source import Source
from anyzero.language.types import VOID, Const, Memory, Refusal, Sampler, Tuple, Type, common, defaulted, is_weak

__all__ = ["checked_kernel", "specialized"]


class _Result:
    """The type that a function returns, from its annotation or from its return statements."""

    def __init__(self, annotated: Any) -> None:
        self.annotated = annotated
        self.type: Any = annotated
        self.found: Any = None

    def join(self, t: Any, strict: bool) -> Any:
        """The type of the result, after one more return of a value of type `t`."""
        if self.annotated is not None:
            return self.annotated
        if self.type == VOID:
            raise Refusal("the function returns nothing elsewhere")
        t = defaulted(t) if strict else t
        if self.found is None:
            self.found = t
        elif self.found != t:
            try:
                self.found = self._joined(self.found, t)
            except Refusal:
                raise Refusal(f"the function returns {self.found} elsewhere, and {t} here") from None
        if strict:
            return self.type if self.type is not None else self.found
        return self.found

    @staticmethod
    def _joined(a: Any, b: Any) -> Any:
        if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.parts) == len(b.parts):
            return Tuple(tuple(x if x == y else common(x, y) for x, y in zip(a.parts, b.parts, strict=True)))
        return common(a, b)

    def begin(self) -> None:
        """A new pass uses the type that the last one found."""
        if self.annotated is None:
            self.type = defaulted(self.found) if self.found is not None else None
            self.found = None


def specialized(program: Program, source: Source, parameters: dict[str, Any]) -> tree.Function:
    """The function for these types of parameters, checked once."""
    key = source, tuple(parameters.items())
    found = program.functions.get(key)
    if found is None:
        program.open.append(source)
        try:
            found = _checked(program, source, parameters, is_kernel=False)
        finally:
            program.open.pop()
        if not any(is_weak(t) for t in parameters.values() if isinstance(t, Type)):
            program.functions[key] = found
    return found


def checked_kernel(source: Source, parameters: dict[str, Any]) -> tuple[tree.Function, Program]:
    """The kernel for these types of parameters, and the functions that it calls."""
    program = Program()
    program.open.append(source)
    defaults = [*source.tree.args.defaults, *source.tree.args.kw_defaults]
    if any(defaults):
        source.refuse(next(each for each in defaults if each), "parameters of a kernel have no defaults")
    return _checked(program, source, parameters, is_kernel=True), program


def _checked(program: Program, source: Source, parameters: dict[str, Any], *, is_kernel: bool) -> tree.Function:
    from anyzero.language.parameters import annotations_of

    annotated = annotations_of(source).get("return")
    if is_kernel and annotated not in (None, VOID):
        source.refuse(source.tree.returns, "a kernel returns nothing; store its results to memory")
    scope = Scope(source, program, parameters)
    result = _Result(VOID if is_kernel else annotated)

    def body() -> tree.Block:
        result.begin()
        return Statements(scope, result, is_kernel=is_kernel).block(source.tree.body)

    checked = scope.settle(body)
    returned = result.type if result.type is not None else defaulted(result.found) if result.found else VOID
    if returned != VOID and not ends(checked) and not _endless(checked):
        source.refuse(source.tree, f"a path reaches the end without `return`; the function returns {returned}")
    # A parameter that is memory, by its annotation, is declared and not passed.
    names = [name for name, t in parameters.items() if not isinstance(t, Const)]
    made = [tree.Variable(name, parameters[name], name in scope.assigned) for name in names]
    variables = {name: tree.Variable(name, t) for name, t in scope.found.items() if not isinstance(t, Memory | Sampler)}
    variables = {name: tree.Variable(name, scope.known.get(name, v.type)) for name, v in variables.items()}
    constants = {name: (t.element, t.value) for name, t in parameters.items() if isinstance(t, Const)}
    own = frozenset(name for name, t in parameters.items() if is_kernel and isinstance(t, Memory))
    return tree.Function(
        *(source.name, source.file, source.tree.lineno, made, variables, returned, checked),
        is_kernel=is_kernel,
        own=own,
        constants=constants,
        choices=scope.choices,
    )


def _endless(block: tree.Block) -> bool:
    """Whether a block ends in `while True` without a break."""
    last = block.statements[-1] if block.statements else None
    if not isinstance(last, tree.While) or not isinstance(last.test, tree.Constant):
        return False
    return bool(last.test.value) and not any(isinstance(each, ast.Break) for each in ast.walk(last.node))
