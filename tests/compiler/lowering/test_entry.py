"""The code around a kernel: which work-items run, in which vectors, and where each of them believes to be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.flat import flat_entry
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import Module, read, verify
from tests.compiler import native
from tests.compiler.assembler import assemble
from tests.compiler.lowering.draft import TARGET
from tests.compiler.samples import PROLOGUE, TYPES

KERNELS = Path(__file__).resolve().parents[2] / "kernels"

Numbers = np.ndarray[Any, Any]
Size = tuple[int, ...]

IDS = ("GlobalInvocationId", "LocalInvocationId", "WorkgroupId")


@cache
def module(body: str, names: tuple[str, ...] = (), declarations: str = "") -> Module:
    """A kernel with an i64 buffer; %linear is the work-item's number, builtin variables are loaded by their names."""
    wide = [f"%{name} = OpLoad %v3i64 %v{name}" for name in names if name in IDS]
    single = [f"%{name} = OpLoad %i64 %v{name}" for name in names if name not in IDS]
    everything = ["GlobalLinearId", *names]
    text = "\n".join(
        [
            PROLOGUE,
            f'OpEntryPoint Kernel %main "main" {" ".join("%v" + name for name in everything)}',
            *(f"OpDecorate %v{name} BuiltIn {name}" for name in everything),
            TYPES,
            "%global_i64 = OpTypePointer CrossWorkgroup %i64",
            "%input_i64 = OpTypePointer Input %i64",
            declarations,
            *(f"%v{name} = OpVariable {'%input_v3i64' if name in IDS else '%input_i64'} Input" for name in everything),
            "%main_type = OpTypeFunction %void %global_i64",
            "%main = OpFunction %void None %main_type",
            "%out = OpFunctionParameter %global_i64",
            "%entry = OpLabel",
            "%linear = OpLoad %i64 %vGlobalLinearId",
            *wide,
            *single,
            body,
            "OpReturn",
            "OpFunctionEnd",
        ]
    )
    found = read(assemble(text, (1, 6)))
    verify(found)
    return found


def storing(value: str) -> str:
    return f"%place = OpInBoundsPtrAccessChain %global_i64 %out %linear\nOpStore %place {value}"


def component(name: str, axis: int) -> Module:
    return module(f"%x = OpCompositeExtract %i64 %{name} {axis}\n{storing('%x')}", (name,))


def run(
    kernel: CompiledKernel,
    size: Size,
    group: Size,
    offset: Size = (0, 0, 0),
    pieces: Sequence[tuple[int, int]] = (),
    strip: int | None = None,
) -> Numbers:
    """What each work-item wrote; -1 where none did. `pieces` are ranges of groups, instead of all at once."""
    out = np.full(int(np.prod(size)), -1, np.int64)
    loaded = native.Loaded(kernel)
    whole = loaded.entry

    def entry(args: int, grid: int, first: int, last: int, worker: int) -> None:
        for start, stop in pieces or [(first, last)]:
            whole(args, grid, start, stop, worker)

    loaded.entry = entry
    loaded([out], size, group, offset, strip)
    return out


SIZES: list[tuple[Size, Size, Size]] = [
    ((40,), (20,), (0,)),
    ((1,), (1,), (0,)),
    ((33, 4), (11, 2), (5, 7)),
    ((16, 3, 4), (4, 3, 2), (1, 2, 3)),
    ((300, 2), (150, 1), (0, 0)),
]


def expected(name: str, axis: int, size: Size, group: Size, offset: Size) -> Numbers:
    sizes, groups, offsets = ([*each, fill, fill][:3] for each, fill in ((size, 1), (group, 1), (offset, 0)))
    shape = tuple(reversed(sizes))
    place = np.indices(shape)[2 - axis].reshape(-1)
    if name == "GlobalInvocationId":
        return place + offsets[axis]
    return place % groups[axis] if name == "LocalInvocationId" else place // groups[axis]


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("name", IDS)
def test_given_a_grid_then_every_work_item_knows_its_place(name: str, lanes: int) -> None:
    for axis in range(3):
        kernel = compile_kernel(component(name, axis), "main", Options(level=1, lanes=lanes))
        assert kernel.flat == (name == "GlobalInvocationId")
        for size, group, offset in SIZES:
            found = run(kernel, size, group, offset)
            assert (found == expected(name, axis, size, group, offset)).all(), (axis, size, group)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("axis", range(3))
