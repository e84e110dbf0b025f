"""Calls: conversions, builtins, methods of images, and functions of the language."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any, Final

from anyzero.language import tree
from anyzero.language.builtins.atomics import Atomic
from anyzero.language.builtins.mathematics import STANDARD
from anyzero.language.builtins.table import Builtin
from anyzero.language.check import hints
from anyzero.language.check.standard import STANDARD_CALLS
from anyzero.language.function import Function
from anyzero.language.source import MISSING
from anyzero.language.types import (
    BOOL,
    F32,
    I32,
    I64,
    SAMPLER,
    VOID,
    Array,
    Image,
    Memory,
    Pointer,
    Refusal,
    Scalar,
    Tuple,
    Vector,
    common,
    defaulted,
    is_weak,
)

if TYPE_CHECKING:
    from anyzero.language.check.expressions import Expressions

__all__ = ["call"]

_CONVERSIONS: Final[dict[Any, Scalar]] = {int: I32, float: F32, bool: BOOL}


def _undefined(e: Expressions, node: ast.expr) -> Refusal:
    """The error for a call of an unknown name, with its equivalent here or the nearest name of the same module."""
    text = ast.unparse(node)
    hint = hints.for_name(text)
    if not hint and isinstance(node, ast.Attribute) and (module := e.static(node.value)) is not MISSING:
        from difflib import get_close_matches

        hint = "".join(
            f"; did you mean {ast.unparse(node.value)}.{near}?" for near in get_close_matches(node.attr, dir(module), 1)
        )
    return Refusal(f"{text} is not defined here{hint}")


def call(e: Expressions, node: ast.Call) -> tree.Expression:
    """A call, by the kind of the called object."""
    if isinstance(node.func, ast.Attribute) and not e.is_outside(node.func):
        return _method(e, node, node.func)
    called = e.static(node.func)
    if called is MISSING:
        raise _undefined(e, node.func)
    if isinstance(called, Function):
        return _function(e, node, called)
    if called is SAMPLER:
        return _sampler(e, node)
    if any(isinstance(each, ast.Starred) for each in node.args) or node.keywords:
        raise Refusal(f"{ast.unparse(node.func)} takes its arguments by position")
    called = STANDARD.get(called, called) if called.__hash__ else called
    if called in (int, float, bool):
        called = _CONVERSIONS[called]
    if isinstance(called, Scalar):
        return _conversion(e, node, called)
    if isinstance(called, Vector):
        return _vector(e, node, called)
    if isinstance(called, Atomic):
        return _atomic(e, node, called)
    if isinstance(called, Builtin):
        return _builtin(e, node, called)
    if isinstance(called, Memory):
        raise Refusal(f"memory is declared without parentheses: write {ast.unparse(node.func)}")
    if called is len:
        return _length(e, node)
    if called.__hash__ and called in STANDARD_CALLS:
        return STANDARD_CALLS[called](e, node)
    if called is range:
        raise Refusal("range is allowed in `for … in range(…)` only")
    if called is print:
        raise Refusal("print must be a statement of its own")
    special = _SPECIAL.get(getattr(called, "__name__", ""))
    if special is not None and getattr(called, "__module__", "").startswith("anyzero.language"):
        return special(e, node)
    text = ast.unparse(node.func)
    allowed = "; builtins, math's functions, min, max, abs, len, sum, divmod and functions with @az.function can"
    raise Refusal(f"{text} cannot be called in a kernel{hints.for_call(text, called) or allowed}")


def _conversion(e: Expressions, node: ast.Call, to: Scalar) -> tree.Expression:
    if len(node.args) > 1:
        raise Refusal(f"{to} takes one number")
    if not node.args:
        return tree.Constant(to, 0)
    value = e.of(node.args[0])
    if not isinstance(value.type, Scalar):
        raise Refusal(f"{value.type} cannot be converted to {to}")
    return e.convert(value, to, node, explicit=True)


def _vector(e: Expressions, node: ast.Call, to: Vector) -> tree.Expression:
    values = e.arguments(node.args)
    if len(values) == 1 and isinstance(values[0].type, Vector) and values[0].type.count == to.count:
        return e.convert(values[0], to, node, explicit=True)
    parts: list[tree.Expression] = []
    for value in values:
        if isinstance(value.type, Vector):
            shared = tree.Shared(value.type, value)
            parts += [tree.Component(value.type.element, shared, [at]) for at in range(value.type.count)]
        else:
            parts.append(value)
    if len(parts) == 1:
        parts *= to.count
    if len(parts) != to.count:
        raise Refusal(f"{to} takes {to.count} components, not {len(parts)}")
    return tree.VectorOf(to, [e.convert(part, to.element, node) for part in parts])


def _sampler(e: Expressions, node: ast.Call) -> tree.Expression:
    given = {each.arg: e.static(each.value) for each in node.keywords if each.arg}
    known = given.keys() <= {"address", "filter", "normalized"} and MISSING not in given.values()
    if node.args or not known:
        raise Refusal("az.sampler takes constants by name: address=, filter= and normalized=")
    try:
        return tree.SamplerLiteral(SAMPLER, SAMPLER(**given))
    except ValueError as error:
        raise Refusal(f"az.sampler: {error}") from None


def _builtin(e: Expressions, node: ast.Call, called: Builtin) -> tree.Expression:
    values = e.arguments(node.args)
    wanted, result = called.signature.resolve(called.name, [value.type for value in values])
    for at in called.constants:
        if at < len(values) and not (isinstance(e.static(node.args[at]), int) and 0 <= e.static(node.args[at]) <= 2):
            raise Refusal(f"{called.name} takes a constant axis: 0, 1 or 2")
    if called.synchronizes:
        e.scope.program.synchronizes = True
    given = [e.convert(value, t, node) for value, t in zip(values, wanted, strict=True)]
    return tree.Builtin(VOID if result is None else result, called, given)


def _atomic(e: Expressions, node: ast.Call, called: Atomic) -> tree.Expression:
    count = len(called.signature.parameters)
    if len(node.args) != count + 2:
        plural = "" if count == 1 else "s"
        raise Refusal(
            f"{called.name} takes the memory, an index and {count} value{plural}; write {called.name}(x, i, …)"
        )
    target = e.element(e.of(node.args[0]), node.args[1])
    kind = target.type.kind if isinstance(target.type, Scalar) else "?"
    if kind not in called.lowering[1] or (target.type.bits < 32 and kind != "f"):
        raise Refusal(f"{called.name} does not take elements of {target.type}")
    values = [e.convert(e.of(each), target.type, node) for each in node.args[2:]]
    result = VOID if called.name == "az.atomic_store" else target.type
    return tree.Builtin(result, called, [target, *values])


def _length(e: Expressions, node: ast.Call) -> tree.Expression:
    value = e.of(node.args[0]) if len(node.args) == 1 else None
    if isinstance(value, tree.Name) and isinstance(value.type, Array):
        return tree.Shape(I64, value.name, "shape", 0)
    if value is not None and isinstance(value.type, Memory):
        return tree.Constant(I32, value.type.shape[0])
    if value is not None and isinstance(value.type, Vector):
        return tree.Constant(I32, value.type.count)
    if value is not None and isinstance(value.type, Tuple):
        return tree.Constant(I32, len(value.type.parts))
    given = value.type if value is not None else "these arguments"
    raise Refusal(
        f"len takes an az.array, local or private memory, a vector or a tuple, not {given}; pass a size along"
    )


def _method(e: Expressions, node: ast.Call, func: ast.Attribute) -> tree.Expression:
    image = e.of(func.value)
    if not isinstance(image.type, Image):
        raise Refusal(f"{image.type} has no methods; az.math has functions, and az.f32(x) converts")
    of = image.type
    if any(each.arg for each in node.keywords):
        raise Refusal("methods of images take their arguments by position")
    if func.attr == "read" and of.access == "r" and len(node.args) == of.ndim:
        return tree.Method(of.element, "read", image, [e.convert(e.index(each), I32, each) for each in node.args])
    if func.attr == "sample" and of.access == "r" and len(node.args) == of.ndim + 1:
        sampler = e.of(node.args[0])
        if sampler.type != SAMPLER:
            raise Refusal(f"sample takes a sampler first, not {sampler.type}")
        places = [e.convert(e.of(each), F32, each) for each in node.args[1:]]
        return tree.Method(of.element, "sample", image, [sampler, *places])
    if func.attr == "write" and of.access == "w" and len(node.args) == of.ndim + 1:
        places = [e.convert(e.index(each), I32, each) for each in node.args[: of.ndim]]
        value = e.convert(e.of(node.args[-1]), of.element, node)
        return tree.Method(VOID, "write", image, [*places, value])
    axes = ", ".join("xyz"[: of.ndim])
    allowed = f"read({axes}) and sample(sampler, {axes})" if of.access == "r" else f"write({axes}, vector)"
    raise Refusal(f"{of} has {allowed}, width{', height' if of.ndim > 1 else ''}{', depth' if of.ndim > 2 else ''}")


def _bitcast(e: Expressions, node: ast.Call) -> tree.Expression:
    to = e.static(node.args[1]) if len(node.args) == 2 else None
    if not isinstance(to, Scalar | Vector):
        raise Refusal("az.bitcast takes a value and a type, as in az.bitcast(x, az.u32)")
    value = e.concrete(e.of(node.args[0]), node)
    if not isinstance(value.type, Scalar | Vector) or value.type.size != to.size or BOOL in (value.type, to):
        raise Refusal(f"{value.type} and {to} have different sizes")
    return value if value.type == to else tree.Unary(to, "bitcast", value)


_SPECIAL: Final = {"bitcast": _bitcast}


def _function(e: Expressions, node: ast.Call, called: Function) -> tree.Expression:
    from anyzero.language.check.functions import specialized

    program = e.scope.program
    if called.source in program.open:
        raise Refusal(f"{called.source.name} calls itself; recursion is not part of the language")
    try:
        bound = inspect.signature(called.source.function).bind(
            *node.args, **{each.arg: each.value for each in node.keywords if each.arg}
        )
    except TypeError as error:
        raise Refusal(f"{called.source.name}: {error}") from None
    bound.apply_defaults()
    values: list[tree.Expression] = []
    nodes: list[ast.expr] = []
    for given in bound.arguments.values():
        is_node = isinstance(given, ast.expr)
        values.append(e.of(given) if is_node else e.literal(given))
        nodes.append(given if is_node else node)
    wanted = [_parameter(called, name, value) for name, value in zip(bound.arguments, values, strict=True)]
    given = [e.convert(value, t, at) for value, t, at in zip(values, wanted, nodes, strict=True)]
    function = specialized(program, called.source, dict(zip(bound.arguments, wanted, strict=True)))
    return tree.Call(function.result, function, given)


def _parameter(called: Function, name: str, value: tree.Expression) -> Any:
    """The type of a parameter: its annotation's, or that of its argument."""
    wanted = called.annotations.get(name)
    given = value.type
    if wanted is None:
        return defaulted(given, getattr(value, "value", None))
    if isinstance(wanted, Pointer):
        # An annotated pointer is to elements in any memory.
        found = given.decayed if isinstance(given, Memory) else given.pointer if isinstance(given, Array) else given
        if not isinstance(found, Pointer) or found.element != wanted.element:
            raise Refusal(f"{called.source.name} takes {wanted} for {name}, not {given}")
        return found
    if isinstance(wanted, Scalar) and isinstance(given, Scalar) and not is_weak(given):
        both = common(given, wanted)
        if both is not wanted and given is not wanted:
            raise Refusal(f"{called.source.name} takes {wanted} for {name}, not {given}; write az.{wanted}(…)")
    return wanted
