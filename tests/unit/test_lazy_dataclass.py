"""The dataclasses of planner and compiler behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from anyzero import lazy_dataclass

Decorator = Callable[..., Any]
BOTH: tuple[Decorator, ...] = (dataclasses.dataclass, lazy_dataclass.dataclass)


def _classes(decorator: Decorator, **options: Any) -> tuple[Any, Any]:
    @decorator(**options)
    class Base:
        many: list[int]
        name: str = "x"
        made: list[int] = field(default_factory=list)
        total: int = field(default=0, init=False)
        hidden: int = field(default=3, repr=False, compare=False)
        kind: ClassVar[str] = "base"

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", sum(self.many))

    @decorator(**options)
    class Derived(Base):
        more: int = 7
        only: int = field(default=8, kw_only=True)

    return Base, Derived


OPTIONS = [
    {"slots": slots, "frozen": frozen, "eq": eq}
    for slots in (False, True)
    for frozen in (False, True)
    for eq in (False, True)
]


def _refused(act: Callable[..., object], *given: object, **named: object) -> bool:
    try:
        act(*given, **named)
    except (TypeError, AttributeError):
        return True
    return False


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_both_decorators_do_the_same(options: dict[str, bool]) -> None:
    seen = []
    for decorator in BOTH:
        base, derived = _classes(decorator, **options)
        # The derived class first: its first object must not depend on the base class having been used.
        one, two = derived([1, 2], "n", only=4), derived([1, 2], name="n", only=4)
        other, plain = derived([1, 3]), base([5], hidden=1)
        made = (one, two, other, plain)
        seen.append([
            [repr(each).rpartition(".")[2] for each in made],
            [dataclasses.astuple(each) for each in made],
            [each.total for each in made],
            one == two, one == other, plain == base([5], hidden=2), plain == one, one != two,
            one.made is not two.made,
            _refused(hash, plain),  # it has a list, which has no hash; by identity it has one
            _refused(setattr, one, "name", "z"),
            _refused(setattr, one, "unknown", 1),
            _refused(delattr, one, "name"),
            _refused(base), _refused(base, [1], nothing=1),
            _refused(derived, [1], "n", [], 3, 7, 8),
            dataclasses.astuple(dataclasses.replace(other, name="q", only=1)),
            dataclasses.astuple(copy.copy(other)), dataclasses.astuple(copy.deepcopy(other)),
            [each.name for each in dataclasses.fields(derived)], derived.__match_args__, derived.kind,
            list(inspect.signature(derived).parameters),
            hasattr(one, "__dict__"),
        ])  # fmt: skip
    assert seen[0] == seen[1]


@lazy_dataclass.dataclass(slots=True, frozen=True)
class Key:
    first: int
    second: str = "s"


def test_a_frozen_one_is_a_key_and_goes_through_pickle() -> None:
    assert {Key(1): "found"}[Key(1, "s")] == "found"
    assert pickle.loads(pickle.dumps(Key(4, "t"))) == Key(4, "t")


def test_methods_of_the_class_itself_stay() -> None:
    @lazy_dataclass.dataclass(slots=True)
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = None  # type: ignore[assignment]

    assert repr(Own(1)) == "own"
    assert Own(1) != Own(1)


def test_fields_and_copies_are_those_of_the_standard_module() -> None:
    @lazy_dataclass.dataclass(frozen=True)
    class Place:
        x: int
        y: int = lazy_dataclass.field(default=2, metadata={"axis": "second"})
        seen: list[int] = lazy_dataclass.field(default_factory=list, init=False, compare=False)

    own, standard = lazy_dataclass.fields(Place), dataclasses.fields(Place)
    assert [(each.name, each.init, each.compare, dict(each.metadata)) for each in own] == [
        (each.name, each.init, each.compare, dict(each.metadata)) for each in standard
    ]
    assert dataclasses.is_dataclass(Place)
    assert lazy_dataclass.replace(Place(1), x=5) == dataclasses.replace(Place(1), x=5) == Place(5)
    for copied in (lazy_dataclass.replace, dataclasses.replace):
        with pytest.raises(ValueError, match="seen"):
            copied(Place(1), seen=[])


PLANNER = """
from anyzero.driver import service
service._call("describe", b"")
from anyzero.driver.modules import answers, requests
"""
PROGRAM = """
import anyzero
anyzero.device()
"""


@pytest.mark.parametrize("start", [PLANNER, PROGRAM], ids=["planner", "program"])
def test_processes_start_without_the_standard_module(start: str) -> None:
    """It imports `inspect`, and takes 5 ms of each process; `uuid` and `traceback` take 3."""
    code = f"import sys\n{start}\nprint(*{{'dataclasses', 'inspect', 'traceback', 'uuid'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
