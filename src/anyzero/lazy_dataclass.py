"""Dataclasses whose methods are generated on first use, without the standard module.

The standard decorator compiles four to seven functions for each class, half a millisecond of every process that imports
it, and most of the compiler's classes are not used in most processes. The module itself takes as long as sixty of these
classes: it imports `inspect`. To type checkers these are the standard functions, and the standard ones work with these
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass", "field", "fields", "replace"]

_FIELDS: Final = "__lazy_fields__"
_FEW: Final = 30
"""Objects of a class that are made without generating its `__init__`."""


class _Absent:
    """The default of a field that has none."""

    def __repr__(self) -> str:
        return "absent"


_ABSENT: Final = _Absent()
_NOTHING: Final[Mapping[str, Any]] = {}


class _Field:
    """A field with the attributes of a standard one."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "metadata", "name", "repr", "type")

    def __init__(
        self,
        default: Any = _ABSENT,
        default_factory: Any = _ABSENT,
        init: bool = True,
        repr: bool = True,  # noqa: A002 (the standard's name)
        compare: bool = True,
        kw_only: bool | None = None,
        metadata: Mapping[str, Any] = _NOTHING,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.kw_only = kw_only
        self.metadata = metadata
        self.name = self.type = ""


class _StandardFields:
    """The fields as the standard module knows them, made when it looks for them."""

    def __get__(self, _: object, owner: type) -> dict[str, Any]:
        import dataclasses

        given: dict[str, Any] = {"__annotations__": {}}
        for each in getattr(owner, _FIELDS).values():
            options = {"default": each.default, "default_factory": each.default_factory}
            known = {name: value for name, value in options.items() if value is not _ABSENT}
            given["__annotations__"][each.name] = each.type
            given[each.name] = dataclasses.field(
                **known,
                init=each.init,
                repr=each.repr,
                compare=each.compare,
                kw_only=each.kw_only,
                metadata=each.metadata,
            )
        # Without __init__, fields may come in any order.
        twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(owner.__name__, (), given))
        found: dict[str, Any] = twin.__dataclass_fields__
        return found


_STANDARD_FIELDS: Final = _StandardFields()

