"""Named tuples whose `__new__` is generated late, without the standard module's parts.

The standard ones compile a function for each class, a sixth of a millisecond in every process that imports it. To type
checkers these are the standard ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

__all__ = ["NamedTuple"]

_FEW: Final = 30
"""Tuples of a class that are made without generating its `__new__`."""

if not TYPE_CHECKING:
    from _collections import _tuplegetter

    class _Meta(type):
        def __new__(meta, name, bases, content):
            names = tuple(content.get("__annotations__", ()))
            defaults = {each: content.pop(each) for each in names if each in content}
            home = []
            made = {
                "__slots__": (),
                "__doc__": None,
                **content,
                "_fields": names,
                "_field_defaults": defaults,
                "__match_args__": names,
                "__new__": _first_new(home, names, defaults),
                "__repr__": content.get("__repr__", _repr),
                "__getnewargs__": _values,
                "_asdict": _as_dict,
                "_replace": _replace,
                "_make": classmethod(_make),
            }
            made |= {each: _tuplegetter(place, "") for place, each in enumerate(names)}
            home.append(type(name, (tuple,), made))
            return home[0]

    class NamedTuple:
        """The base that classes name; it does not become one of theirs.

        >>> class Point(NamedTuple):
        ...     x: int
        ...     y: int = 2
        >>> Point(1), Point(1)._replace(x=3), Point(y=5, x=4).y
        (Point(x=1, y=2), Point(x=3, y=2), 5)
        """

        def __mro_entries__(self, bases):
            return (_Base,)

    NamedTuple = NamedTuple()
    _Base = type.__new__(_Meta, "_Base", (), {})


def _first_new(home: list[type], names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., Any]:
    made = 0

    def __new__(cls: Any, *given: Any, **named: Any) -> Any:  # noqa: N807 (it is one)
        nonlocal made
        made += 1
        if made <= _FEW:
            if len(given) == len(names) and not named:
                return tuple.__new__(cls, given)
            rest = names[len(given) :]
            if len(given) <= len(names) and named.keys() <= set(rest):
                values = {**defaults, **named}
                if all(each in values for each in rest):
                    return tuple.__new__(cls, (*given, *[values[each] for each in rest]))
        real = _new_of(home[0], names, defaults)
        home[0].__new__ = real  # type: ignore[method-assign]
        return real(cls, *given, **named)

    return __new__


def _new_of(owner: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {"_make": tuple.__new__} | {f"_default_{each}": value for each, value in defaults.items()}
    parameters = ", ".join(f"{each}=_default_{each}" if each in defaults else each for each in names)
    values = "".join(f"{each}, " for each in names)
    made: Callable[..., Any] = eval(f"lambda _cls, {parameters}: _make(_cls, ({values}))", known)
    made.__name__ = "__new__"
    made.__qualname__ = f"{owner.__qualname__}.__new__"
    return made


def _repr(self: Any) -> str:
    shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({', '.join(shown)})"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(self)


def _as_dict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


def _replace(self: Any, /, **changes: Any) -> Any:
    made = self._make([changes.pop(name, value) for name, value in zip(self._fields, self, strict=True)])
    if changes:
        raise ValueError(f"there are no fields {list(changes)!r}")
    return made


def _make(cls: Any, values: Iterable[Any]) -> Any:
    made = tuple.__new__(cls, values)
    if len(made) != len(cls._fields):
        raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
    return made
