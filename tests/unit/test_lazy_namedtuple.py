"""The named tuples of planner and compiler behave as the standard ones do."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from anyzero import lazy_namedtuple


class Point(lazy_namedtuple.NamedTuple):
    x: int
    y: int = 2


def _both() -> tuple[Any, Any]:
    class Standard(typing.NamedTuple):
        """Text."""

        one: int
        two: str = "b"
        three: tuple[int, ...] = ()

        @property
        def first(self) -> int:
            return self.one

        def joined(self) -> str:
            return f"{self.one}{self.two}"

    class Lazy(lazy_namedtuple.NamedTuple):
        """Text."""

        one: int
        two: str = "b"
        three: tuple[int, ...] = ()

        @property
        def first(self) -> int:
            return self.one

        def joined(self) -> str:
            return f"{self.one}{self.two}"

    return Standard, Lazy


GOOD: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((1,), {}),
    ((1, "c", (3,)), {}),
    ((), {"two": "d", "one": 4}),
    ((5,), {"three": (6, 7)}),
]
BAD: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((), {}),
    ((1, 2, 3, 4), {}),
    ((1,), {"one": 2}),
    ((1,), {"four": 2}),
    ((), {"two": "x"}),
]


@pytest.mark.parametrize("before", [0, 100])
def test_they_are_made_and_refused_alike(before: int) -> None:
    standard, lazy = _both()
    for _ in range(before):
        lazy(1)
    for given, named in GOOD:
        one, other = standard(*given, **named), lazy(*given, **named)
        assert tuple(one) == tuple(other)
        assert repr(one).removeprefix("Standard") == repr(other).removeprefix("Lazy")
        assert one == other
        assert hash(one) == hash(other)
        assert (one.first, one.joined(), one._asdict()) == (other.first, other.joined(), other._asdict())
        assert tuple(one._replace(two="z")) == tuple(other._replace(two="z"))
        assert tuple(other._make(one)) == tuple(one)
    for given, named in BAD:
        for cls in standard, lazy:
            with pytest.raises(TypeError):
                cls(*given, **named)


def test_they_tell_the_same_about_themselves() -> None:
    standard, lazy = _both()
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__slots__", "__bases__"):
        assert getattr(standard, name) == getattr(lazy, name), name
    assert not hasattr(lazy(1), "__dict__")


@pytest.mark.parametrize("act", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_they_are_copied(act: Callable[[Point], Point]) -> None:
    for _ in range(50):
        made = act(Point(1, y=3))
        assert type(made) is Point
        assert made == Point(1, 3)


def test_wrong_changes_are_refused() -> None:
    with pytest.raises(ValueError, match="z"):
        Point(1)._replace(z=3)
    with pytest.raises(TypeError):
        Point._make([1])


def test_they_match_patterns() -> None:
    match Point(4):
        case Point(x, y):
            assert (x, y) == (4, 2)
