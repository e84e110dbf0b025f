"""CPU targets: this machine's processor, or another x86-64 one by name."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from anyzero.compiler.errors import CompileError
from anyzero.compiler.targets import frame
from anyzero.compiler.targets.features import implied
from anyzero.lazy_dataclass import dataclass
from anyzero.lazy_namedtuple import NamedTuple

KNOWN = (
    *("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "haswell", "znver4"),
    *("core2", "penryn", "nehalem", "westmere", "sandybridge", "ivybridge", "broadwell", "skylake", "skylake-avx512"),
    *("cascadelake", "cooperlake", "cannonlake", "icelake-client", "icelake-server", "tigerlake", "rocketlake"),
    *("alderlake", "raptorlake", "meteorlake", "arrowlake", "arrowlake-s", "lunarlake", "pantherlake"),
    *("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids"),
    *("bonnell", "silvermont", "goldmont", "goldmont-plus", "tremont", "gracemont", "sierraforest", "grandridge"),
    *("clearwaterforest", "btver1", "btver2", "bdver1", "bdver2", "bdver3", "bdver4"),
    *("znver1", "znver2", "znver3", "znver5", "k8", "amdfam10"),
)
"""Known names: LLVM ends the process at an unknown one, and has no list of them in its API."""

USUAL_CACHE = 32 << 20

MOST_ACCESSES = 200
"""Instructions in a row up to which LLVM's schedulers compare all pairs. Its own limit is 1000, which takes a second.
"""

MANY_BRANCHES = 1000
"""Branches of a function from which on LLVM's loop passes are left out: their time grows faster than the function."""

LLVM_OPTIONS = (
    f"-dag-maps-huge-region={MOST_ACCESSES}",
    # Level 0, which emits the code of the first stage: instructions by whole blocks, so that multiplications and
    # additions are fused as at other levels, and registers by their live ranges. It takes half as long as level 2, and
    # most kernels run as fast. Other levels do the same without being told.
    "-fast-isel=false",
    "-optimize-regalloc=true",
    "-regalloc=greedy",
)

_LENIENT = re.compile(r" (?:contract|reassoc|nnan|ninf|nsz|arcp|afn|fast) ")
"""A flag of a floating-point operation that LLVM need not round exactly as it is written."""

_LOOP = """
define void @double(ptr %x, i64 %n) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %at = getelementptr float, ptr %x, i64 %i
  %one = load <8 x float>, ptr %at, align 4
  %two = fadd <8 x float> %one, %one
  store <8 x float> %two, ptr %at, align 4
  %next = add i64 %i, 8
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""

_LOCK = threading.Lock()
"""LLVM's global state is set up once; compiling itself runs in any number of threads."""


@dataclass(frozen=True)
class Target:
    cpu: str
    features: str

    @cached_property
    def wide(self) -> bool:
        """Is there AVX-512: registers of 512 bits, mask registers, estimates of inverse roots, scaling by powers of
        two?
        """
        return "+avx512vl" in self.features and "+avx512bw" in self.features and "+avx512dq" in self.features

    @property
    def lanes(self) -> int:
        """The default vector length: floats of a register."""
        return self.register // 4

    @property
    def sub_group(self) -> int:
        """The default sub-group size, and the lanes of functions that are called through pointers."""
        return max(8, self.lanes)

    @property
    def register(self) -> int:
        """Bytes of a vector register."""
        return 64 if self.wide else 32 if "+avx2" in self.features else 16

    @cached_property
    def fused(self) -> bool:
        """Are there fused multiply-adds?"""
        return "+fma" in self.features

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self.wide else 16

    @property
    def halves(self) -> bool:
        """Does the processor execute vectors of 512 bits in two halves, so that narrower ones cost nothing?"""
        return self.wide and self.cpu == "znver4"

    @property
    def slow_masked_streams(self) -> bool:
        """Do masked loads of long streams take longer than others? Zen 5's prefetchers seem not to follow them: a saxpy
        with a bounds check takes 1.8 times as long.
        """
        return self.wide and self.cpu == "znver5"

    @cached_property
    def gathers(self) -> bool:
        """Are hardware gathers faster than scalar loads? AVX2's are not on most processors, and LLVM emits a branch for
        each lane instead where it knows.
        """
        return self.wide


@cache
def host() -> Target:
    features = llvm.get_host_cpu_features()
    text = ",".join(("+" if there else "-") + name for name, there in sorted(features.items()))
    return Target(llvm.get_host_cpu_name(), text)


