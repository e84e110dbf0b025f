"""The versions of a kernel: their conditions, and how the code chooses between them at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyzero.compiler.analysis.lane_loads import known_lane
from anyzero.compiler.analysis.row_columns import may_have_row_columns
from anyzero.compiler.analysis.rows import can_share
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Body
from anyzero.compiler.lanes.units import BodyVersion, KernelUnit, NumberingUnit, VersionUnit
from anyzero.compiler.lower.local_memory import initialized
from anyzero.compiler.lower.regions import Ready
from anyzero.compiler.lower.register_tiles import find_tiles, in_registers
from anyzero.compiler.passes import Condition
from anyzero.compiler.transform.interchange import interchange
from anyzero.compiler.transform.interior_version import copied
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.lazy_dataclass import dataclass, replace

FULL_VECTORS = 150
"""Up to so many operations, whole vectors and the remainder of a row have separate versions."""

LIKELY = 300
"""Up to so many operations, the likely size of groups has a version."""

INTERIOR = 400
"""Up to so many operations, there may be an interior version."""


@dataclass(frozen=True, slots=True)
class Version:
    name: str
    of: str
    """The part of the code that is written once more: the kernel, its body, or the loops around the body."""
    does: str
    condition: str
    wanted: Callable[[Any], bool]
    choice: str
    """How the code chooses at run time."""
    quick: bool = False
    """Is it there in the first stage as well, which has one version of everything?"""

    def wants(self, unit: KernelUnit | NumberingUnit | VersionUnit) -> bool:
        return (self.quick or not unit.options.one_version) and self.wanted(unit)

    @property
    def when(self) -> Condition:
        return Condition(self.condition + ("" if self.quick else "; not in the first stage"), self.wants)


def _interior(unit: NumberingUnit) -> bool:
    return not unit.choices.linear and unit.choices.lanes > 1 and _few_plain_operations(unit.body, barriers=False)


def _interior_groups(unit: NumberingUnit) -> bool:
    along_rows = not unit.choices.linear and unit.choices.lanes > 1
    return along_rows and unit.choices.group_size is not None and _few_plain_operations(unit.body, barriers=True)


def _merged_groups(unit: NumberingUnit) -> bool:
    choices, size = unit.choices, unit.choices.group_size
    if size is None or choices.linear or unit.options.lanes is not None or unit.flow.loops.all:
        return False
    lanes = choices.lanes
    if size[0] != lanes or not 1 < lanes < choices.target.lanes or lanes & (lanes - 1):
        return False
    vectors_show = any(op.name == "builtin" and op.info[0].startswith("sub_group") for op in unit.body.ops)
    plain = _few_plain_operations(unit.body, barriers=True) and not vectors_show
    return plain and not initialized(unit.body.variables)


def _few_plain_operations(body: Body, barriers: bool) -> bool:
    """Is the body short enough for two versions, without collectives, calls and private memory, and are there barriers
    just if `barriers` says so?
    """
    operations, waits = 0, False
    for op in body.ops:
        operations += 1
        if op.name in ("group", "call", "printf"):
            return False
        waits |= op.name == "barrier"
    plain = all(variable.space != "private" for variable in body.variables)
    return waits == barriers and operations <= INTERIOR and plain


def _likely(unit: NumberingUnit) -> bool:
    choices = unit.choices
    if choices.flat or unit.regions == 1 or unit.operations > LIKELY or choices.likely is None:
        return False
    # Vectors fill the rows of such groups: knowing it saves masks and loops.
    return choices.lanes > 1 and choices.likely[0] % choices.lanes == 0


VERSIONS = (
    Version(
        "rows",
        "the kernel",
        "lanes are neighbours along the first dimension",
        "always, but for kernels with sub-groups in the first stage",
        lambda unit: not (unit.sub_groups and unit.options.one_version),
        "by the group's size: whole vectors fill its rows, or it is a single row",
        quick=True,
    ),
    Version(
        "linear",
        "the kernel",
        "lanes are neighbours by the work-items' linear numbers, across the ends of rows",
        "with sub-groups, which are made of neighbours by number",
        lambda unit: unit.sub_groups,
        "the other groups",
        quick=True,
    ),
    Version(
        "delinearized",
        "the kernel",
        "the id is a column and a row",
        "kernels of one dimension without groups, which divide their id by arguments or constants",
        lambda unit: unit.row_length is not None,
        "by the launch: the engine cuts it into rows, where they fill it and are not shorter than a vector",
    ),
    Version(
        "exchanged",
        "the kernel",
        "lanes are neighbours along another dimension than the first one",
        "kernels without groups in which a vector costs less so",
        lambda unit: unit.lane_dimension > 0,
        "by the launch: the engine exchanges the dimensions where enough work-items lie along that one",
    ),
    Version(
        "unaliased",
        "the kernel",
        "no argument leads to the memory that another one writes",
        "an element that a loop updates may stay in a register then, or accesses become one; not with sub-groups",
        lambda unit: unit.aliased_body is not None and not unit.lane_dimension,
        "by the launch: the engine looks up the allocations that the arguments lead to",
    ),
    Version(
        "general",
        "the body",
        "runs everywhere",
        "always",
        lambda _: True,
        "where no other version may run",
        quick=True,
    ),
    Version(
        "interior",
        "the body",
        "bounds checks are taken to pass, and indices not to need clamping",
        "lanes along rows, up to 400 operations, no barriers, calls or private arrays; kept where it has fewer gathers "
        "or masked accesses, lets several rows run at once, or replaces the general version",
        _interior,
        "the box of active work-items, or a few operations for each row (`lower/interior_guard.py`)",
    ),
    Version(
        "interior groups",
        "the body",
        "the same for whole groups",
        "barriers, groups of a known size in lockstep, up to 400 operations, no calls or private arrays; kept where it "
        "has fewer gathers or masked accesses",
        _interior_groups,
        "a few comparisons for each group",
    ),
    Version(
        "merged groups",
        "the body",
        "neighbouring groups as one, whose rows are those of all of them, so that they fill a register",
        "barriers, groups of a known size in lockstep whose rows fill at most half of a register, up to 400 "
        "operations, no loops, calls or private arrays; kept where all of local memory is in registers, and where it "
        "has no more gathers and scatters",
        _merged_groups,
        "a few comparisons for as many groups",
    ),
    Version(
        "strips",
        "the body",
        "loops that read far apart from iteration to iteration are cut into strips",
        "kernels without groups whose rows read the same memory",
        lambda unit: unit.choices.flat and unit.choices.lanes > 1 and can_share(unit.body),
        "whole blocks away from the edges (`lower/flat.py`)",
    ),
    Version(
        "several rows",
        "the body",
        "several rows of work-items run at once, and do once what does not depend on the row",
        "lanes along rows, and rows share loads or lie beside each other",
        lambda unit: not unit.choices.linear and (unit.options.rows or unit.choices.rows) > 1,
        "while as many rows are left",
    ),
    Version(
        "full vectors",
        "the loops",
        "whole vectors need no mask; the rest of a row gets code of its own",
        "up to 150 operations, and not for several rows",
        lambda unit: unit.rows is None and unit.operations <= FULL_VECTORS,
        "by the work-items that are left of a row",
    ),
    Version(
        "likely group size",
        "the loops",
        "loops over a group of the size that the kernel seems to be written for",
        "barriers, up to 300 operations, and whole vectors fill rows of that size",
        _likely,
        "by the group's size",
    ),
)
"""In the order in which they are made."""

BY_NAME = {version.name: version for version in VERSIONS}

NUMBERINGS = ("rows", "linear", "delinearized", "exchanged", "unaliased")


# Numberings of lanes


def number_lanes(unit: KernelUnit) -> None:
    """One unit for each numbering. The later passes use a body up; a copy costs a tenth of making it again."""
    wanted = [name for name in NUMBERINGS if BY_NAME[name].wants(unit)]
    # The last one is the one that most launches run.
    aliased = unit.aliased_body
    others = [each for each in (unit.linear_body, aliased) if each is not None]
    others += [copied(unit.body)[0] for _ in wanted[len(others) + 1 :]]
    bodies = [*others, unit.body]
    # In code whose vectors fill the rows, all lanes that a work-item names are active.
    several = len(wanted) > 1
    unit.filled = several and any(known_lane(op, unit.choices.lanes) is not None for op in unit.body.ops)
    for name, body in zip(wanted, bodies, strict=True):
        linear = name == "linear"
        prefix = f"{name}." if several else ""
        choices = replace(unit.choices, prefix=prefix, linear=linear, filled=unit.filled and not linear)
        if body is unit.body:
            choices = replace(choices, unaliased=unit.unaliased)
        if unit.lane_dimension and name != "exchanged":
            # Few launches run it: one version is enough, as in the first stage.
            if aliased is None:
                interchange(body, unit.lane_dimension)
            choices = replace(choices, options=replace(choices.options, quick=True, all_versions=False))
        if name != "rows" and unit.row_length is not None:
            # There are at least as many work-items as elements: a grid-stride loop has at most one iteration.
            choices = replace(choices, grid_stride=None)
        flow = unit.flow if body is unit.body else loop_simplify(body)
        unit.numberings.append(NumberingUnit(name, prefix + unit.entry, body, flow, choices, unit.out, BODIES))


# Bodies


def _begin_general(unit: NumberingUnit) -> VersionUnit:
    return VersionUnit("general", unit.body, unit.choices, unit.flow, general=True)


def _begin_interior(unit: NumberingUnit) -> VersionUnit | None:
    """It pays where it replaces the general version, where gathers of that may become contiguous loads, where several
    rows may run at once, or where fewer accesses are masked and masked ones are slow.
    """
    body, choices, general = unit.interior_body, unit.choices, unit.general.ready
    if body is None or unit.assumptions is None:
        return None
    if _replaces(unit):
        return VersionUnit("interior", body, choices)
    alike = can_share(body) or may_have_row_columns(body)
    sharing = (choices.options.rows or 1) > 1 or (choices.rows > 1 and alike)
    slow = _masked(general) if choices.slow_masks else 0
    if not sharing and not slow and not (unit.assumptions.held and _gathers(general)):
        return None
    return VersionUnit("interior", body, choices)


def _replaces(unit: NumberingUnit) -> bool:
    """Does it replace the general version where there is any work? That takes masks out of short code; divergent loops
    have masks of their own.
    """
    return unit.settled and not unit.general.ready.shapes.divergent_loops


def _keep_interior(unit: NumberingUnit, made: VersionUnit) -> bool:
    general = unit.general.ready
    slow = _masked(general) if unit.choices.slow_masks else 0
    if _replaces(unit) or made.rows is not None or _gathers(made.ready) < _gathers(general):
        return True
    return bool(slow) and _masked(made.ready) < slow


def _begin_interior_groups(unit: NumberingUnit) -> VersionUnit | None:
    if unit.inner_body is None or unit.general.ready.schedule is None:
        return None
    return VersionUnit("interior groups", unit.inner_body, replace(unit.choices, prefix=f"{unit.choices.prefix}inner."))


def _keep_interior_groups(unit: NumberingUnit, made: VersionUnit) -> bool:
    """Kept if it runs in lockstep as well and has less work."""
    general = unit.general.ready
    fewer = _gathers(made.ready) < _gathers(general) or _masked(made.ready) < _masked(general)
    return made.ready.schedule is not None and fewer


def _begin_merged_groups(unit: NumberingUnit) -> VersionUnit | None:
    body, choices = unit.merged_body, unit.choices
    if body is None or unit.general.ready.schedule is None:
        return None
    assert choices.group_size is not None
    x, y, z = choices.group_size
    count, prefix = unit.merged, f"{choices.prefix}merged."
    choices = replace(choices, lanes=choices.lanes * count, group_size=(x * count, y, z), prefix=prefix)
    return VersionUnit("merged groups", body, choices, unrolled=True)


def _keep_merged_groups(unit: NumberingUnit, made: VersionUnit) -> bool:
    """Kept where nothing of local memory is left in memory, and where a vector's accesses are still contiguous."""
    ready, alone, options = made.ready, (unit.interior_groups or unit.general).ready, unit.options
    if ready.schedule is None or _scattered(ready, options) > _scattered(alone, options):
        return False
    ready.schedule.tiles = find_tiles(ready, made.choices)
    return ready.schedule.tiles is not None and in_registers(ready, ready.schedule.tiles)


