"""The typed tree: a function with a type for every expression, as the writer takes it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from anyzero.language.types import Scalar, Type

__all__ = [
    "Assert",
    "Assign",
    "Binary",
    "Block",
    "Break",
    "Builtin",
    "Call",
    "Choice",
    "Component",
    "Constant",
    "Continue",
    "Convert",
    "Expression",
    "For",
    "Function",
    "If",
    "Index",
    "Logical",
    "Method",
    "Name",
    "Own",
    "Print",
    "Return",
    "Run",
    "SetComponent",
    "Shape",
    "Shared",
    "Specialized",
    "Statement",
    "Store",
    "TupleOf",
    "Unary",
    "Unpack",
    "Variable",
    "VectorOf",
    "While",
]


@dataclass
class Expression:
    type: Any


@dataclass
class Constant(Expression):
    """A number; of a weak type where nothing gave it another yet."""

    value: Any


@dataclass
class Specialized(Expression):
    """A parameter that is a specialization constant, with its value now."""

    name: str
    value: Any


@dataclass
class Name(Expression):
    """A variable or a parameter."""

    name: str


@dataclass
class Own(Expression):
    """Local or private memory, by the place that declares it."""

    key: int
    name: str


@dataclass
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression
    nonnegative: bool = False


@dataclass
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass
class Logical(Expression):
    """`and` and `or` of bools, from left to right until one decides."""

    operator: str
    parts: list[Expression]


@dataclass
class Choice(Expression):
    test: Expression
    yes: Expression
    no: Expression


@dataclass
class Convert(Expression):
    value: Expression


@dataclass
class Shared(Expression):
    """A value that is computed once and stands in several places, as in `a < b < c`."""

    value: Expression


@dataclass
class Index(Expression):
    """An element of a pointer, an array or memory of its own; the type is the element's."""

    base: Expression
    indices: list[Expression]


@dataclass
class Component(Expression):
    """Components of a vector by their numbers; or one by an expression, or a part of a tuple."""

    base: Expression
    at: list[int]
    dynamic: Expression | None = None


@dataclass
class VectorOf(Expression):
    parts: list[Expression]


@dataclass
class TupleOf(Expression):
    parts: list[Expression]


@dataclass
class Shape(Expression):
    """A size of an array: of its shape, or of its strides."""

    name: str
    which: str
    axis: int


@dataclass
class Builtin(Expression):
    """A call of a builtin; `builtin` is its line of the table."""

    builtin: Any
    arguments: list[Expression]


@dataclass
class Method(Expression):
    """A call of an image's method."""

    name: str
    image: Expression
    arguments: list[Expression]


@dataclass
class Call(Expression):
    """A call of another function of the language."""

    function: Function
    arguments: list[Expression]


@dataclass
class Statement:
    node: ast.AST = field(repr=False)


@dataclass
class Block:
    statements: list[Statement]


@dataclass
class Assign(Statement):
    name: str
    value: Expression


@dataclass
class Unpack(Statement):
    """Several variables from a tuple, all at once."""

    names: list[str | None]
    value: Expression


@dataclass
class Store(Statement):
    target: Index
    value: Expression


@dataclass
class SetComponent(Statement):
    """A component of a vector that is a variable."""

    name: str
    at: Expression
    value: Expression


@dataclass
class Run(Statement):
    """An expression for its effect."""

    value: Expression


@dataclass
class If(Statement):
    test: Expression
    body: Block
    otherwise: Block


@dataclass
class While(Statement):
    test: Expression
    body: Block
    otherwise: Block


@dataclass
class For(Statement):
    """Over a range; the direction of a step that is no constant is found when the loop begins."""

    name: str
    counter: Scalar
    start: Expression
    stop: Expression
    step: Expression
    body: Block
    otherwise: Block
    rises: bool | None
    nonnegative: bool


@dataclass
class Break(Statement):
    pass


@dataclass
class Continue(Statement):
    pass


@dataclass
class Return(Statement):
    value: Expression | None


@dataclass
class Print(Statement):
    """printf with a format and numbers."""

    format: str
    values: list[Expression]


@dataclass
class Assert(Statement):
    test: Expression
    message: str


@dataclass
class Variable:
    """A variable of a function, or a parameter; parameters that are assigned to are variables as well."""

    name: str
    type: Any
    is_parameter: bool = False
    assigned: bool = False


@dataclass
class Function:
    """A function for certain types of arguments."""

    name: str
    file: str
    line: int
    parameters: list[Variable]
    variables: dict[str, Variable]
    result: Type
    body: Block
    is_kernel: bool = False
    own: frozenset[str] = frozenset()
    """Parameters that are memory by their annotation, and that the kernel declares instead of taking them."""
    constants: dict[str, tuple[Scalar, Any]] = field(default_factory=dict)
    choices: dict[tuple[int, int], Any] = field(default_factory=dict)
    """The types of conditional expressions by their lines and columns, which the simulator converts to."""