@cache
def cache_bytes() -> int:
    """The size of this machine's last-level cache."""
    for level in (3, 2):
        try:
            size = Path(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size").read_text().strip()
        except OSError:
            continue
        if size.endswith("K") and size[:-1].isdigit():
            return int(size[:-1]) << 10
    return USUAL_CACHE


@cache
def target(cpu: str, features: str) -> Target:
    if not cpu:
        return host()
    if cpu not in KNOWN:
        raise CompileError(f"{cpu} is no x86-64 processor that LLVM knows by name; some are {', '.join(KNOWN[:6])}")
    return Target(cpu, features or implied(cpu))


_FREE: dict[tuple[Target, int], list[Any]] = {}
"""Target machines that no thread uses: creation and first use of one take a millisecond."""


@contextmanager
def _machine(target: Target, level: int) -> Iterator[Any]:
    """A target machine that no other thread uses meanwhile."""
    free = _FREE.setdefault((target, level), [])
    try:
        machine = free.pop()
    except IndexError:
        machine = _make_machine(target, level)
    try:
        yield machine
    finally:
        free.append(machine)


def _make_machine(target: Target, level: int) -> Any:
    with _LOCK:
        _set_up()
    features = target.features
    if target.wide:
        # LLVM avoids 512-bit registers on some processors unless asked; vectors of 16 floats are meant to be one.
        features += ",-prefer-256-bit"
    return llvm.Target.from_triple("x86_64-pc-linux-gnu").create_target_machine(
        cpu=target.cpu, features=features, opt=min(level, 3), reloc="pic", codemodel="small", printmc=False
    )


@cache
def _set_up() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for option in LLVM_OPTIONS:
        llvm.set_option("anyzero", option)


class Compiled(NamedTuple):
    object: bytes
    """A relocatable ELF file."""
    optimised: Any
    """LLVM's module, whose text is its `str`."""
    spilled: int
    """Bytes of registers that are kept on the stack."""


def compile_text(text: str, target: Target, level: int, quick: bool = False) -> Compiled:
    """`quick` trades speed of the code for compile time. Passes that may affect rounding stay the same."""
    try:
        # A context of its own: LLVM's shared one keeps every type and constant for good.
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses what the compiler wrote; please report this: {error}") from None
    with _machine(target, level) as machine, _machine(target, 0) if quick else nullcontext(machine) as emitter:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        if level > 2:
            builder = _builder(machine, 3)
            builder.getModulePassManager().run(module, builder)
        else:
            loops = not quick and _most_branches(text) < MANY_BRANCHES
            combine = not quick or _LENIENT.search(text) is not None
            _simplify(module, _builder(machine, 1), loops=loops, combine=combine)
        if quick:
            _leave_out_scheduling(module)
        variables = frame.variables(module)
        made = emitter.emit_object(module)
    return Compiled(made, module, frame.spilled(made, variables))


def warm_up(target: Target, level: int) -> None:
    """Makes the target machines of a first stage, and has LLVM set up what it sets up at its first use: a loop over a
    vector takes it through all passes.
    """
    compile_text(_LOOP, target, level, quick=True)


def _builder(machine: Any, speed: int) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_interleaving = False
    # Vectors are wide enough to keep the processor busy; longer code only takes longer to compile.
    options.loop_unrolling = False
    return llvm.create_pass_builder(machine, options)


def _most_branches(text: str) -> int:
    """The largest number of branches of a function."""
    return max((each.count("\n  br ") for each in text.split("\n}")), default=0)


def _simplify(module: Any, builder: Any, *, loops: bool, combine: bool) -> None:
    """The IR passes that pay.

    Values that all work-items share, or that are available, are not written again
    (`lower/launch_invariants.py`), so the passes that look for them are left out: two thirds of the time, same code.
    """
    passes = llvm.create_new_module_pass_manager()
    # A kernel is one function then.
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    # mem2reg, and dead code before the passes that would analyse it.
    passes.add_sroa_pass()
    passes.add_dead_code_elimination_pass()
    passes.add_simplify_cfg_pass()
    # Three fifths of the time of all these passes, for code that is hardly shorter: instruction selection combines as
    # well. The first stage does without where every operation is exact as it is written. Elsewhere, what is fused and
    # how it is rounded depends on the form that the operations have then.
    if combine:
        passes.add_instruction_combine_pass()
    # Loops are rotated; those that run once or do nothing are removed. The first stage does without: rotation takes a
    # fifth of the time of all passes and changes little, because the loops around the regions are written in rotated
    # form and most front ends rotate those of kernels. Deletion takes a quarter, for the trip counts of all loops.
    if loops:
        passes.add_loop_rotate_pass()
        passes.add_loop_deletion_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def _leave_out_scheduling(module: Any) -> None:
    """Has LLVM emit without its scheduler, which takes a tenth of the time and runs at level 0, too, where registers
    are allocated by live ranges. Processors reorder instructions themselves. Instructions are selected as before.
    """
    for function in module.functions:
        if not function.is_declaration:
            # LLVM wants the one with the other.
            function.add_function_attribute("noinline")
            function.add_function_attribute("optnone")


def assembly(module: Any, target: Target, level: int) -> str:
    with _machine(target, level) as machine:
        return str(machine.emit_assembly(module))
