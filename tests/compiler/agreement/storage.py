"""Memory that a random kernel has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Place:
    """A private variable that holds one scalar or vector."""

    id: str
    type: str
    uniform: bool
    """Is it only written where all work-items of a group write the same?"""


@dataclass(slots=True, eq=False)
class Array:
    """A private array."""

    id: str
    element: str
    count: int


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory that all work-items read, or add to; `count` is a power of two."""

    id: str
    type: str
    count: int
    storage: str = "CrossWorkgroup"
    members: tuple[str, ...] = ()
    """Of a structure."""
    packed: bool = False


@dataclass(slots=True, eq=False)
class Output:
    """Memory of which each work-item has `slots` elements to itself."""

    id: str
    type: str
    slots: int
    layout: str
    members: tuple[str, ...] = ()
    packed: bool = False
    first: str = ""
    """The slot's number that comes before `slot` is added, i64 or i32, once it was computed."""
