"""Dataclasses whose methods are generated on first use.

The standard decorator compiles four to seven functions for each class, half a millisecond of every process that imports
it, and most of the compiler's classes are not used in most processes. To type checkers this is the standard decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *,
        slots: bool = False,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 (the standard's name)
        kw_only: bool = False,
    ) -> Callable[[type], type]:
        """The options that are needed; `dataclasses.field`, `fields` and `replace` work as usual.

        >>> @dataclass(slots=True, frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 2
        >>> Point(1), Point(1) == Point(1, 2), dataclasses.replace(Point(1), y=7).y
        (Point(x=1, y=2), True, 7)
        """

        def decorate(cls: type) -> type:
            if cls.__doc__ is None:
                # Otherwise the docstring is made of the signature, which takes as long as everything else together.
                cls.__doc__ = cls.__name__
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            methods = {} if "__init__" in vars(made) else {"__init__": _first_init(made, frozen)}
            if repr and "__repr__" not in vars(made):
                methods["__repr__"] = _repr
            if eq:
                methods |= _comparison(made, frozen)
            if frozen:
                methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
                if slots:
                    methods |= {"__getstate__": _state, "__setstate__": _set_state}
            for name, method in methods.items():
                setattr(made, name, method)
            return made

        return decorate


def _first_init(cls: type, frozen: bool) -> Callable[..., None]:
    """An `__init__` that generates the real one, which takes its place."""

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807 (it is one)
        made = cls.__init__ = _init_of(cls, frozen)  # type: ignore[misc]
        made(self, *given, **named)

    return __init__


def _init_of(cls: type, frozen: bool) -> Callable[..., None]:
    """Assigns parameters and defaults in the order of the fields. Generating it with the standard decorator takes four
    times as long.
    """
    known: dict[str, Any] = {"_absent": dataclasses.MISSING, "_set": object.__setattr__}
    by_place, by_name, lines = ["self"], list[str](), list[str]()
    for each in dataclasses.fields(cls):
        name, value, parameter = each.name, each.name, each.name
        if each.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}" if each.init else f"_make_{name}()"
        elif each.default is not dataclasses.MISSING:
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


def _comparison(cls: type, frozen: bool) -> dict[str, Any]:
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    if not names:
        values: Callable[[Any], Any] = lambda _: ()  # noqa: E731
    else:
        values = attrgetter(*names)

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    found: dict[str, Any] = {} if "__eq__" in vars(cls) else {"__eq__": __eq__}
    if vars(cls).get("__hash__") is None:
        found["__hash__"] = __hash__ if frozen else None
    return found


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, _: object = None) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change field {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