if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, replace
else:
    field = _Field

    def fields(of: Any) -> tuple[_Field, ...]:
        """The fields of a class or of an object."""
        return tuple(getattr(of, _FIELDS).values())

    def replace(of: Any, /, **changes: Any) -> Any:
        """A copy with other values of some fields."""
        for name, each in getattr(of, _FIELDS).items():
            if each.init:
                if name not in changes:
                    changes[name] = getattr(of, name)
            elif name in changes:
                raise ValueError(f"field {name!r} is not given to __init__, so it cannot be replaced")
        return of.__class__(**changes)

    def dataclass(
        *,
        slots: bool = False,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 (the standard's name)
        kw_only: bool = False,
    ) -> Callable[[type], type]:
        """The options that are needed.

        >>> @dataclass(slots=True, frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 2
        >>> Point(1), Point(1) == Point(1, 2), replace(Point(1), y=7).y
        (Point(x=1, y=2), True, 7)
        """

        def decorate(cls: type) -> type:
            found = _fields_of(cls, kw_only)
            methods: dict[str, Any] = {_FIELDS: found, "__dataclass_fields__": _STANDARD_FIELDS}
            if "__match_args__" not in vars(cls):
                methods["__match_args__"] = tuple(
                    name for name, each in found.items() if each.init and not each.kw_only
                )
            home: list[type] = []
            if "__init__" not in vars(cls):
                methods["__init__"] = _first_init(home, frozen)
            if repr and "__repr__" not in vars(cls):
                methods["__repr__"] = _repr
            if eq:
                methods |= _comparison(cls, found, frozen)
            if frozen:
                methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
                if slots:
                    methods |= {"__getstate__": _state, "__setstate__": _set_state}
            home.append(_slotted(cls, found, methods) if slots else _extended(cls, found, methods))
            return home[0]

        return decorate


def _fields_of(cls: type, kw_only: bool) -> dict[str, _Field]:
    """Those of its bases first."""
    found: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= vars(base).get(_FIELDS, {})
    for name, type_ in cls.__annotations__.items():
        if str(type_).startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = vars(cls).get(name, _ABSENT)
        each = default if isinstance(default, _Field) else _from_standard(default) or _Field(default)
        each.name, each.type = name, type_
        if each.kw_only is None:
            each.kw_only = kw_only
        found[name] = each
    return found


def _from_standard(given: Any) -> _Field | None:
    """A field that was made by the standard function; None for a default value."""
    if type(given).__module__ != "dataclasses" or type(given).__name__ != "Field":
        return None
    from dataclasses import MISSING

    default, factory = (_ABSENT if each is MISSING else each for each in (given.default, given.default_factory))
    stated = given.kw_only if isinstance(given.kw_only, bool) else None
    return _Field(default, factory, given.init, given.repr, given.compare, stated, given.metadata)


def _slotted(cls: type, found: dict[str, _Field], methods: dict[str, Any]) -> type:
    """The same class with slots, which a class can only be made with."""
    inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    content = {name: value for name, value in vars(cls).items() if name not in found}
    content.pop("__dict__", None)
    content.pop("__weakref__", None)
    content |= methods
    content["__slots__"] = tuple(name for name in found if name not in inherited)
    content["__qualname__"] = cls.__qualname__
    return type(cls)(cls.__name__, cls.__bases__, content)


def _extended(cls: type, found: dict[str, _Field], methods: dict[str, Any]) -> type:
    """The class itself, with defaults as attributes, and these methods."""
    for name, each in found.items():
        if name in vars(cls) and each.default is _ABSENT:
            delattr(cls, name)
        elif name in vars(cls):
            setattr(cls, name, each.default)
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


def _first_init(home: list[type], frozen: bool) -> Callable[..., None]:
    """An `__init__` for the first objects of a class. Then it generates the real one, which takes its place: that takes
    as long as fifty objects, and most classes have fewer in most processes.
    """
    made = 0

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807 (it is one)
        nonlocal made
        cls = home[0]
        made += 1
        if made <= _FEW and type(self) is cls and _fill(self, frozen, given, named):
            return
        real = cls.__init__ = _init_of(cls, frozen)  # type: ignore[misc]
        real(self, *given, **named)

    return __init__


def _fill(self: Any, frozen: bool, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """What the real `__init__` does, from the fields; False, and nothing done, where the arguments do not fit, which
    the real one reports.
    """
    found: dict[str, _Field] = getattr(self, _FIELDS)
    values: dict[str, Any] = {}
    taken = used = 0
    for name, each in found.items():
        if each.init and not each.kw_only and taken < len(given):
            if name in named:
                return False
            values[name] = given[taken]
            taken += 1
        elif each.init and name in named:
            values[name] = named[name]
            used += 1
        elif each.default_factory is not _ABSENT:
            values[name] = each.default_factory()
        elif each.default is not _ABSENT:
            values[name] = each.default
        elif each.init:
            return False
    if taken < len(given) or used < len(named):
        return False
    store = object.__setattr__ if frozen else setattr
    for name, value in values.items():
        store(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__()
    return True


def _init_of(cls: type, frozen: bool) -> Callable[..., None]:
    """Assigns parameters and defaults in the order of the fields. Generating it with the standard decorator takes four
    times as long.
    """
    known: dict[str, Any] = {"_absent": _ABSENT, "_set": object.__setattr__}
    by_place, by_name, lines = ["self"], list[str](), list[str]()
    for name, each in getattr(cls, _FIELDS).items():
        value = parameter = name
        if each.default_factory is not _ABSENT:
            known[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}" if each.init else f"_make_{name}()"
        elif each.default is not _ABSENT:
            known[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
            value = name if each.init else f"_default_{name}"
        elif not each.init:
            continue
        if each.init:
            (by_name if each.kw_only else by_place).append(parameter)
        lines.append(f"  _set(self, {name!r}, {value})" if frozen else f"  self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    exec("\n".join([f"def __init__({parameters}):", *(lines or ["  pass"])]), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _comparison(cls: type, found: dict[str, _Field], frozen: bool) -> dict[str, Any]:
    names = [name for name, each in found.items() if each.compare]
    if not names:
        values: Callable[[Any], Any] = lambda _: ()  # noqa: E731
    else:
        values = attrgetter(*names)

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    made: dict[str, Any] = {} if "__eq__" in vars(cls) else {"__eq__": __eq__}
    if vars(cls).get("__hash__") is None:
        made["__hash__"] = __hash__ if frozen else None
    return made


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, each in getattr(self, _FIELDS).items() if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, _: object = None) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot change field {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)
