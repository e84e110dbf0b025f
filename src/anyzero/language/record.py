"""Classes that are a list of fields. `dataclasses` compiles methods for each of them, longer than for a kernel."""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform

__all__ = ["Record", "Value"]


@dataclass_transform()
class Record:
    """An object with the fields that its class annotates, in order; a value in the class is a default."""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = (name for name in cls.__annotations__ if name not in cls._fields)
        cls._fields = (*cls._fields, *own)

    def __init__(self, *values: Any, **given: Any) -> None:
        fields = self._fields
        if len(values) > len(fields):
            raise TypeError(f"{type(self).__name__} has {len(fields)} fields, not {len(values)}")
        for name, value in zip(fields, values):  # noqa: B905 (the others have names or defaults)
            object.__setattr__(self, name, value)
        for name in fields[len(values) :]:
            if name in given:
                object.__setattr__(self, name, given[name])
            elif not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} has no {name}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._fields)})"


class Value(Record):
    """A record that is equal to others with the same fields."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self._fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self._fields)))
