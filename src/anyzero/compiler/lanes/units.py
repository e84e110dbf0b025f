"""The units that passes work on: a kernel, its numberings of lanes, the versions of its body, and functions by address.

A field without a default is set by the pass of the list that computes it; a pass that comes too early fails on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from anyzero.compiler import translate
from anyzero.compiler.analysis.aliases import NOTHING_KNOWN, Unaliased
from anyzero.compiler.analysis.first_item import FirstItem
from anyzero.compiler.analysis.rows import Rows
from anyzero.compiler.analysis.streaming_stores import Streams
from anyzero.compiler.analysis.termination import Termination
from anyzero.compiler.analysis.uniformity import Flow, Shapes
from anyzero.compiler.compiled import Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Body, Masks, Op
from anyzero.compiler.lanes import functions
from anyzero.compiler.lower.active_box import Checks
from anyzero.compiler.lower.debug_info import wanted
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.regions import Ready, Written
from anyzero.compiler.passes import Source
from anyzero.compiler.spirv.float_controls import USUAL, FloatControls
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.delinearize import RowLength
from anyzero.compiler.transform.grid_stride import Bound
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.compiler.transform.private_sums import Sum
from anyzero.compiler.transform.show import show
from anyzero.lazy_dataclass import dataclass, field
from anyzero.lazy_namedtuple import NamedTuple

__all__ = ["ENTRY", "BodyVersion", "FunctionUnit", "KernelUnit", "NumberingUnit", "VersionUnit"]

ENTRY = "anyzero_kernel"
MOST_FUNCTIONS = 1000


@dataclass(slots=True, eq=False)
class VersionUnit:
    """A version of the body: the form that the lowering writes as regions."""

    name: str
    body: Body
    choices: Choices
    flow: Flow | None = None
    """None where the loops are still to be found."""
    general: bool = False
    """Is it the general version, which may be outlined?"""
    unrolled: bool = False
    """Is it kept only if each vector of a group has code of its own, with local memory in registers?"""
    barriers: bool = field(init=False)
    shapes: Shapes = field(init=False)
    group_uniform: set[Op] = field(default_factory=set)
    """Group-uniform values; none where there are no barriers."""
    streams: Streams = field(init=False)
    masks: Masks = field(init=False)
    pieces: bool = False
    ready: Ready = field(init=False)
    scope: str = "version"
    dropped: bool = False

    @property
    def title(self) -> str:
        prefix = self.choices.prefix
        return self.name if prefix == f"{self.name}." else f"{prefix}{self.name}"

    @property
    def options(self) -> Options:
        return self.choices.options

    @property
    def rows(self) -> Rows | None:
        return self.ready.rows

    def parts(self, scope: str) -> Iterator[VersionUnit]:
        raise AssertionError(scope)

    def show(self) -> str:
        return show(self.body)


class BodyVersion(NamedTuple):
    """A row of `versions.VERSIONS` that is a body of its own."""

    name: str
    begin: Callable[[NumberingUnit], VersionUnit | None]
    """None where it is not wanted."""
    keep: Callable[[NumberingUnit, VersionUnit], bool]


@dataclass(slots=True, eq=False)
class NumberingUnit:
    """A kernel whose lanes are neighbours along rows, or by the work-items' linear numbers."""

    name: str
    entry: str
    """The symbol of its entry point."""
    body: Body
    flow: Flow
    choices: Choices
    out: Written
    bodies: Sequence[BodyVersion]
    interior_body: Body | None = None
    assumptions: Assumptions | None = None
    """Conditions under which the interior body may run."""
    inner_body: Body | None = None
    inner_assumptions: Assumptions | None = None
    """Conditions under which it may run a group."""
    merged_body: Body | None = None
    """For several neighbouring groups as one, where the conditions of the inner body hold for each, if there is one."""
    merged: int = 1
    """How many they are."""
    strips_body: Body | None = None
    checks: Checks | None = None
    """Those that bound the ids of active work-items."""
    versions: dict[str, VersionUnit] = field(default_factory=dict)
    """The versions that are kept, by name."""
    before: LaunchInvariants = field(default_factory=LaunchInvariants)
    operations: int = field(init=False)
    regions: int = 1
    per_vector: int = 0
    per_strip: int = 0
    called: bool = False
    """Are the regions of the general version functions that are not inlined?"""
    batch: int = 1
    """Groups that run together."""
    paired: bool = False
    """Do they run vector by vector? Else region by region."""
    scope: str = "numbering"
    dropped: bool = False

    @property
    def title(self) -> str:
        return self.name

    @property
    def options(self) -> Options:
        return self.choices.options

    @property
    def general(self) -> VersionUnit:
        return self.versions["general"]

    @property
    def interior(self) -> VersionUnit | None:
        return self.versions.get("interior")

    @property
    def interior_groups(self) -> VersionUnit | None:
        return self.versions.get("interior groups")

    @property
    def merged_groups(self) -> VersionUnit | None:
        return self.versions.get("merged groups")

    @property
    def strips(self) -> VersionUnit | None:
        return self.versions.get("strips")

    @property
    def settled(self) -> bool:
        """Do all assumptions of the interior version hold for active work-items?"""
        return self.checks is not None and self.assumptions is not None and self.checks.settle(self.assumptions)

    @property
    def rows(self) -> Rows | None:
        """Rows that run at once: those of the interior version where there is one, else of the general one."""
        if self.interior is not None:
            return self.interior.rows or Rows(1, set(), set())
        return self.general.rows

    @property
    def row_count(self) -> int:
        return 1 if self.rows is None else self.rows.count

    def parts(self, scope: str) -> Iterator[VersionUnit]:
        assert scope == "version"
        for name, begin, keep in self.bodies:
            made = begin(self)
            if made is None:
                continue
            yield made
            if not made.dropped and keep(self, made):
                self.versions[name] = made

    def show(self) -> str:
        return show(self.body)