def _begin_strips(unit: NumberingUnit) -> VersionUnit | None:
    if unit.rows is None or unit.strips_body is None:
        return None
    return VersionUnit("strips", unit.strips_body, replace(unit.choices, prefix=f"{unit.choices.prefix}strips."))


def _keep_strips(_: NumberingUnit, made: VersionUnit) -> bool:
    return made.rows is not None


BODIES = (
    BodyVersion("general", _begin_general, lambda _, __: True),
    BodyVersion("interior", _begin_interior, _keep_interior),
    BodyVersion("interior groups", _begin_interior_groups, _keep_interior_groups),
    BodyVersion("merged groups", _begin_merged_groups, _keep_merged_groups),
    BodyVersion("strips", _begin_strips, _keep_strips),
)


def _masked(ready: Ready) -> int:
    """Vector loads and stores under a mask other than the full one."""
    return sum(
        op.name in ("load", "store") and mask.name != "entry_mask" and not ready.shapes[op.args[0]].uniform
        for block, mask in ready.masks.of.items()
        for op in block.ops
    )


def _gathers(ready: Ready) -> int:
    """Gathers."""
    return sum(op.name == "load" and ready.shapes[op.args[0]].varying for op in ready.body.ops)


def _scattered(ready: Ready, options: Options) -> int:
    """Gathers and scatters outside of local memory."""
    accesses = (op for op in ready.body.ops if op.name in ("load", "store") and op.info.space != "local")
    shapes = (ready.shapes[op.args[0]] for op in accesses)
    return sum(shape.varying or (options.greater_than_4gb and not shape.exact) for shape in shapes)
