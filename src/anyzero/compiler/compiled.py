"""Options of the compiler, and its result: compiled kernels and laid out variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from anyzero.compiler.line_table import NO_LINES, LineTable
from anyzero.layouts.container import CounterPlace
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["Argument", "ArgumentKind", "CompiledKernel", "Globals", "Options"]

ArgumentKind = Literal["value", "global", "constant", "local", "image", "sampler"]


@dataclass(frozen=True, slots=True)
class Options:
    """Compiler options, from build flags and environment variables."""

    level: int = 2
    """0 (none) to 3."""
    lanes: int | None = None
    """Work-items in a vector; None leaves the choice to the compiler."""
    gathers: bool | None = None
    """May loads and stores be gathers and scatters of the processor? None leaves it to the compiler, which uses them
    with AVX-512.
    """
    rows: int | None = None
    """Rows of work-items that run at once where they can; None leaves the choice to the compiler."""
    greater_than_4gb: bool = False
    """Buffers may be larger than that, so that narrow indices may wrap around inside of one."""
    large_registers: bool = False
    """Shall vectors be a single register long, so that as many values as possible stay in registers?"""
    debug: bool = False
    """Shall there be lines and names for debuggers?"""
    cpu: str = ""
    """LLVM's name of the processor; empty for the host's."""
    features: str = ""
    residency_checks: bool = False
    """Does the kernel check residency before each access? For devices without on-demand paging."""
    check_memory: bool = False
    """Are accesses compared with the bounds of the memory that their pointers were made from?"""
    check_races: bool = False
    """Does the kernel tell the engine of its accesses, for checks of races between work-items?"""
    check_init: bool = False
    """The same for reads of memory that was never written."""
    check_sync: bool = False
    """Does the kernel tell the engine which work-items reach barriers and collective operations?"""
    count_lanes: bool = False
    """Does the kernel count its active lanes and its accesses, for profiles?"""
    cache_bytes: int | None = None
    """The assumed size of the caches; None for the host's."""
    quick: bool = False
    """Is compile time more important than speed? Then there is one version of the kernel, and LLVM takes its shortest
    way to good code. Results are the same, bit for bit.
    """
    all_versions: bool = False
    """Are there all versions of the kernel even then? A small kernel has them soon."""
    group: tuple[int, int, int] | None = None
    """The size of the groups of all launches that run this code; None where launches may have groups of any size. A
    kernel that requires a size has that one, and one with sub-groups, whose size programs see, ignores this.
    """

    @property
    def notes(self) -> bool:
        """Does the kernel tell the engine of its accesses?"""
        return self.check_races or self.check_init

    @property
    def checks(self) -> bool:
        """Are there checks whose reports name work-items?"""
        return self.check_memory or self.check_sync or self.notes

    @property
    def one_version(self) -> bool:
        """Is there one version of the kernel: to be ready soon, or because checks are to see each access once?"""
        return (self.quick and not self.all_versions) or self.notes

    @property
    def thorough_columns(self) -> bool:
        """Are stores and short elements joined across the iterations of a loop, and not only loads of words? Not where
        checks are to see each access once, and not in the first stage: loops become longer.
        """
        return not (self.one_version or self.check_memory or self.count_lanes)


Turns = Literal["unknown", "arguments", "constant"]


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a kernel and its place in the packed argument block."""

    index: int
    name: str
    kind: ArgumentKind
    size: int
    offset: int
    alignment: int
    access: int = 0
    """Of an image: 0 read, 1 write, 2 both. Of anything else: `layouts.container.ArgumentUse`."""
    type: str = ""
    """As OpenCL C writes it, as far as that is known: ``float4``, ``global int*``, ``image2d_t``, ``struct``."""
    leading_writes: int = 0
    """Bytes that each work-item (x, 0, 0) writes, one behind the other; 0: not known."""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A kernel as machine code, with the properties that a launch needs. Sizes are in bytes."""

    name: str
    entry: str
    """The symbol of the entry point."""
    object: bytes = field(repr=False)
    """A relocatable ELF file."""
    lanes: int
    flat: bool
    """Does it use no barriers, local memory, local ids and group ids, so that the engine may choose the groups?"""
    shares_rows: bool
    """Do many rows of work-items read the same memory, so that blocks of many rows are best?"""
    short_elements: bool
    """Does a work-item access bytes or shorts, so that blocks of long rows are best?"""
    barriers: bool
    printf: bool
    sub_groups: bool
    arguments: tuple[Argument, ...]
    args_bytes: int
    local_bytes: int
    private_bytes: int
    """Of each work-item."""
    spill_bytes: int
    """For each work-item: registers spilled to the stack, and values kept across barriers."""
    scratch_fixed: int
    scratch_per_vector: int
    required_group_size: tuple[int, int, int] | None
    max_group_items: int
    """0 for the device's own limit."""
    required_sub_groups: int
    required_sub_group_size: int
    attributes: str
    waits: bool = False
    """May it have spin loops, which wait for memory that others write?"""
    turns: Turns = "unknown"
    """The inputs of its trip counts: none, arguments and the size of the launch, or unknown."""
    links: tuple[int, ...] = ()
    """Indices in the list of linked modules whose variables ``az_globals.1``, ``az_globals.2`` … are.

    Empty stands for all linked modules, in their order.
    """
    log: str = ""
    lines: LineTable = NO_LINES
    """Empty where the module has no source lines."""
    counters: tuple[CounterPlace, ...] = ()
    """Places of the counters that it adds to; empty for kernels that count nothing."""
    provisional: bool = field(default=False, compare=False)
    """Is it the first stage, whose code a better one with the same arguments and lanes replaces? Not kept with compiled
    code.
    """
    checked: bool = False
    """Does it check its accesses of memory?"""
    noted: bool = False
    """Does it note its accesses, or the work-items that reach barriers, for check mode?"""
    lane_dimension: int = 0
    """The dimension along which lanes are neighbours. If it is not 0, the code has a version for launches whose Grid
    has it exchanged with the first one, and another one for the rest.
    """
    divides_ids: bool = False
    """Is there a version for launches that are cut into rows, and the function that tells their length?"""
    fits_groups: bool = False
    """May code for groups of one size be faster?"""
    lanes_because: str = field(default="", compare=False)
    """The reason for the number of lanes, for people; not kept with compiled code."""


@dataclass(frozen=True, slots=True)
class Globals:
    """The program-scope variables of a module, laid out in one block."""

    block: bytes = field(repr=False)
    """The first bytes of the block; the rest is zero."""
    size: int
    alignment: int
    relocations: tuple[tuple[int, int], ...] = ()
    """Pointers in the block: the offset of the pointer, and the offset that it points to."""
    names: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Offset and size of each variable that has a name."""