@dataclass(slots=True, eq=False)
class FunctionUnit:
    """A function that is called through a pointer: an exported one, or one that the code of another unit calls."""

    modules: Sequence[Module]
    at: int
    """The index of its module."""
    id: int
    symbol: str
    choices: Choices
    floats: FloatControls = USUAL
    name: str = ""
    exported: bool = False
    out: Written = field(default_factory=Written)
    body: Body = field(init=False)
    unrolled: bool = False
    flow: Flow = field(init=False)
    version: VersionUnit = field(init=False)
    text: str = ""
    code: cpu.Compiled = field(init=False)
    scope: str = "kernel"
    dropped: bool = False

    @property
    def title(self) -> str:
        return self.name or self.symbol

    @property
    def options(self) -> Options:
        return self.choices.options

    @property
    def target(self) -> cpu.Target:
        return self.choices.target

    def translate(self) -> None:
        debug = self.choices.debug is not None
        self.body = functions.translate(self.modules, self.at, self.id, self.floats, debug)

    def parts(self, scope: str) -> Iterator[VersionUnit]:
        assert scope == "version"
        self.version = VersionUnit("function", self.body, self.choices, self.flow)
        yield self.version

    def called(self) -> Iterator[FunctionUnit]:
        return _called(self.out, self.modules, self.floats, self.choices)

    def show(self) -> str:
        return self.text or show(self.body)


@dataclass(slots=True, eq=False)
class KernelUnit:
    """A kernel, from its SPIR-V to its machine code."""

    source: Source
    options: Options
    target: cpu.Target
    entry: str = ENTRY
    translation: translate.Translation = field(init=False)
    body: Body = field(init=False)
    unrolled: bool = False
    from_zero: bool = False
    """Do global ids begin with zero, whatever the launch's offset is?"""
    grid_stride: Bound | None = None
    """The bound of a grid-stride loop that is left to the loops over blocks."""
    flow: Flow = field(init=False)
    waits: bool = False
    """Does it have spin loops?"""
    termination: Termination = field(init=False)
    first_item: FirstItem = field(init=False)
    sums: list[Sum] = field(default_factory=list)
    """Buffers whose atomic updates each thread collects."""
    row_length: RowLength | None = None
    """The length of the rows that the body has two dimensions for."""
    linear_body: Body | None = None
    """The body for launches that are not cut into rows, where there are others."""
    lane_dimension: int = 0
    """The dimension of the launch that the body has as its first one, and the first one in its place."""
    unaliased: Unaliased = NOTHING_KNOWN
    """Arguments for which there is a version whose launches have to have separate allocations behind them: the body."""
    aliased_body: Body | None = None
    """The body for other launches, where there is such a version."""
    narrow: bool = False
    """Are registers of half the size used?"""
    short_elements: bool = False
    """Does a work-item access bytes or shorts beside those of its neighbours?"""
    slow_masks: bool = False
    """Are masked accesses slow, so that a version without them pays?"""
    lanes: int = field(init=False)
    lanes_because: str = ""
    sub_group: int = 0
    """Work-items of a sub-group that is several vectors; 0 where it is one."""
    choices: Choices = field(init=False)
    private_bytes: int = 0
    """Private bytes of each work-item."""
    filled: bool = False
    """Does the code along rows rely on rows that whole vectors fill?"""
    out: Written = field(default_factory=Written)
    numberings: list[NumberingUnit] = field(default_factory=list)
    text: str = ""
    code: cpu.Compiled = field(init=False)
    scope: str = "kernel"
    dropped: bool = False

    @property
    def title(self) -> str:
        return self.source.name

    @property
    def modules(self) -> list[Module]:
        return [self.source.module, *self.source.linked]

    @property
    def sub_groups(self) -> bool:
        """Are the lanes of a vector a sub-group, so that lanes are numbered in two ways?"""
        return self.translation.uses.sub_groups and self.lanes > 1

    @property
    def per_vector(self) -> int:
        """Bytes that every vector keeps; without barriers, those of one vector are enough for all."""
        return max(each.per_vector for each in self.numberings)

    def translate(self) -> None:
        source = self.source
        debug = wanted(self.options, self.modules)
        self.translation = translate.kernel(source.module, source.name, source.linked, debug, self.options.group)
        self.body = self.translation.body

    def parts(self, scope: str) -> Iterator[NumberingUnit]:
        assert scope == "numbering"
        return iter(self.numberings)

    def called(self) -> Iterator[FunctionUnit]:
        return _called(self.out, self.modules, self.translation.kernel.floats, self.choices)

    def show(self) -> str:
        return self.text or show(self.body)


def _called(out: Written, modules: Sequence[Module], floats: FloatControls, choices: Choices) -> Iterator[FunctionUnit]:
    """Functions whose addresses the written code takes, and those whose addresses they take."""
    written: set[tuple[int, int]] = set()
    while waiting := out.called - written:
        for at, id_ in sorted(waiting):
            written.add((at, id_))
            if len(written) > MOST_FUNCTIONS:
                raise CompileError(f"the addresses of more than {MOST_FUNCTIONS} functions are taken")
            yield FunctionUnit(modules, at, id_, functions.symbol(at, id_), choices, floats, out=out)
