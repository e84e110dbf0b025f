"""The scope of one checked function: its variables, its parameters and the names from outside."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from anyzero.language import tree
from anyzero.language.check.intervals import Interval
from anyzero.language.source import MISSING, Source
from anyzero.language.types import Const, Refusal, common, defaulted, is_weak

__all__ = ["Program", "Scope"]


class Program:
    """One compilation: the functions that a kernel calls, each once for its types of arguments."""

    def __init__(self) -> None:
        self.functions: dict[Any, tree.Function] = {}
        self.open: list[Source] = []
        self.synchronizes = False


class Scope:
    """The names of a function. Types of variables are found by passes over the body until they stay the same."""

    def __init__(self, source: Source, program: Program, parameters: dict[str, Any]) -> None:
        self.source = source
        self.program = program
        self.parameters = parameters
        code = source.function.__code__
        self.locals = {*code.co_varnames, *code.co_cellvars}
        self.known: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        self.weak_first: set[str] = set()
        self.assigned: dict[str, int] = {}
        self.assigned_before: dict[str, int] = {}
        self.bounds: dict[str, Interval] = {}
        self.bounds_before: dict[str, Interval] = {}
        self.annotated: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.defined: set[str] = set()
        self.choices: dict[tuple[int, int], Any] = {}
        self.strict = False

    # Passes

    def settle(self, body: Callable[[], tree.Block]) -> tree.Block:
        """Check the body until the types of the variables stay the same, then once more for the final tree."""
        for _ in range(20):
            before = self.known
            self._begin()
            body()
            self.known = dict(self.found)
            if self.known == before:
                if not any(is_weak(t) for t in self.known.values()):
                    break
                self.known = {name: defaulted(t) for name, t in self.known.items()}
                self.annotated.update({name: t for name, t in self.known.items() if is_weak(self.found[name])})
        self.strict = True
        self._begin()
        return body()

    def _begin(self) -> None:
        self.found = {}
        self.weak_first = set()
        self.assigned_before, self.assigned = self.assigned, {}
        self.bounds_before, self.bounds = self.bounds, {}
        self.defined = set(self.parameters)

    # Variables

    def assign(self, name: str, t: Any, node: ast.AST, *, joins: bool = False, bounds: Interval | None = None) -> Any:
        """The type of the variable that a value of type `t` is assigned to."""
        self.assigned[name] = self.assigned.get(name, 0) + 1
        if bounds is not None:
            self.bounds[name] = bounds
        self.defined.add(name)
        if name in self.parameters:
            return self._parameter_type(name, node)
        if name in self.annotated:
            self.found[name] = self.annotated[name]
        elif name not in self.found:
            self.found[name] = t
            self.lines.setdefault(name, getattr(node, "lineno", 0))
            if is_weak(t) or joins:
                self.weak_first.add(name)
        elif name in self.weak_first and self.found[name] != t:
            try:
                self.found[name] = common(self.found[name], t)
            except Refusal:
                if is_weak(self.found[name]):
                    self.found[name] = t
        return self.known.get(name, self.found[name])

    def _parameter_type(self, name: str, node: ast.AST) -> Any:
        t = self.parameters[name]
        if isinstance(t, Const):
            raise Refusal(f"{name} is a constant; assign to a variable of another name")
        return t

    def declare(self, name: str, t: Any) -> None:
        """Record the type that an annotation gives to a variable."""
        if name in self.parameters:
            raise Refusal(f"{name} is a parameter, whose type is fixed")
        if self.annotated.get(name, t) != t:
            raise Refusal(f"{name} is {self.annotated[name]} already; a variable has one type")
        self.annotated[name] = t

    def read(self, name: str) -> Any:
        """The type of a variable or a parameter."""
        if name in self.parameters:
            return self.parameters[name]
        t = self.known.get(name, self.found.get(name))
        if t is None:
            raise Refusal(f"{name} has no value yet")
        if self.strict and name not in self.defined:
            raise Refusal(f"{name} is not assigned on every path to this line; assign it before the branch")
        return t

    def bounds_of(self, name: str) -> Interval | None:
        """The bounds of a variable that is assigned in one place; None for others."""
        if name in self.parameters or self.assigned_before.get(name) != 1:
            return None
        return self.bounds_before.get(name)

    # Names from outside

    def outside(self, name: str) -> Any:
        """The value of a name that is no variable; MISSING where there is none. A constant parameter has its value."""
        t = self.parameters.get(name)
        if isinstance(t, Const):
            return t.value
        if name in self.locals:
            return MISSING
        return self.source.value(name)
