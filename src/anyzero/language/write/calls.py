"""Builtins and methods of images as instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyzero.language import tree
from anyzero.language.types import BOOL, F32, I32, I64, U32, U64, Image, Scalar, Vector
from anyzero.language.write.arithmetic import converted
from anyzero.language.write.module import Enum, literal

if TYPE_CHECKING:
    from anyzero.language.write.values import Values

__all__ = ["builtin", "method"]

_DEVICE: Final = 1
_SUBGROUP: Final = 3
_SCOPES: Final = {"Device": _DEVICE, "Workgroup": 2, "Subgroup": _SUBGROUP}
_RELAXED: Final = 0
_EVERYTHING: Final = 0x10 | 0x100 | 0x200
"""Sequentially consistent, of local and of global memory."""


def builtin(v: Values, e: tree.Builtin) -> int:
    """A call of a builtin, by the way that its line of the table names."""
    kind, *details = e.builtin.lowering
    found: int = _KINDS[kind](v, e, *details)
    return found


def _kind_of(t: Any) -> str:
    return str(t.element.kind if isinstance(t, Vector) else t.kind)


def _input(v: Values, name: str, of: Any) -> int:
    """The value of a builtin variable."""
    module = v.b.module
    t = module.type(of)
    new = not module.known(("input", name))
    variable = module.variable(("input", name), module.pointer("Input", t), "Input")
    if new:
        module.inputs.append(variable)
        module.decorate(variable, "BuiltIn", Enum("BuiltIn", name))
        module.decorate(variable, "Constant")
        module.name(variable, f"__spirv_BuiltIn{name}")
        if name.startswith(("Subgroup", "NumSubgroups")):
            module.need("SubgroupDispatch" if name == "NumSubgroups" else "Groups", "Groups", "SubgroupDispatch")
    return v.b.load(of, variable)


def _id(v: Values, e: tree.Builtin, name: str, count: int) -> int:
    axis = e.arguments[0].value if e.arguments else 0  # type: ignore[attr-defined]
    return v.b.emit("CompositeExtract", I64, _input(v, name, Vector(U64, count)), literal(int(axis)))


def _id64(v: Values, e: tree.Builtin, name: str) -> int:
    return _input(v, name, U64)


def _id32(v: Values, e: tree.Builtin, name: str) -> int:
    return _input(v, name, U32)


def _opencl(v: Values, e: tree.Builtin, names: dict[str, str]) -> int:
    given = [v.of(each) for each in e.arguments]
    name = names[_kind_of(e.arguments[0].type)]
    if e.builtin.signature.repeated:
        found = given[0]
        for each in given[1:]:
            found = v.b.opencl(name, e.type, found, each)
        return found
    return v.b.opencl(name, e.type, *given)


def _op(v: Values, e: tree.Builtin, name: str) -> int:
    return v.b.emit(name, e.type, *map(v.of, e.arguments))


def _scope(v: Values, name: str) -> int:
    return v.b.module.integer(_SCOPES[name])


def _barrier(v: Values, e: tree.Builtin, scope: str) -> int:
    v.b.effect("ControlBarrier", _scope(v, scope), _scope(v, scope), v.b.module.integer(_EVERYTHING))
    return 0


def _fence(v: Values, e: tree.Builtin) -> int:
    v.b.effect("MemoryBarrier", _scope(v, "Device"), v.b.module.integer(_EVERYTHING))
    return 0


def _group(v: Values, e: tree.Builtin, scope: str, name: str, operation: str) -> int:
    v.b.module.need("Groups")
    kind = _kind_of(e.type)
    letter = {"Add": {"f": "F"}.get(kind, "I")}.get(name, {"f": "F", "i": "S", "u": "U"}[kind])
    chosen = Enum("GroupOperation", operation)
    return v.b.emit(f"Group{letter}{name}", e.type, _scope(v, scope), chosen, v.of(e.arguments[0]))


def _vote(v: Values, e: tree.Builtin, scope: str, name: str) -> int:
    v.b.module.need("Groups")
    return v.b.emit(f"Group{name}", BOOL, _scope(v, scope), v.of(e.arguments[0]))


def _broadcast(v: Values, e: tree.Builtin, scope: str) -> int:
    v.b.module.need("Groups")
    value, index = v.of(e.arguments[0]), v.of(e.arguments[1])
    if scope == "Subgroup":
        index = converted(v.b, index, I64, I32)
    else:
        index = _coordinates(v, index)
    return v.b.emit("GroupBroadcast", e.type, _scope(v, scope), value, index)


def _coordinates(v: Values, index: int) -> int:
    """The coordinates in a group of a linear index."""
    size = _input(v, "WorkgroupSize", Vector(U64, 3))
    parts = []
    for axis in range(2):
        extent = v.b.emit("CompositeExtract", I64, size, literal(axis))
        parts.append(v.b.emit("UMod", I64, index, extent))
        index = v.b.emit("UDiv", I64, index, extent)
    return v.b.emit("CompositeConstruct", Vector(I64, 3), *parts, index)


def _shuffle(v: Values, e: tree.Builtin, name: str) -> int:
    v.b.module.need("GroupNonUniform", "GroupNonUniformShuffle")
    return v.b.emit(name, e.type, _scope(v, "Subgroup"), *map(v.of, e.arguments))


def _atomic(v: Values, e: tree.Builtin, names: dict[str, str]) -> int:
    target, *values = e.arguments
    assert isinstance(target, tree.Index)
    of: Scalar = target.type
    name = names[of.kind]
    place = v.place(target)
    given = [v.of(each) for each in values]
    _need_atomics(v, of, name)
    scope = "Workgroup" if getattr(target.base.type, "space", "") == "local" else "Device"
    where, relaxed = _scope(v, scope), v.b.module.integer(_RELAXED)
    if name == "AtomicStore":
        v.b.effect(name, place, where, relaxed, *given)
        return 0
    if name == "AtomicCompareExchange":
        expected, new = given
        return v.b.emit(name, of, place, where, relaxed, relaxed, new, expected)
    return v.b.emit(name, of, place, where, relaxed, *given)


def _need_atomics(v: Values, of: Scalar, name: str) -> None:
    if of.bits == 64:
        v.b.module.need("Int64Atomics")
    if name == "AtomicFAddEXT":
        v.b.module.need(f"AtomicFloat{of.bits}AddEXT", extension="SPV_EXT_shader_atomic_float_add")
    elif name in ("AtomicFMinEXT", "AtomicFMaxEXT"):
        v.b.module.need(f"AtomicFloat{of.bits}MinMaxEXT", extension="SPV_EXT_shader_atomic_float_min_max")


_KINDS: Final[dict[str, Any]] = {
    "id": _id,
    "id64": _id64,
    "id32": _id32,
    "opencl": _opencl,
    "op": _op,
    "barrier": _barrier,
    "fence": _fence,
    "group": _group,
    "vote": _vote,
    "broadcast": _broadcast,
    "shuffle": _shuffle,
    "atomic": _atomic,
}


def method(v: Values, e: tree.Method) -> int:
    """Reading, sampling and writing images, and their sizes."""
    b, of = v.b, e.image.type
    assert isinstance(of, Image)
    image = v.of(e.image)
    if e.name in ("width", "height", "depth"):
        b.module.need("ImageQuery")
        t: Any = Vector(I32, of.ndim) if of.ndim > 1 else I32
        exact = of.access == "r"
        query = ("ImageQuerySizeLod", (image, b.module.integer(0))) if exact else ("ImageQuerySize", (image,))
        size = b.emit(query[0], t, *query[1])
        axis = ("width", "height", "depth").index(e.name)
        return size if of.ndim == 1 else b.emit("CompositeExtract", I32, size, literal(axis))
    if e.name == "read":
        return b.emit("ImageRead", e.type, image, _place(v, e.arguments, I32))
    if e.name == "sample":
        sampler = v.of(e.arguments[0])
        place = _place(v, e.arguments[1:], F32)
        t = b.module.type(of)
        sampled = b.module.declare(("sampled", t), "TypeSampledImage", t)
        joined = b.emit("SampledImage", sampled, image, sampler)
        level = Enum("ImageOperands", "Lod")
        return b.emit("ImageSampleExplicitLod", e.type, joined, place, level, b.constant(F32, 0.0))
    *places, value = e.arguments
    b.effect("ImageWrite", image, _place(v, places, I32), v.of(value))
    return 0


def _place(v: Values, parts: list[tree.Expression], of: Scalar) -> int:
    given = [v.of(each) for each in parts]
    if len(given) == 3:
        # Coordinates in three dimensions are vectors of four.
        given.append(v.b.constant(of, 0))
    return given[0] if len(given) == 1 else v.b.emit("CompositeConstruct", Vector(of, len(given)), *given)
