"""Expressions as instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from anyzero.language import tree
from anyzero.language.types import BOOL, I32, I64, U8, Array, Memory, Pointer, Scalar, Vector, is_number
from anyzero.language.write.arithmetic import arithmetic, converted, power, turned
from anyzero.language.write.body import Body
from anyzero.language.write.calls import builtin, method
from anyzero.language.write.module import literal

__all__ = ["Values", "is_cheap", "sizes_of"]

_CHEAP: Final = (tree.Constant, tree.Specialized, tree.Name, tree.Shape)


class Values:
    """The writer of expressions in one function; `places` are the pointers of its variables, by name."""

    def __init__(self, body: Body, call: Callable[[tree.Function], int]) -> None:
        self.b = body
        self.call = call
        self.places: dict[str, int] = {}
        self.values: dict[str, int] = {}
        """Parameters that are never assigned to, and memory."""
        self.sizes: dict[tuple[str, str, int], int] = {}
        self._kept: dict[int, tuple[int, tree.Expression]] = {}

    def of(self, e: tree.Expression) -> int:
        """The id of the value."""
        found: int = getattr(self, f"_{type(e).__name__.lower()}")(e)
        return found

    def _constant(self, e: tree.Constant) -> int:
        return self.b.constant(e.type, e.value)

    def _specialized(self, e: tree.Specialized) -> int:
        return self.values[e.name]

    def _name(self, e: tree.Name) -> int:
        found = self.values.get(e.name)
        return self.b.load(e.type, self.places[e.name]) if found is None else found

    def _shape(self, e: tree.Shape) -> int:
        return self.sizes[e.name, e.which, e.axis]

    def _own(self, e: tree.Own) -> int:
        of: Memory = e.type
        module = self.b.module
        if of.space == "local":
            # A generic function has separate memory for each type that it is compiled for.
            key = "own", e.key, of
            made = module.known(key)
            found = module.variable(key, module.type(of), "Workgroup")
            if not made:
                module.name(found, "local_memory")
            return found
        return self.b.variable(module.memory(of))

    def _samplerliteral(self, e: tree.SamplerLiteral) -> int:
        return self.b.module.sampler(e.value)

    def _named(self, e: tree.Named) -> int:
        found = self.of(e.value)
        self.b.store(self.places[e.name], found)
        return found

    def _shared(self, e: tree.Shared) -> int:
        found = self._kept.get(id(e))
        if found is None:
            # The tree is held, so that its number stays its own.
            found = self._kept[id(e)] = self.of(e.value), e
        return found[0]

    def again(self, e: tree.Expression) -> int:
        """The value of an expression that is written in several places, computed again in each."""
        before = dict(self._kept)
        found = self.of(e)
        self._kept = before
        return found

    # Operators

    def _binary(self, e: tree.Binary) -> int:
        if isinstance(e.type, Pointer):
            return self._moved(e)
        if e.operator in ("+", "-") and self.b.module.contract and _kind(e.type) == "f":
            found = self._contracted(e)
            if found is not None:
                return found
        left = self.of(e.left)
        known = e.right.value if isinstance(e.right, tree.Constant) else None
        if e.operator == "**" and isinstance(e.right, tree.Constant) and e.right.type.weak:
            return power(self.b, e.left.type, left, e.right.value)
        right = self.of(e.right)
        if e.operator == "**" and e.right.type is I32 and e.left.type.kind == "f":
            return self.b.opencl("pown", e.type, left, right)
        return arithmetic(self.b, e.operator, e.left.type, e.type, left, right, nonnegative=e.nonnegative, known=known)

    def _contracted(self, e: tree.Binary) -> int | None:
        """Contraction: a product and a sum in one step, as C compilers do it within an expression."""
        b, left, right = self.b, e.left, e.right
        if isinstance(left, tree.Binary) and left.operator == "*":
            x, y, z = self.of(left.left), self.of(left.right), self.of(right)
            return b.opencl("mad", e.type, x, y, turned(b, "-", e.type, z) if e.operator == "-" else z)
        if isinstance(right, tree.Binary) and right.operator == "*":
            z, x, y = self.of(left), self.of(right.left), self.of(right.right)
            return b.opencl("mad", e.type, turned(b, "-", e.type, x) if e.operator == "-" else x, y, z)
        return None

    def _moved(self, e: tree.Binary) -> int:
        base = self.pointer(e.left)
        return self.b.emit("PtrAccessChain", e.type, base, self._wide(e.right))

    def _unary(self, e: tree.Unary) -> int:
        value = self.of(e.operand)
        if e.operator == "bitcast":
            same = is_number(e.type) and _kind(e.type) in "iu" and _kind(e.operand.type) in "iu"
            if same and isinstance(e.type, Vector) == isinstance(e.operand.type, Vector):
                return value
            return self.b.emit("Bitcast", e.type, value)
        return turned(self.b, e.operator, e.type, value)

    def _convert(self, e: tree.Convert) -> int:
        if isinstance(e.type, Pointer):
            return self.pointer(e.value)
        return converted(self.b, self.of(e.value), e.value.type, e.type)

    def _logical(self, e: tree.Logical) -> int:
        """Short-circuit evaluation: from left to right, until one decides."""
        b = self.b
        if all(is_cheap(part) for part in e.parts[1:]):
            found = self.of(e.parts[0])
            for part in e.parts[1:]:
                found = b.emit("LogicalAnd" if e.operator == "and" else "LogicalOr", BOOL, found, self.of(part))
            return found
        place = b.variable(b.module.type(BOOL))
        end = b.module.id()
        b.store(place, self.of(e.parts[0]))
        for part in e.parts[1:]:
            after, so_far = b.module.id(), b.load(BOOL, place)
            b.branch_if(so_far, *((after, end) if e.operator == "and" else (end, after)))
            b.label(after)
            b.store(place, self.of(part))
        b.label(end)
        return b.load(BOOL, place)

    def _choice(self, e: tree.Choice) -> int:
        b = self.b
        test = self.of(e.test)
        if is_cheap(e.yes) and is_cheap(e.no):
            return b.select(e.type, test, self.of(e.yes), self.of(e.no))
        place = b.variable(b.module.type(e.type))
        yes, no, end = b.module.id(), b.module.id(), b.module.id()
        b.branch_if(test, yes, no, end)
        for label, value in ((yes, e.yes), (no, e.no)):
            b.label(label)
            b.store(place, self.of(value))
            b.branch(end)
        b.label(end)
        return b.load(e.type, place)

    # Memory

    def pointer(self, e: tree.Expression) -> int:
        """A pointer to the first element of a value that has elements."""
        found = self.of(e)
        if isinstance(e.type, Memory):
            module = self.b.module
            t = module.pointer(e.type.space, module.type(module.stored(e.type.element)))
            zeros = [module.integer(0)] * (len(e.type.shape))
            return self.b.emit("InBoundsAccessChain", t, found, *zeros)
        return found

    def place(self, e: tree.Index) -> int:
        """The pointer to an element."""
        b, of = self.b, e.base.type
        module = b.module
        element = module.type(module.stored(e.type))
        if isinstance(of, Memory):
            t = module.pointer(of.space, element)
            # SPIR-V treats indices as signed.
            indices = [self.of(each) if each.type in (I32, I64) else self._wide(each) for each in e.indices]
            return b.emit("InBoundsAccessChain", t, self.of(e.base), *indices)
        t = module.pointer(of.space if isinstance(of, Pointer) else "global", element)
        at = self._wide(e.indices[0]) if isinstance(of, Pointer) else self._offset(e, of)
        return b.emit("InBoundsPtrAccessChain", t, self.of(e.base), at)

    def _offset(self, e: tree.Index, of: Array) -> int:
        """The index of an element of an array among all of them."""
        assert isinstance(e.base, tree.Name)
        found: int | None = None
        for axis, index in enumerate(e.indices):
            part = self._wide(index)
            if axis < of.ndim - 1:
                part = self.b.emit("IMul", I64, part, self.sizes[e.base.name, "strides", axis])
            found = part if found is None else self.b.emit("IAdd", I64, found, part)
        assert found is not None
        return found

    def _wide(self, e: tree.Expression) -> int:
        """An index in 64 bits."""
        if isinstance(e, tree.Constant):
            return self.b.constant(I64, e.value)
        return converted(self.b, self.of(e), e.type, I64)

    def _index(self, e: tree.Index) -> int:
        stored = self.b.module.stored(e.type)
        value = self.b.load(stored, self.place(e), stored.alignment)
        return converted(self.b, value, U8, BOOL) if e.type is BOOL else value

    def store(self, e: tree.Index, value: int) -> None:
        """Store to an element."""
        stored = self.b.module.stored(e.type)
        if e.type is BOOL:
            value = converted(self.b, value, BOOL, U8)
        self.b.store(self.place(e), value, stored.alignment)

    # Vectors and tuples

    def _component(self, e: tree.Component) -> int:
        base = self.of(e.base)
        if e.dynamic is not None:
            return self.b.emit("VectorExtractDynamic", e.type, base, self.of(e.dynamic))
        if len(e.at) == 1:
            return self.b.emit("CompositeExtract", e.type, base, literal(e.at[0]))
        return self.b.emit("VectorShuffle", e.type, base, base, *map(literal, e.at))

    def _vectorof(self, e: tree.VectorOf) -> int:
        parts = e.parts
        if all(part is parts[0] for part in parts):
            return self.b.emit("CompositeConstruct", e.type, *[self.of(parts[0])] * len(parts))
        return self.b.emit("CompositeConstruct", e.type, *map(self.of, parts))

    def _tupleof(self, e: tree.TupleOf) -> int:
        return self.b.emit("CompositeConstruct", e.type, *map(self.of, e.parts))

    # Calls

    def _builtin(self, e: tree.Builtin) -> int:
        return builtin(self, e)

    def _method(self, e: tree.Method) -> int:
        return method(self, e)

    def _call(self, e: tree.Call) -> int:
        given: list[int] = []
        for parameter, value in zip(e.function.parameters, e.arguments, strict=True):
            if isinstance(parameter.type, Array):
                assert isinstance(value, tree.Name)
                given.append(self.of(value))
                given += [self.sizes[value.name, which, axis] for which, axis in sizes_of(parameter.type)]
            elif isinstance(parameter.type, Pointer):
                given.append(self.pointer(value))
            else:
                given.append(self.of(value))
        return self.b.emit("FunctionCall", e.type, self.call(e.function), *given)


def sizes_of(of: Array) -> list[tuple[str, int]]:
    """The sizes that are passed behind the pointer of an array, in order."""
    return [("shape", axis) for axis in range(of.ndim)] + [("strides", axis) for axis in range(of.ndim - 1)]


def _kind(t: Any) -> str:
    return str(t.element.kind if isinstance(t, Vector) else t.kind)


def is_cheap(e: tree.Expression) -> bool:
    """Whether speculative evaluation is cheap and harmless: no memory, no calls, no divisions."""
    if isinstance(e, _CHEAP):
        return True
    if isinstance(e, tree.Binary):
        harmless = e.operator not in ("//", "%", "**") or e.type.kind == "f" if isinstance(e.type, Scalar) else False
        return harmless and e.operator != "**" and is_cheap(e.left) and is_cheap(e.right)
    if isinstance(e, tree.Unary):
        return is_cheap(e.operand)
    if isinstance(e, tree.Convert | tree.Shared):
        return not isinstance(e.type, Pointer) and is_cheap(e.value)
    if isinstance(e, tree.Component):
        return e.dynamic is None and is_cheap(e.base)
    if isinstance(e, tree.Logical):
        return all(map(is_cheap, e.parts))
    return isinstance(e, tree.Choice) and all(map(is_cheap, (e.test, e.yes, e.no)))