def test_given_blocks_that_stick_out_then_only_work_items_of_the_launch_run(axis: int, lanes: int) -> None:
    kernel = compile_kernel(component("GlobalInvocationId", axis), "main", Options(level=1, lanes=lanes))
    for size, block, offset in [
        ((37,), (16,), (0,)),
        ((19, 7), (8, 4), (3, 5)),
        ((5, 5, 5), (3, 4, 2), (0, 0, 9)),
        ((9, 2), (128, 64), (0, 0)),
    ]:
        found = run(kernel, size, block, offset)
        assert (found == expected("GlobalInvocationId", axis, size, block, offset)).all(), (size, block)


def test_given_strips_then_groups_are_numbered_row_by_row_in_each() -> None:
    kernel = compile_kernel(component("WorkgroupId", 0), "main", Options(level=1, lanes=4))
    size, group = (28, 12, 4), (4, 4, 2)
    columns, rows, layers = 7, 3, 2
    everything = expected("WorkgroupId", 0, size, group, (0, 0, 0))
    for strip in (1, 2, 3, 7):
        wanted = [
            (x, y, z)
            for z in range(layers)
            for first in range(0, columns, strip)
            for y in range(rows)
            for x in range(first, min(first + strip, columns))
        ]
        found = []
        for number in range(columns * rows * layers):
            place = int(np.flatnonzero(run(kernel, size, group, pieces=[(number, number + 1)], strip=strip) >= 0)[0])
            found.append((place % 28 // 4, place // 28 % 12 // 4, place // (28 * 12) // 2))
        assert found == wanted, strip
        # Steps from group to group come to the same places.
        assert (run(kernel, size, group, pieces=[(0, 5), (5, 23), (23, 42)], strip=strip) == everything).all(), strip


@pytest.mark.parametrize("name", ["GlobalInvocationId", "LocalInvocationId"])
def test_given_a_range_of_groups_then_only_their_work_items_run(name: str) -> None:
    kernel = compile_kernel(component(name, 0), "main", Options(level=1, lanes=8))
    size, group = (33, 4), (11, 2)
    everything = run(kernel, size, group)
    found = run(kernel, size, group, pieces=[(2, 5)])
    numbers = np.arange(33 * 4)
    groups = numbers % 33 // 11 + 3 * (numbers // 33 // 2)
    inside = (groups >= 2) & (groups < 5)
    assert (found[inside] == everything[inside]).all()
    assert (found[~inside] == -1).all()
    assert (run(kernel, size, group, pieces=[(4, 6), (0, 1), (1, 4)]) == everything).all()


@pytest.mark.parametrize("start", [(1 << 31) - 8, (1 << 32) - 8, (1 << 40) + 3])
@pytest.mark.parametrize("widening", ["OpSConvert", "OpUConvert"])
@pytest.mark.parametrize("flat", [True, False], ids=["flat", "grouped"])
def test_given_ids_beyond_32_bits_then_their_low_halves_wrap_where_they_should(
    start: int, widening: str, flat: bool
) -> None:
    names = ("GlobalInvocationId",) if flat else ("GlobalInvocationId", "LocalInvocationId")
    text = f"""
        %g = OpCompositeExtract %i64 %GlobalInvocationId 0
        %low = OpUConvert %i32 %g
        %wide = {widening} %i64 %low
    """
    if not flat:
        text += "%l = OpCompositeExtract %i64 %LocalInvocationId 0\n%sum = OpIAdd %i64 %wide %l\n"
    kernel = compile_kernel(
        module(text + storing("%wide" if flat else "%sum"), names), "main", Options(level=1, lanes=16)
    )
    assert kernel.flat == flat
    found = run(kernel, (40,), (20,), (start,))
    low = (np.arange(40) + start) & 0xFFFFFFFF
    wide = low.astype(np.uint32).astype(np.int32) if widening == "OpSConvert" else low
    assert (found == wide + (0 if flat else np.arange(40) % 20)).all()


def test_given_a_loop_with_two_entries_then_each_lane_takes_its_own() -> None:
    text = """
        %odd = OpBitwiseAnd %i64 %linear %l1
        %is = OpIEqual %bool %odd %l1
        OpBranchConditional %is %a %b
        %a = OpLabel
        %x = OpPhi %i64 %linear %entry %y %b
        %u = OpISub %i64 %x %l1
        %up = OpSGreaterThan %bool %u %l0
        OpBranchConditional %up %b %end
        %b = OpLabel
        %y = OpPhi %i64 %linear %entry %u %a
        OpBranch %a
        %end = OpLabel
    """
    kernel = compile_kernel(module(text + storing("%u")), "main", Options(level=1, lanes=8))
    assert kernel.lanes == 8
    assert (run(kernel, (20,), (20,)) <= 0).all()


BARRIER = """
    %sem = OpConstant %i32 0x110
    %count = OpConstant %i32 64
    %many = OpTypeArray %i64 %count
    %local_many = OpTypePointer Workgroup %many
    %local_i64 = OpTypePointer Workgroup %i64
    %shared = OpVariable %local_many Workgroup
"""


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_given_a_barrier_then_all_vectors_of_a_group_come_to_it_before_any_goes_on(lanes: int) -> None:
    text = """
        %mine = OpInBoundsAccessChain %local_i64 %shared %LocalInvocationIndex
        OpStore %mine %linear
        OpControlBarrier %c2 %c2 %sem
        %n1 = OpIAdd %i64 %LocalInvocationIndex %step
        %n2 = OpUMod %i64 %n1 %items
        %other = OpInBoundsAccessChain %local_i64 %shared %n2
        %x = OpLoad %i64 %other
    """
    constants = "%step = OpConstant %i64 25\n%items = OpConstant %i64 42\n"
    found = module(text + storing("%x"), ("LocalInvocationIndex",), constants + BARRIER)
    kernel = compile_kernel(found, "main", Options(level=1, lanes=lanes))
    assert kernel.barriers
    assert not kernel.flat
    assert kernel.local_bytes == 64 * 8
    size, group = (28, 6), (14, 3)
    out = run(kernel, size, group)
    x, y = np.meshgrid(np.arange(28), np.arange(6))
    inside = x % 14 + 14 * (y % 3)
    there = (inside + 25) % 42
    wanted = (x // 14 * 14 + there % 14) + 28 * (y // 3 * 3 + there // 14)
    assert (out.reshape(6, 28) == wanted).all()


def test_given_the_length_of_the_arguments_then_llvm_knows_it() -> None:
    known, unknown = (
        flat_entry("f", Choices(8, TARGET, Options(), args_bytes=size), LaunchInvariants(), True) for size in (24, 0)
    )
    assert "ptr noalias readonly align 8 dereferenceable(24) %arguments" in known
    assert "ptr noalias readonly %arguments" in unknown


def test_what_llvm_is_told_of_the_engines_blocks_is_their_size() -> None:
    header = (Path(__file__).resolve().parents[3] / "engine" / "layouts" / "gen" / "kernel.h").read_text()
    grid = re.search(r"sizeof\(Grid\) == (\d+)", header)
    worker = re.search(r"sizeof\(Worker\) == (\d+)", header)
    assert grid
    assert worker
    text = flat_entry("f", Choices(8, TARGET, Options()), LaunchInvariants(), True)
    assert f"align 8 dereferenceable({grid[1]}) %grid" in text
    assert f"align 8 dereferenceable({worker[1]}) %worker" in text


def test_loops_are_written_in_rotated_form() -> None:
    """The first stage leaves LLVM's loop rotation out, which would take a fifth of the time of its passes."""
    text = flat_entry("f", Choices(8, TARGET, Options()), LaunchInvariants(), True)
    lines = text.splitlines()
    labels = {line.removesuffix(":"): place for place, line in enumerate(lines) if line.endswith(":")}
    branches = [(place, re.findall(r"label %(\w+)", line)) for place, line in enumerate(lines) if "br " in line]
    back = [targets for place, targets in branches if any(labels[target] < place for target in targets)]
    assert len(back) >= 5
    assert all(len(targets) == 2 for targets in back)


@pytest.mark.parametrize("quick", [True, False])
def test_the_launchs_numbers_take_no_registers_while_a_block_runs(quick: bool) -> None:
    """The register allocator would have to keep a dozen of them across five loops."""
    text = form(read((KERNELS / "empty.spv").read_bytes()), "empty", Options(level=1, quick=quick), "llvm")
    entry = text.partition("\nentry:\n")[2].partition("\n\n")[0]
    assert entry
    assert "%grid" not in entry


@pytest.mark.parametrize("file", ["hash", "matmul", "reduction", "sub_groups"])
def test_the_launchs_numbers_that_nothing_uses_are_not_loaded(file: str) -> None:
    found = read((KERNELS / f"{file}.spv").read_bytes())
    for quick in (True, False):
        text = form(found, next(iter(found.kernels)), Options(quick=quick), "ir")
        entry = text.partition("define void @anyzero_kernel(")[2].partition("\n}")[0]
        uses = Counter(re.findall(r"%\w+", entry))
        loaded = re.findall(r"(%\w+) = getelementptr i8, ptr %grid, i64 \d+\n  (%\w+) = load i64, ptr \1,", entry)
        assert loaded
        assert [number for _, number in loaded if uses[number] == 1] == []
