"""The typed tree: a function with a type for every expression, as the writer takes it."""

from __future__ import annotations

import ast
from typing import Any

from anyzero.language.record import Record
from anyzero.language.types import SamplerValue, Scalar, Type

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
    "Named",
    "Own",
    "Print",
    "Return",
    "Run",
    "SamplerLiteral",
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


class Expression(Record):
    type: Any


class Constant(Expression):
    """A number; of a weak type until another type is given to it."""

    value: Any


class Specialized(Expression):
    """A parameter that is a specialization constant, with its value now."""

    name: str
    value: Any


class Name(Expression):
    """A variable or a parameter."""

    name: str


class Own(Expression):
    """Local or private memory, by the place that declares it."""

    key: int
    name: str


class Binary(Expression):
    operator: str
    left: Expression
    right: Expression
    nonnegative: bool = False


class Unary(Expression):
    operator: str
    operand: Expression


class Logical(Expression):
    """`and` and `or` of bools, from left to right until one decides."""

    operator: str
    parts: list[Expression]


class Choice(Expression):
    test: Expression
    yes: Expression
    no: Expression


class Convert(Expression):
    value: Expression


class SamplerLiteral(Expression):
    """A sampler that the kernel has itself."""

    value: SamplerValue


class Named(Expression):
    """`name := value`: the variable is assigned, and the value is the expression's."""

    name: str
    value: Expression


class Shared(Expression):
    """A value that is computed once and used in several places, as in `a < b < c`."""

    value: Expression


class Index(Expression):
    """An element of a pointer, an array or memory of its own; the type is the element's."""

    base: Expression
    indices: list[Expression]


class Component(Expression):
    """Components of a vector by their numbers; or one by an expression, or a part of a tuple."""

    base: Expression
    at: list[int]
    dynamic: Expression | None = None


class VectorOf(Expression):
    parts: list[Expression]


class TupleOf(Expression):
    parts: list[Expression]


class Shape(Expression):
    """A size of an array: of its shape, or of its strides."""

    name: str
    which: str
    axis: int


class Builtin(Expression):
    """A call of a builtin; `builtin` is its line of the table."""

    builtin: Any
    arguments: list[Expression]


class Method(Expression):
    """A call of an image's method."""

    name: str
    image: Expression
    arguments: list[Expression]


class Call(Expression):
    """A call of another function of the language."""

    function: Function
    arguments: list[Expression]


class Statement(Record):
    node: ast.AST


class Block(Record):
    statements: list[Statement]


class Assign(Statement):
    name: str
    value: Expression


class Unpack(Statement):
    """Several variables from a tuple, all at once."""

    names: list[str | None]
    value: Expression


class Store(Statement):
    target: Index
    value: Expression


class SetComponent(Statement):
    """A component of a vector that is a variable."""

    name: str
    at: Expression
    value: Expression


class Run(Statement):
    """An expression that is evaluated for its effect."""

    value: Expression


class If(Statement):
    test: Expression
    body: Block
    otherwise: Block


class While(Statement):
    test: Expression
    body: Block
    otherwise: Block


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


class Break(Statement):
    pass


class Continue(Statement):
    pass


class Return(Statement):
    value: Expression | None


class Print(Statement):
    """printf with a format and numbers."""

    format: str
    values: list[Expression]


class Assert(Statement):
    test: Expression
    message: str


class Variable(Record):
    """A variable of a function, or a parameter; parameters that are assigned to are variables as well."""

    name: str
    type: Any
    assigned: bool = False


class Function(Record):
    """A function for certain types of arguments."""

    name: str
    file: str
    line: int
    parameters: list[Variable]
    variables: dict[str, Variable]
    result: Type
    body: Block
    is_kernel: bool
    own: frozenset[str]
    """Parameters that are memory by their annotation, and that the kernel declares instead of taking them."""
    constants: dict[str, tuple[Scalar, Any]]
    choices: dict[tuple[int, int], Any]
    """The types of conditional expressions by their lines and columns, which the simulator converts to."""
