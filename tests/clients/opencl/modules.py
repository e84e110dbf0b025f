"""OpenCL programs as modules: the same kernels, from SPIR-V or from source."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import anyzero as az
from anyzero import opencl_c
from anyzero.interop import opencl
from anyzero.interop.opencl._compiler import options_for_clang

KERNELS = Path(__file__).resolve().parents[2] / "kernels"

SUMS = """
#include "scale.h"
kernel void scaled(global const int *x, global int *y) { y[get_global_id(0)] = SCALE * x[get_global_id(0)] + TERM; }
kernel void sums(global const int *x, global int *y, local int *part) {
  size_t at = get_local_id(0);
  part[at] = x[get_global_id(0)];
  for (size_t width = get_local_size(0) / 2; width; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (at < width) part[at] += part[at + width];
  }
  if (!at) y[get_group_id(0)] = part[0];
}
"""


def built(cl_ctx: Any, source: str | bytes, options: str = "") -> Any:
    with warnings.catch_warnings():
        # pyopencl warns of everything that a compiler says.
        warnings.simplefilter("ignore")
        return cl.Program(cl_ctx, source).build(options)


def test_a_program_from_source(ctx: az.Context, cl_ctx: Any, cl_queue: Any, tmp_path: Path) -> None:
    (tmp_path / "scale.h").write_text("#define SCALE 3\n")
    program = built(cl_ctx, SUMS, f"-I '{tmp_path}' -DTERM=4 -cl-mad-enable -cl-std=CL1.2")
    module = opencl.module(ctx, program)
    assert sorted(module) == ["scaled", "sums"]
    assert sorted(module) == sorted(program.get_info(cl.program_info.KERNEL_NAMES).split(";"))
    x = np.arange(64, dtype=np.int32)
    theirs = [cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=x) for _ in range(3)]
    cl.Kernel(program, "scaled")(cl_queue, (64,), None, theirs[0], theirs[1])
    cl.Kernel(program, "sums")(cl_queue, (64,), (16,), theirs[1], theirs[2], cl.LocalMemory(64))
    expected = np.empty(4, np.int32)
    cl.enqueue_copy(cl_queue, expected, theirs[2])
    mine = [ctx.to_device(x) for _ in range(3)]
    with ctx.immediate() as lst:
        module["scaled"][64](mine[0], mine[1], on=lst)
        module["sums"][64](mine[1], mine[2], az.local(64), group=16, on=lst)
    assert (mine[1].copy_to() == 3 * x + 4).all()
    assert (mine[2].copy_to()[:4] == expected).all()
    assert expected.sum() == (3 * x + 4).sum()


def test_the_source_of_a_program_on_its_own_terms(ctx: az.Context, cl_ctx: Any) -> None:
    """Options of the caller's take the place of the program's."""
    program = built(cl_ctx, "kernel void f(global int *x) { x[0] = N; }", "-DN=1")
    for options, expected in ((None, 1), ("-DN=2", 2), (["-DN=3", "-cl-std=CL3.0"], 3)):
        x = ctx.zeros(1, np.int32, kind="shared")
        with ctx.immediate() as lst:
            opencl.module(ctx, program, options=options)["f"][1](x, on=lst)
        assert np.asarray(x)[0] == expected


def test_names_of_built_in_functions(ctx: az.Context, cl_ctx: Any) -> None:
    program = built(cl_ctx, "kernel void step(global int *x) { x[0] = 1; }")
    assert list(opencl.module(ctx, program)) == ["step"]


def test_a_program_from_spirv(ctx: az.Context, cl_ctx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (KERNELS / "saxpy.spv").read_bytes()
    try:
        program = built(cl_ctx, data)
    except cl.Error as error:
        pytest.skip(f"{cl_ctx.devices[0].platform.name} takes no SPIR-V: {error}")
    # No compiler is called.
    monkeypatch.setenv("PATH", "")
    module = opencl.module(ctx, program)
    assert sorted(module) == sorted(program.get_info(cl.program_info.KERNEL_NAMES).split(";"))
    x, y = ctx.full(8, 2, np.float32), ctx.full(8, 1, np.float32)
    with ctx.immediate() as lst:
        module["saxpy"][8](y, x, 3, 8, on=lst)
    assert (y.copy_to() == 7).all()


def test_a_program_linked_from_parts(ctx: az.Context, cl_ctx: Any) -> None:
    sources = (
        "int twice(int x); kernel void f(global int *x) { x[0] = twice(x[0]) + N; }",
        "int twice(int x) { return 2 * x; }",
    )
    parts = [cl.Program(cl_ctx, source) for source in sources]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            part.compile("-DN=5")
    try:
        linked = cl.link_program(cl_ctx, parts)
    except cl.Error as error:
        pytest.skip(f"{cl_ctx.devices[0].platform.name} links no programs: {error}")
    with pytest.raises(az.InvalidArgument, match="neither SPIR-V nor source") as caught:
        opencl.module(ctx, linked)
    assert "list of parts" in str(caught.value)
    module = opencl.module(ctx, parts)
    assert list(module) == linked.get_info(cl.program_info.KERNEL_NAMES).split(";")
    x = ctx.full(1, 4, np.int32, kind="shared")
    with ctx.immediate() as lst:
        module["f"][1](x, on=lst)
    assert np.asarray(x)[0] == 13


def test_what_the_optimiser_writes_and_the_translator_does_not_know(tmp_path: Path) -> None:
    """A translator that refuses optimised code gets the unoptimised code."""
    found = opencl.Compiler.find()
    assert found.llvm_spirv is not None
    picky = tmp_path / "llvm-spirv"
    picky.write_text(
        f'#!/bin/sh\necho turn >> "{tmp_path}/turns"\n[ $(wc -l < "{tmp_path}/turns") -gt 1 ] || exit 3\n'
        f'exec "{found.llvm_spirv}" "$@"\n'
    )
    picky.chmod(0o755)
    spirv = opencl.Compiler(found.clang, picky).spirv("kernel void f(global int *x) { x[0] = 1; }")
    assert spirv[:4] == b"\x03\x02\x23\x07"
    assert len((tmp_path / "turns").read_text().splitlines()) == 2


def test_programs_that_are_no_modules(ctx: az.Context, cl_ctx: Any, program: Any) -> None:
    with pytest.raises(az.InvalidArgument, match="was not built"):
        opencl.module(ctx, cl.Program(cl_ctx, "kernel void f() {}"))
    plain = cl._cl._Program(cl_ctx, "kernel void f() {}")
    with pytest.raises(az.InvalidArgument, match="was not built"):
        opencl.module(ctx, plain)
    device = cl_ctx.devices[0]
    binary = program.get_info(cl.program_info.BINARIES)[0]
    again = cl.Program(cl_ctx, [device], [binary])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.build()
    with pytest.raises(az.InvalidArgument, match="neither SPIR-V nor source") as caught:
        opencl.module(ctx, again)
    assert "ctx.module()" in str(caught.value)
    for wrong in (None, "kernel void f() {}", cl_ctx):
        with pytest.raises(TypeError, match=r"pyopencl\.Program"):
            opencl.module(ctx, wrong)
    with pytest.raises(TypeError, match=r"anyzero\.Context"):
        opencl.module(cl_ctx, program)
    closed = az.device().context()
    closed.close()
    with pytest.raises(az.ClosedError):
        opencl.module(closed, program)


def test_without_a_compiler_there_is_a_remedy(
    ctx: az.Context, program: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("anyzero.opencl_c.clang._zig", lambda: None)
    with pytest.raises(az.Unavailable, match="apt install clang"):
        opencl.module(ctx, program)
    with pytest.raises(az.Unavailable, match="apt install clang"):
        opencl.module(ctx, program, compiler=opencl.Compiler(tmp_path / "clang"))


def test_what_clang_refuses_is_told(ctx: az.Context, cl_ctx: Any) -> None:
    program = built(cl_ctx, "#ifdef FINE\nkernel void f() {}\n#endif\n", "-DFINE")
    with pytest.raises(az.BuildError, match="lacks: f"):
        opencl.module(ctx, program, options="")
    with pytest.raises(az.BuildError, match=r"program\.cl") as caught:
        opencl.module(ctx, program, options=["-DFINE", "-Dkernel=nonsense"])
    assert "nonsense" in caught.value.log


def test_options() -> None:
    assert options_for_clang("") == ["-cl-std=CL1.2"]
    assert options_for_clang("-D A -DB=1 -U C -I 'a b' -w -g -cl-std=CL2.0") == [
        *("-DA", "-DB=1", "-UC", "-Ia b", "-w", "-g", "-cl-std=CL2.0")
    ]
    assert options_for_clang("-cl-no-subgroup-ifp -cl-fast-relaxed-math")[0] == "-cl-fast-relaxed-math"
    with pytest.raises(az.InvalidArgument, match="-cl-nv-maxrregcount=32"):
        options_for_clang("-cl-nv-maxrregcount=32")
    with pytest.raises(az.InvalidArgument, match="has no value"):
        options_for_clang("-D")


def test_the_compiler_is_the_one_of_modules_from_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr("anyzero.opencl_c.clang._zig", lambda: "/zig")
    for version in (14, 15):
        for name in (f"clang-{version}", f"llvm-spirv-{version}"):
            (tmp_path / name).write_text(f"#!/bin/sh\necho clang version {version}.0\n")
            (tmp_path / name).chmod(0o755)
    # A newer one that can write no SPIR-V is passed over.
    (tmp_path / "clang-16").write_text("#!/bin/sh\necho clang version 16.0\n")
    (tmp_path / "clang-16").chmod(0o755)
    found = opencl.Compiler.find()
    assert found == opencl.Compiler(str(tmp_path / "clang-15"), str(tmp_path / "llvm-spirv-15"))
    chosen = opencl_c.choose()
    assert ((found.clang,), found.llvm_spirv) == (chosen.command, chosen.translator)
