"""Records of passes, and the walk along a list of them.

An execution model (the lanes of a CPU: `lanes/passes.py`) is a list of passes and a unit that they work on. Another
model is a file of its own with another list; nothing here, and nothing in the other lists, has to know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, Generic, Protocol, TypeVar

from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.spirv.module import Module
from anyzero.lazy_dataclass import dataclass
from anyzero.lazy_namedtuple import NamedTuple

__all__ = ["Condition", "ExecutionModel", "Observer", "Pass", "Source", "Unit", "position", "run", "section"]


class Unit(Protocol):
    """The intermediate state of a compilation: a whole kernel, or one of its versions."""

    scope: str
    """The passes of this scope work on the unit."""
    dropped: bool
    """Set by a pass that found this version not worth having: the remaining passes are left out."""

    @property
    def title(self) -> str:
        """The unit's name beside its printed form."""

    def parts(self, scope: str) -> Iterable[Unit]:
        """The units that the passes of an inner scope work on. Each may depend on the results of the one before."""

    def show(self) -> str:
        """The current form as text."""


class Condition(NamedTuple):
    text: str
    """For the documentation."""
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Pass:
    name: str
    run: Callable[[Any], None]
    scope: str
    does: str
    because: str
    """The reason for its place in the list."""
    files: tuple[str, ...]
    """The pass itself, then analyses and parts that belong to it; paths in `compiler/`."""
    when: Condition | None = None
    functions: bool = False
    """Does it run for functions that are called by address as well?"""


class Source(NamedTuple):
    """Input of a compilation: a kernel, or an exported function, of a verified module."""

    module: Module
    name: str
    options: Options
    linked: Sequence[Module] = ()


U = TypeVar("U", bound=Unit)


@dataclass(frozen=True, slots=True)
class ExecutionModel(Generic[U]):
    """A way to run kernels on a kind of target, and the passes that compile for it, in order."""

    name: str
    passes: tuple[Pass, ...]
    kernel: Callable[[Source], U]
    """The unit that the passes begin with."""
    compiled: Callable[[U], CompiledKernel]
    """The result, from the unit after the last pass."""
    forms: tuple[tuple[str, str, Callable[[U], str]], ...]
    """Forms worth looking at: name, the pass after which to look, and how to print it."""

    def until(self, name: str) -> tuple[Pass, ...]:
        """The passes up to the named one."""
        return self.passes[: position(self.passes, name) + 1]


Observer = Callable[[Pass, Any], None]
"""Called after each pass that ran, with the unit that it worked on."""


def run(passes: Sequence[Pass], unit: Unit, observe: Observer | None = None) -> None:
    """Runs the passes in their order. Consecutive passes of another scope than the unit's run as a whole for each of
    the unit's parts, one part after the other.
    """
    at = 0
    while at < len(passes):
        each = passes[at]
        if each.scope != unit.scope:
            inner = list(takewhile(lambda other: other.scope != unit.scope, passes[at:]))
            for part in unit.parts(inner[0].scope):
                run(inner, part, observe)
            at += len(inner)
            continue
        if each.when is None or each.when.holds(unit):
            each.run(unit)
            if observe is not None:
                observe(each, unit)
            if unit.dropped:
                return
        at += 1


def position(passes: Sequence[Pass], name: str) -> int:
    """The index of a pass by its name."""
    for at, each in enumerate(passes):
        if each.name == name:
            return at
    raise CompileError(f'there is no pass "{name}"; there are {", ".join(each.name for each in passes)}')


def section(passes: Sequence[Pass], name: str) -> Sequence[Pass]:
    """The passes from the first one to the named one, and those of its scope that follow at once: whether a version is
    kept may depend on them.
    """
    at = position(passes, name)
    end = at + 1
    while end < len(passes) and passes[end].scope == passes[at].scope:
        end += 1
    return passes[:end]
