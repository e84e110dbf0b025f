"""Expressions: the type of each, and the conversions between them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

import numpy as np

from anyzero.api.buffer import Buffer
from anyzero.language import tree
from anyzero.language.annotations import _Maker
from anyzero.language.check import hints
from anyzero.language.check.intervals import Interval, interval
from anyzero.language.check.scope import Scope
from anyzero.language.numbers import LETTERS
from anyzero.language.operators import binary_types, unary_type
from anyzero.language.source import MISSING
from anyzero.language.types import (
    BOOL,
    I32,
    I64,
    SAMPLER,
    U64,
    WEAK_FLOAT,
    Array,
    Const,
    Image,
    Memory,
    Pointer,
    Refusal,
    SamplerValue,
    Scalar,
    Tuple,
    Vector,
    common,
    defaulted,
    is_integer,
    is_weak,
    of_value,
    require_fit,
)

__all__ = ["Expressions"]

_SIGNS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
    ast.And: "and",
    ast.Or: "or",
}
_FOLDS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
_TURNS: Final[dict[str, Callable[[Any], Any]]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


class Expressions:
    """The checker of expressions in one scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def of(self, node: ast.expr) -> tree.Expression:
        """The typed expression; raises KernelError with the place of an expression that the language does not have."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            word = _WORDS.get(type(node), type(node).__name__)
            hint = hints.for_construct(node) or "see `anyzero docs language`, Operators"
            self.scope.source.refuse(node, f"{word} is not part of the language; {hint}")
        try:
            found: tree.Expression = method(node)
        except Refusal as refusal:
            raise self.scope.source.error(node, str(refusal)) from None
        return found

    # Conversions

    def convert(self, value: tree.Expression, to: Any, node: ast.AST, *, explicit: bool = False) -> tree.Expression:
        """The value as one of another type; implicitly only where `assignable` says so."""
        if value.type == to:
            return value
        if isinstance(value, tree.Constant) and isinstance(to, Scalar):
            return self._retyped(value, to, explicit)
        if isinstance(value, tree.Choice) and is_weak(value.type):
            yes, no = (self.convert(part, to, node, explicit=explicit) for part in (value.yes, value.no))
            return tree.Choice(to, value.test, yes, no)
        if isinstance(value, tree.TupleOf) and isinstance(to, Tuple) and len(value.parts) == len(to.parts):
            parts = [self.convert(part, t, node) for part, t in zip(value.parts, to.parts, strict=True)]
            return tree.TupleOf(to, parts)
        if is_weak(to):
            return value
        if isinstance(to, Vector) and isinstance(value.type, Scalar):
            return tree.VectorOf(to, [self.convert(value, to.element, node, explicit=explicit)] * to.count)
        if not explicit:
            self._require_assignable(value.type, to)
        return tree.Convert(to, value)

    @staticmethod
    def _require_assignable(given: Any, to: Any) -> None:
        if isinstance(given, Scalar) and isinstance(to, Scalar):
            if given.kind == "f" and to.kind != "f":
                raise Refusal(f"a {given} is not converted to {to} implicitly: write {_spelled(to)}(…)")
            return
        if isinstance(to, Pointer) and (
            (isinstance(given, Memory) and given.decayed == to) or (isinstance(given, Array) and given.pointer == to)
        ):
            return
        raise Refusal(f"{given} cannot be converted to {to}")

    def _retyped(self, value: tree.Constant, to: Scalar, explicit: bool) -> tree.Constant:
        number = value.value
        if to.weak:
            return tree.Constant(to, float(number) if to is WEAK_FLOAT else number)
        if to.kind == "b":
            if not explicit and value.type is not BOOL:
                raise Refusal(f"{number} is not a bool; write {number} != 0")
            return tree.Constant(to, bool(number))
        if to.kind == "f":
            return tree.Constant(to, float(number))
        if not explicit:
            if isinstance(number, float):
                raise Refusal(f"{number} is not converted to {to} implicitly: write {_spelled(to)}({number})")
            require_fit(number, to)
        number = int(number) & ((1 << to.bits) - 1)
        return tree.Constant(to, number - (1 << to.bits) if number > to.high else number)

    def concrete(self, value: tree.Expression, node: ast.AST) -> tree.Expression:
        """The value with the type that a literal has by itself."""
        t = defaulted(value.type, getattr(value, "value", None))
        return self.convert(value, t, node) if t != value.type else value

    def condition(self, node: ast.expr) -> tree.Expression:
        """A bool; of a number, whether it is not 0."""
        value = self.of(node)
        if not isinstance(value.type, Scalar):
            self.scope.source.refuse(node, f"a condition is a bool or a number, not {value.type}")
        return self.convert(value, BOOL, node, explicit=True)

    # Names and constants

    def static(self, node: ast.AST) -> Any:
        """The value of an expression that is known now: of outside names and literals; MISSING for others."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.scope.outside(node.id)
        if isinstance(node, ast.Tuple):
            parts = tuple(self.static(part) for part in node.elts)
            return MISSING if any(part is MISSING for part in parts) else parts
        if isinstance(node, ast.Attribute):
            base = self.static(node.value)
            if isinstance(base, ModuleType | type) or hasattr(base, "__module__"):
                return getattr(base, node.attr, MISSING)
            return MISSING
        if isinstance(node, ast.Subscript):
            base = self.static(node.value)
            key = self.static(node.slice) if base is not MISSING else MISSING
            if isinstance(base, _Maker) and key is MISSING:
                self.scope.source.refuse(node.slice, "sizes and types in a type are constants")
            return base[key] if isinstance(base, _Maker) else MISSING
        if isinstance(node, ast.BinOp | ast.UnaryOp):
            value = self.of(node)
            return value.value if isinstance(value, tree.Constant) else MISSING
        return MISSING

    def _outside_value(self, node: ast.expr) -> tree.Expression | None:
        value = self.static(node)
        if value is MISSING:
            return None
        if isinstance(value, Memory):
            return self.own(value, node)
        if isinstance(value, SamplerValue):
            return tree.SamplerLiteral(SAMPLER, value)
        t = of_value(value)
        if t is None:
            text = ast.unparse(node)
            array = f"; pass {text} as an argument" if isinstance(value, np.ndarray | Buffer) else ""
            raise Refusal(
                f"{text} is {_article(value)}; kernels take numbers from outside, and functions with "
                f"@az.function{array or hints.for_name(text)}"
            )
        return tree.Constant(t, value if t.weak else value.item() if hasattr(value, "item") else value)

    def own(self, of: Memory, node: ast.AST) -> tree.Own:
        """Memory that the function declares at that place."""
        place: Any = node
        return tree.Own(of, hash((self.scope.source.file, place.lineno, place.col_offset)), f"{of.space}")

    def literal(self, value: Any) -> tree.Expression:
        """The constant of a value of Python."""
        return self._constant(ast.Constant(value))

    def _constant(self, node: ast.Constant) -> tree.Expression:
        t = of_value(node.value)
        if t is None:
            text = "; print and assert take texts" if isinstance(node.value, str) else ""
            raise Refusal(f"{node.value!r} is not a number; kernels compute with numbers only{text}")
        return tree.Constant(t, node.value)

    def _name(self, node: ast.Name) -> tree.Expression:
        scope = self.scope
        t = scope.parameters.get(node.id)
        if isinstance(t, Const):
            return tree.Specialized(t.element, node.id, t.value)
        if node.id in scope.locals:
            return tree.Name(scope.read(node.id), node.id)
        found = self._outside_value(node)
        if found is None:
            raise Refusal(f"{node.id} is not defined here{hints.for_name(node.id)}")
        return found

    def _attribute(self, node: ast.Attribute) -> tree.Expression:
        outside = self._outside_value(node) if self.is_outside(node) else None
        if outside is not None:
            return outside
        base = self.of(node.value)
        if isinstance(base.type, Vector):
            return self.components(base, node.attr)
        if isinstance(base.type, Array) and isinstance(base, tree.Name):
            if node.attr == "size":
                sizes: list[tree.Expression] = [
                    tree.Shape(I64, base.name, "shape", axis) for axis in range(base.type.ndim)
                ]
                product = sizes[0]
                for size in sizes[1:]:
                    product = tree.Binary(I64, "*", product, size)
                return product
            if node.attr == "ndim":
                return tree.Constant(I32, base.type.ndim)
            raise Refusal(f"{node.attr}: an array has shape[axis], strides[axis], size and ndim")
        if isinstance(base.type, Image) and node.attr in ("width", "height", "depth"):
            axis = ("width", "height", "depth").index(node.attr)
            if axis >= base.type.ndim:
                raise Refusal(f"{base.type} has no {node.attr}")
            return tree.Method(I32, node.attr, base, [])
        hint = ""
        if isinstance(base.type, Pointer) and node.attr in ("shape", "size", "ndim", "strides"):
            hint = f"; az.array[az.{base.type.element}, 1] has one" if base.type.space == "global" else ""
        raise Refusal(f"{base.type} has no {node.attr}{hint}")

    def is_outside(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.scope.locals

    def components(self, base: tree.Expression, names: str) -> tree.Expression:
        of: Vector = base.type
        if set(names) - set(LETTERS[: of.count]) or len(names) not in (1, 2, 3, 4):
            raise Refusal(f"{of} has the components {', '.join(LETTERS[: of.count])} and [index], not {names}")
        at = [LETTERS.index(letter) for letter in names]
        return tree.Component(of.element if len(at) == 1 else Vector(of.element, len(at)), base, at)

    # Subscripts

    def _subscript(self, node: ast.Subscript) -> tree.Expression:
        if self.is_outside(node):
            outside = self._outside_value(node)
            if outside is not None:
                return outside
        if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"):
            base = self.of(node.value.value)
            if isinstance(base.type, Array) and isinstance(base, tree.Name):
                return self._extent(base, node.value.attr, node.slice)
        base = self.of(node.value)
        if isinstance(base.type, Tuple):
            at = self.static(node.slice)
            if not isinstance(at, int) or not -len(base.type.parts) <= at < len(base.type.parts):
                raise Refusal(f"a tuple is indexed by a constant below {len(base.type.parts)}")
            at %= len(base.type.parts)
            return tree.Component(base.type.parts[at], base, [at])
        if isinstance(base.type, Vector):
            return self._element_of_vector(base, node.slice)
        return self.element(base, node.slice)

    def _extent(self, base: tree.Name, which: str, at: ast.expr) -> tree.Expression:
        axis, ndim = self.static(at), base.type.ndim
        if not isinstance(axis, int) or not -ndim <= axis < ndim:
            raise Refusal(f"{which} takes a constant axis; {base.type} has {ndim}")
        axis %= ndim
        if which == "strides" and axis == ndim - 1:
            return tree.Constant(I64, 1)
        return tree.Shape(I64, base.name, which, axis)

    def _element_of_vector(self, base: tree.Expression, at: ast.expr) -> tree.Expression:
        place = self.static(at)
        if isinstance(place, int):
            if not 0 <= place < base.type.count:
                raise Refusal(f"{base.type} has components 0 to {base.type.count - 1}")
            return tree.Component(base.type.element, base, [place])
        return tree.Component(base.type.element, base, [], self.index(at))

    def element(self, base: tree.Expression, at: ast.expr) -> tree.Index:
        """An element in memory."""
        if not isinstance(base.type, Pointer | Array | Memory):
            raise Refusal(f"{base.type} has no elements")
        nodes = at.elts if isinstance(at, ast.Tuple) else [at]
        if any(isinstance(each, ast.Slice) for each in nodes):
            raise Refusal("slices are not part of the language; write a loop over the elements")
        of = base.type
        axes = 1 if isinstance(of, Pointer) else of.ndim if isinstance(of, Array) else len(of.shape)
        if len(nodes) != axes:
            raise Refusal(f"{base.type} takes {axes} ind{'ex' if axes == 1 else 'ices'}, not {len(nodes)}")
        found = [self.index(each) for each in nodes]
        for each, place in zip(nodes, found, strict=True):
            if isinstance(place, tree.Constant) and place.value < 0 and self._is_start(base):
                self.scope.source.refuse(each, "an index below 0 is out of bounds; it does not count from the end")
        return tree.Index(base.type.element, base, found)

    def _is_start(self, base: tree.Expression) -> bool:
        """Whether it is known to be the first element of its memory, as is a kernel's pointer that is never moved."""
        if not isinstance(base.type, Pointer):
            return True
        scope = self.scope
        own = isinstance(base, tree.Name) and base.name in scope.parameters and base.name not in scope.assigned_before
        return own and scope.program.open == [scope.source]

    def index(self, node: ast.expr) -> tree.Expression:
        """An integer."""
        value = self.concrete(self.of(node), node)
        if not isinstance(value.type, Scalar) or not is_integer(value.type):
            hint = f"; write az.i32({ast.unparse(node)})" if isinstance(value.type, Scalar) else ""
            self.scope.source.refuse(node, f"an index is an integer, not {value.type}{hint}")
        return value

    # Operators

    def _binop(self, node: ast.BinOp) -> tree.Expression:
        sign = _SIGNS.get(type(node.op))
        if sign is None:
            raise Refusal("the operator @ is not supported; write the loops")
        left, right = self.of(node.left), self.of(node.right)
        if any(isinstance(each.type, Array) for each in (left, right)) and not is_integer(right.type):
            operands = f"{left.type} {sign} {right.type}"
            raise Refusal(f"{operands}: arrays are computed element by element, as in a[i] {sign} b[i]")
        if sign in ("+", "-") and isinstance(left.type, Pointer | Memory | Array):
            return self._moved(sign, left, self.index(node.right))
        return self.binary(sign, left, right, node)

    def _moved(self, sign: str, base: tree.Expression, distance: tree.Expression) -> tree.Expression:
        pointer = base.type if isinstance(base.type, Pointer) else getattr(base.type, "decayed", None)
        if isinstance(base.type, Array):
            pointer = base.type.pointer
        if sign == "-":
            distance = tree.Unary(distance.type, "-", distance)
        return tree.Binary(pointer, "+", base, distance)

    def binary(self, sign: str, left: tree.Expression, right: tree.Expression, node: ast.AST) -> tree.Expression:
        """An operator between two values."""
        if (
            isinstance(left, tree.Constant)
            and isinstance(right, tree.Constant)
            and is_weak(left.type)
            and is_weak(right.type)
        ):
            return self._folded(sign, left.value, right.value)
        a, b, result = binary_types(sign, left.type, right.type)
        if sign == "**" and is_weak(b) and not isinstance(right, tree.Constant) and self.scope.strict:
            raise Refusal("the exponent of an integer is a constant")
        if sign == "**" and isinstance(b, Scalar) and not b.weak and is_integer(b):
            b = I32
        if sign == "**" and is_weak(b) and isinstance(right, tree.Constant) and isinstance(right.value, int):
            if right.value < 0 and is_integer(a):
                raise Refusal("an integer has no negative powers; write az.f32(…)")
            return tree.Binary(result, sign, self.convert(left, a, node), right)
        if sign in _COMPARISONS and a in (I64, U64) and self.fits(I32, left, right):
            # Vectors of the narrower type hold twice as many elements.
            narrow = [self.convert(each, I32, node, explicit=True) for each in (left, right)]
            return tree.Binary(result, sign, narrow[0], narrow[1])
        nonnegative = sign in ("//", "%") and self.is_nonnegative(left) and self.is_nonnegative(right)
        return tree.Binary(
            result, sign, self.convert(left, a, node), self.convert(right, b, node), nonnegative=nonnegative
        )

    def _folded(self, sign: str, x: Any, y: Any) -> tree.Constant:
        try:
            found = _FOLDS[sign](x, y)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Refusal(f"{x} {sign} {y}: {error}") from None
        if isinstance(found, complex):
            raise Refusal(f"{x} {sign} {y} is not a real number")
        t = of_value(found)
        assert t is not None
        return tree.Constant(t, found)

    def bounds(self, value: tree.Expression) -> Interval:
        """The least and the greatest value of an integer, as far as they are known."""
        return interval(value, self.scope.bounds_of)

    def fits(self, t: Scalar, *values: tree.Expression) -> bool:
        """Whether integers are known to be in the range of a type."""
        return all(t.low <= low and high <= t.high for low, high in map(self.bounds, values))

    def is_nonnegative(self, value: tree.Expression) -> bool:
        """Whether a value is known not to be negative, so that its division needs no correction."""
        return is_integer(value.type) and self.bounds(value)[0] >= 0

    def _unaryop(self, node: ast.UnaryOp) -> tree.Expression:
        sign = _SIGNS[type(node.op)]
        if sign == "not":
            return tree.Unary(BOOL, "not", self.condition(node.operand))
        value = self.of(node.operand)
        if isinstance(value, tree.Constant) and is_weak(value.type):
            if sign == "~" and not isinstance(value.value, int):
                raise Refusal("~ takes integers")
            turned = _TURNS[sign](value.value)
            return tree.Constant(value.type, turned)
        t = unary_type(sign, value.type)
        value = self.convert(value, t, node)
        return value if sign == "+" else tree.Unary(t, sign, value)

    def _boolop(self, node: ast.BoolOp) -> tree.Expression:
        sign = _SIGNS[type(node.op)]
        parts = [self.of(node.values[0]), *map(self._perhaps, node.values[1:])]
        for part, each in zip(parts, node.values, strict=True):
            if part.type is not BOOL:
                text = ast.unparse(each)
                self.scope.source.refuse(each, f"`{sign}` takes bools, not {part.type}; write {text} != 0")
        return tree.Logical(BOOL, sign, parts)

    def _compare(self, node: ast.Compare) -> tree.Expression:
        if any(type(sign) not in _SIGNS for sign in node.ops):
            raise Refusal("`is` and `in` are not part of the language; compare numbers with ==")
        values = [self.of(each) for each in (node.left, *node.comparators)]
        # A value between two signs is an operand of two comparisons.
        for at in range(1, len(values) - 1):
            if not isinstance(values[at], tree.Constant):
                values[at] = tree.Shared(values[at].type, values[at])
        parts: list[tree.Expression] = []
        for sign, left, right in zip(node.ops, values, values[1:], strict=False):
            parts.append(self.binary(_SIGNS[type(sign)], left, right, node))
        return parts[0] if len(parts) == 1 else tree.Logical(BOOL, "and", parts)

    def _ifexp(self, node: ast.IfExp) -> tree.Expression:
        test, yes, no = self.condition(node.test), self._perhaps(node.body), self._perhaps(node.orelse)
        t = yes.type if yes.type == no.type else common(yes.type, no.type)
        self.scope.choices[node.lineno, node.col_offset] = t
        return tree.Choice(t, test, self.convert(yes, t, node), self.convert(no, t, node))

    def _perhaps(self, node: ast.expr) -> tree.Expression:
        """An expression that may not be evaluated, so variables that it assigns have no value behind it."""
        before = set(self.scope.defined)
        found = self.of(node)
        self.scope.defined = before
        return found

    def _namedexpr(self, node: ast.NamedExpr) -> tree.Expression:
        assert isinstance(node.target, ast.Name)
        name, value = node.target.id, self.of(node.value)
        if not isinstance(value.type, Scalar | Vector):
            raise Refusal(f"`:=` assigns numbers and vectors, not {value.type}")
        if name in self.scope.parameters:
            raise Refusal(f"{name} is a parameter; assign it in a statement of its own")
        to = self.scope.assign(name, value.type, node)
        if self.scope.strict and to != value.type and (not is_weak(value.type) or common(value.type, to) != to):
            line = self.scope.lines.get(name, 0)
            raise Refusal(f"{name} is {to} since line {line}, and {value.type} here; a variable has one type")
        return tree.Named(to, name, self.convert(value, to, node))

    def _tuple(self, node: ast.Tuple) -> tree.Expression:
        parts = [self.of(each) for each in node.elts]
        return tree.TupleOf(Tuple(tuple(part.type for part in parts)), parts)

    def _call(self, node: ast.Call) -> tree.Expression:
        from anyzero.language.check.calls import call

        return call(self, node)

    def arguments(self, nodes: Sequence[ast.expr]) -> list[tree.Expression]:
        return [self.of(each) for each in nodes]


def _spelled(t: Scalar) -> str:
    return "bool" if t is BOOL else f"az.{t}"


def _article(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


_WORDS: Final = {
    ast.Lambda: "a lambda",
    ast.Dict: "a dict",
    ast.List: "a list",
    ast.Set: "a set",
    ast.Await: "await",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Starred: "`*`",
    ast.JoinedStr: "an f-string outside of print and assert",
    ast.Slice: "a slice",
}
