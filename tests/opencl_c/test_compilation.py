"""OpenCL C: which clang compiles it, how, what it says, and what is kept."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.reference import run
from anyzero.compiler.spirv import read
from anyzero.compiler.spirv.disassembler import disassemble
from anyzero.opencl_c import clang, compile_file, compile_text
from anyzero.opencl_c.repair import instructions, repaired
from anyzero.spirv.numbers import Op
from anyzero.tools.cli import main
from tests.clients.debian import NotAvailableError
from tests.clients.pocl import compiler as debians_compiler

SAXPY = """
kernel void saxpy(global float* y, const global float* x, float a) {
  size_t i = get_global_id(0);
  y[i] += a * x[i];
}
"""
MAGIC = b"\x03\x02\x23\x07"
KERNELS = Path(__file__).parents[1] / "kernels"

Install = Callable[..., Path]

# The first one to run fetches what is missing.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANYZERO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["pypi", "debian"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> clang.Clang:
    """Each of the two kinds: the bare clang of a package, which writes SPIR-V, and an older one with its translator."""
    if request.param == "pypi":
        monkeypatch.setenv("PATH", str(tmp_path))
        if clang._zig() is None:
            pytest.skip("NOT TESTED: OpenCL C with the clang of PyPI. pip install '.[clang]'")
    else:
        try:
            programs, libraries = debians_compiler()
        except NotAvailableError as error:
            pytest.skip(f"NOT TESTED: OpenCL C with Debian's clang: {error}")
        monkeypatch.setenv("PATH", os.pathsep.join(map(str, programs)))
        monkeypatch.setenv("LD_LIBRARY_PATH", os.pathsep.join(map(str, libraries)))
        monkeypatch.setattr(clang, "_zig", lambda: None)
    found = clang.choose()
    assert found.bare == (request.param == "pypi")
    assert (found.translator is None) == found.bare
    return found


# With a compiler


def test_a_module_from_source_runs(compiler: clang.Clang) -> None:
    with az.device().context() as ctx:
        saxpy = ctx.module(source=SAXPY)["saxpy"]
        x, y = ctx.full(8, 3, np.float32), ctx.zeros(8, np.float32)
        saxpy[8](y, x, 2.0)
        assert (y.copy_to() == 6).all()
        with pytest.raises(az.InvalidArgument, match="reads its ids along x only"):
            saxpy[2, 4](y, x, 2.0)


LANGUAGE = """
#ifndef SCALE
#error no SCALE
#endif
kernel void much(global float4* out, global int* counted, local int* scratch, read_only image2d_t image) {
  const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  size_t i = get_global_id(0), l = get_local_id(0);
  if (!l) *scratch = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(scratch);
  atomic_max(counted, convert_int_sat(9.0f));
  barrier(CLK_LOCAL_MEM_FENCE);
  float4 pixel = read_imagef(image, nearest, (int2)(0, 0));
  char4 small = convert_char4_sat((int4)(300, -300, 5, -5));
  out[i] = (float4)(*scratch, fma(2.0f, 3.0f, sqrt(4.0f)), small.x + small.w, SCALE * as_float(as_int(pixel.x)));
  if (any((int2)(-1, 0)) && !all((int2)(-1, 0)) && sub_group_all(1)) atomic_add(counted + 1, 1);
}
"""


def test_types_vectors_maths_atomics_barriers_images_and_sub_groups(compiler: clang.Clang) -> None:
    with az.device().context() as ctx:
        much = ctx.module(source=LANGUAGE, options="-DSCALE=2 -ze-opt-level=2")["much"]
        image = ctx.image((2, 2), np.float32)
        image.copy_from(np.full((2, 2), 0.5, np.float32))
        out, counted = ctx.zeros((8, 4), np.float32), ctx.zeros(2, np.int32)
        much[8](out, counted, az.Local(4), image, group=4)
        assert (out.copy_to() == [4, 8, 122, 1]).all()
        assert counted.copy_to().tolist() == [9, 8]


def test_files_with_headers_beside_them(
    compiler: clang.Clang, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "values.h").write_text("#define VALUE 5\n")
    source = tmp_path / "kernels.cl"
    source.write_text('#include "values.h"\nkernel void fill(global int* p) { p[get_global_id(0)] = VALUE; }\n')
    with az.device().context() as ctx:
        out = ctx.zeros(2, np.int32)
        for value in (5, 6):
            (tmp_path / "values.h").write_text(f"#define VALUE {value}\n")
            ctx.module(source)["fill"][2](out)
            assert out.copy_to().tolist() == [value, value]
    assert main(["compile", str(source), "-o", str(tmp_path / "made.spv"), "-DUNUSED=1"]) == 0
    assert (tmp_path / "made.spv").read_bytes()[:4] == MAGIC
    assert capfd.readouterr().out == ""


def test_diagnostics_come_back_as_they_are(
    compiler: clang.Clang, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "wrong.cl"
    source.write_text("kernel void f(global int* p) {\n  p[0] = missing;\n}\n")
    with pytest.raises(az.BuildError) as caught:
        compile_file(source)
    assert f"{source}:2:10: error: use of undeclared identifier 'missing'" in caught.value.log
    assert main(["compile", str(source)]) == 1
    assert capfd.readouterr().err.rstrip() == caught.value.log
    warned = compile_text("kernel void f(global int* p) {\n#warning look here\n}\n")
    assert "look here" in warned.log
    assert compile_text("kernel void f(global int* p) {\n#warning look here\n}\n") == warned
    with az.device().context() as ctx:
        assert "look here" in ctx.module(source="kernel void f(global int* p) {\n#warning look here\n}\n").log


def test_group_functions_and_what_translators_do_not_know(compiler: clang.Clang) -> None:
    """Reductions of vectors, `freeze`, and a null event, which each of the two gets wrong by itself."""
    with az.device().context() as ctx:
        for name in ("barriers", "sub_groups", "work_groups"):
            assert ctx.module(KERNELS / f"{name}.cl").kernels
        copies = ctx.module(KERNELS / "async_copies.cl")["there_and_back"]
        x, y = ctx.to_device(np.arange(8, dtype=np.int32)), ctx.zeros(8, np.int32)
        copies[8](y, x, az.local(4, np.int32), group=4)
        assert y.copy_to().tolist() == [6, 4, 2, 0, 14, 12, 10, 8]


def test_lines_and_inlined_calls(compiler: clang.Clang) -> None:
    source = "\n".join(
        (
            "int third(global int* p, int i) { return p[i]; }",
            "int second(global int* p, int i) {",
            "  return third(p, i + 1);",
            "}",
            "kernel void first(global int* a, global int* b) {",
            "  for (int i = 0; i < 4; ++i)",
            "    b[i] = second(a, i);",
            "}",
        )
    )
    with az.device().context() as ctx:
        a, b = ctx.zeros(4, np.int32), ctx.zeros(4, np.int32)
        with az.check("memory", raises=False) as session:
            ctx.module(source=source, options="-g")["first"][1](a, b)
    (found,) = session.findings
    assert [(each.function, each.line) for each in found.stack] == [("first", 7), ("second", 3), ("third", 1)]
    if compiler.translator is None:  # translators do not embed the text
        assert [each.text for each in found.stack] == [source.splitlines()[line - 1].strip() for line in (7, 3, 1)]


def test_code_that_clang_moves_and_joins_has_its_lines(compiler: clang.Clang) -> None:
    if compiler.translator is not None:
        pytest.skip("the translator gives code that was moved no line")
    source = """
        kernel void branches(global int* a, global int* b, int n) {
          int i = get_global_id(0);
          if (b[i] > 3)
            b[i] = a[i + n] + 1;     // line 5
          else
            b[i] = a[i + n] * 2;     // line 7
        }
        kernel void stores(global int* a, global int* b, int n) {
          int i = get_global_id(0);
          if (b[i] > 3)
            a[i + n] = 1;            // line 12
          else
            a[i + n] = 2;            // line 14
        }
        kernel void loop(global int* restrict a, global int* restrict b, int n) {
          int i = get_global_id(0), sum = 0;
          for (int k = 0; k < n; ++k)
            sum += b[k] * a[i + n];  // line 19
          b[i] = sum;
        }"""
    with az.device().context() as ctx:
        a, b = ctx.zeros(8, np.int32), ctx.to_device(np.arange(8, dtype=np.int32))
        with az.check("memory", raises=False) as session:
            module = ctx.module(source=source, options="-g")
            for name in ("branches", "stores", "loop"):
                b.copy_from(np.arange(8, dtype=np.int32))
                module[name][8](a, b, 8)
    found = {(each.kernel, each.stack[-1].line) for each in session.findings}
    assert found == {("branches", 5), ("branches", 7), ("stores", 12), ("stores", 14), ("loop", 19)}


def test_lines_of_a_file_with_an_unusual_name(compiler: clang.Clang, tmp_path: Path) -> None:
    source = tmp_path / 'a "file" of café.cl'
    source.write_text("kernel void behind(global int* a) {\n  a[get_global_id(0) + 1] = 1;\n}\n")
    with az.device().context() as ctx, az.check("memory", raises=False) as session:
        ctx.module(source, options="-g")["behind"][4](ctx.zeros(4, np.int32))
    (found,) = session.findings
    assert (found.stack[-1].file, found.stack[-1].line) == (str(source), 2)


def test_lines_change_no_code() -> None:
    """With the clang that needs help with them: the other may write another order."""
    bare = next((each for each in map(clang.named, clang.candidates()) if each.bare), None)
    if bare is None:
        pytest.skip("needs ziglang")

    def code(spirv: bytes) -> Counter[int]:
        words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
        opcodes = [words[at] & 0xFFFF for at, _ in instructions(words)]
        debug = (Op.Line, Op.NoLine, Op.ExtInst, Op.ExtInstImport, Op.String)
        types = (Op.Name, Op.Bitcast, Op.TypeFunction, Op.Constant)
        return Counter(each for each in opcodes if each not in debug + types)

    for name in ("barriers", "sub_groups"):
        text = (KERNELS / f"{name}.cl").read_text()
        assert code(compile_text(text, ["-g"], bare).spirv) == code(compile_text(text, (), bare).spirv)


def test_async_copies_of_local_arrays(compiler: clang.Clang) -> None:
    """clang 22 gives the copy pointers to whole arrays, and the number of their elements."""
    source = """
        kernel void mirror(global int* to, global const int* from) {
          local int tile[2][4];
          size_t first = 8 * get_group_id(0);
          event_t there = async_work_group_copy(&tile[0][0], from + first, 8, 0);
          wait_group_events(1, &there);
          int item = tile[1 - get_local_id(0) / 4][3 - get_local_id(0) % 4];
          barrier(CLK_LOCAL_MEM_FENCE);
          tile[get_local_id(0) / 4][get_local_id(0) % 4] = item;
          barrier(CLK_LOCAL_MEM_FENCE);
          event_t back = async_work_group_copy(to + first, tile[0], 8, 0);
          wait_group_events(1, &back);
        }"""
    with az.device().context() as ctx:
        from_ = np.arange(16, dtype=np.int32)
        to = ctx.zeros(64, np.int32)
        ctx.module(source=source)["mirror"][16](to, ctx.to_device(from_), group=8)
        assert to.copy_to().tolist() == [*from_[7::-1], *from_[15:7:-1], *[0] * 48]


def test_async_copies_of_a_loop(compiler: clang.Clang) -> None:
    """clang 22 writes the type of their event once more for each of them."""
    source = """
        kernel void through(global int* to, global const int* from) {
          local int tile[2][4];
          event_t there = async_work_group_copy(tile[0], from, 4, 0);
          for (int k = 0; k < 4; ++k) {
            wait_group_events(1, &there);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k < 3)
              there = async_work_group_copy(tile[(k + 1) & 1], from + 4 * (k + 1), 4, 0);
            to[4 * k + get_local_id(0)] = tile[k & 1][3 - get_local_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
          }
        }"""
    with az.device().context() as ctx:
        from_, to = np.arange(16, dtype=np.int32), ctx.zeros(16, np.int32)
        ctx.module(source=source)["through"][4](to, ctx.to_device(from_), group=4)
        assert to.copy_to().tolist() == from_.reshape(4, 4)[:, ::-1].ravel().tolist()


def test_fences(compiler: clang.Clang) -> None:
    source = """
        kernel void turns(global int* a) {
          a[get_global_id(0)] = 1;
          mem_fence(CLK_GLOBAL_MEM_FENCE);
          a[get_global_id(0)] += 1;
          write_mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
          read_mem_fence(CLK_LOCAL_MEM_FENCE);
        }"""
    with az.device().context() as ctx:
        a = ctx.zeros(4, np.int32)
        ctx.module(source=source)["turns"][4](a)
        assert a.copy_to().tolist() == [2, 2, 2, 2]


def test_printf_in_front_of_a_constant_argument(compiler: clang.Clang) -> None:
    """clang 22 takes the format for one outside of constant memory, and asks for an extension."""
    made = compile_text(
        'kernel void says(global int* a) { printf("%d\\n", a[get_global_id(0)]); }\n'
        "kernel void gets(constant int* c, global int* a) { a[get_global_id(0)] = c[0]; }\n"
    )
    assert b"relaxed_printf" not in made.spirv


def test_only_the_wrong_instruction_is_repaired() -> None:
    head, null = (0x07230203, 0x10400, 0, 9, 0), (3 << 16 | 46, 5, 6)
    other = (4 << 16 | 32, 5, 2, 5)
    for more in (1, 3):
        wrong = struct.pack(f"<{15 + more}I", *head, *other, 3 + more << 16 | 46, 5, 6, *[5] * more, *null)
        assert repaired(wrong, contracts=False) == struct.pack("<15I", *head, *other, *null, *null)
    for as_it_is in (b"", b"x", MAGIC, struct.pack("<7I", *head, 0, 7), struct.pack("<6I", *head, 9 << 16 | 46)):
        assert repaired(as_it_is, contracts=True) == as_it_is
    mode = struct.pack("<8I", *head, 3 << 16 | Op.ExecutionMode, 5, 31)
    assert repaired(mode, contracts=False) == mode
    assert repaired(mode, contracts=True) == struct.pack("<5I", *head)


PRODUCTS = "kernel void f(global float* a, float b) {{ size_t i = get_global_id(0); {} }}"
SUM = PRODUCTS.format("a[i] = a[i] * b + 1;")


@pytest.mark.parametrize(
    ("source", "options", "fused", "contracts"),
    [
        (SUM, [], False, True),
        (SUM, ["-g"], False, True),
        (PRODUCTS.format("a[i] = fma(a[i], b, 1.0f) + b * b;"), [], True, True),
        ("#pragma OPENCL FP_CONTRACT OFF\n" + SUM, [], False, False),
        (SUM, ["-ffp-contract=on"], True, False),
        (SUM, ["-ffp-contract=off"], False, False),
    ],
    ids=["default", "lines", "fma", "pragma", "asked for", "refused"],
)
def test_products_and_sums_are_fused_by_the_driver(
    source: str, options: list[str], fused: bool, contracts: bool
) -> None:
    """Clang 22 writes fma for them, which must not be split where a processor has none, and forbids to fuse others."""
    bare = next((each for each in map(clang.named, clang.candidates()) if each.bare), None)
    if bare is None:
        pytest.skip("needs ziglang")
    module = read(compile_text(source, options, bare).spirv)
    assert module.kernels["f"].contraction == contracts
    assert (" fma " in disassemble(module.words)) == fused


COUNTED = """
kernel void closed(global long* out, int n) { long sum = 0; for (long i = 0; i < n; i++) sum += i; out[0] = sum; }
kernel void narrow(global long* out, int n) {
  int k = (int)((uint)n << 28) >> 28; uchar sum = 0;
  for (int i = 0; i < 9; i++) { sum += k; k -= 3; }
  out[0] = sum;
}
kernel void reduced(global long* out, int n) {
  long k = n & 63; int turns = 0; ushort sum = 0;
  while (k != n && turns++ < 9) { sum ^= k; k -= 3; }
  out[0] = sum;
}
"""


@pytest.mark.parametrize("options", [[], ["-g"]], ids=["default", "lines"])
def test_sums_and_counters_of_loops_have_widths_that_spirv_knows(compiler: clang.Clang, options: list[str]) -> None:
    """Clang replaces sums by formulas of 65 bits and adds counters of four or six, which it then gets wrong."""
    module = read(compile_text(COUNTED, options, compiler).spirv)
    for n in (12, 28, 100, 1000):
        signed = (n & 15) - (n & 8) * 2
        reduced, k = 0, n & 63
        for _ in range(9):
            if k == n:
                break
            reduced, k = reduced ^ (k & 0xFFFF), k - 3
        expected = {"closed": n * (n - 1) // 2, "narrow": (9 * signed - 108) & 255, "reduced": reduced}
        for name, value in expected.items():
            out = np.zeros(1, np.int64)
            run(module, name, [out, np.int32(n)], (1,))
            assert out[0] == value, (name, n)


# With stand-ins, which tell how they were called


STAND_IN = """#!{python}
import sys
arguments = sys.argv[1:]
with open({calls!r}, "a") as calls:
    print({name!r}, *arguments, file=calls)
if "--version" in arguments:
    print({version!r})
elif "--print-targets" in arguments:
    print({targets!r})
elif "-o" in arguments:
    with open(arguments[arguments.index("-o") + 1], "wb") as made:
        made.write(bytes.fromhex("03022307") + {name!r}.encode())
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a stand-in for a compiler on a path that has nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(clang, "_zig", lambda: None)

    def put(name: str, version: str = "", targets: str = "") -> Path:
        made = folder / name
        text = STAND_IN.format(
            python=sys.executable, calls=str(tmp_path / "calls"), name=name, version=version, targets=targets
        )
        made.write_text(text)
        made.chmod(0o755)
        return made

    return put


def calls(tmp_path: Path) -> list[str]:
    return [line for line in (tmp_path / "calls").read_text().splitlines() if "-o" in line.split()]


@pytest.mark.parametrize("name", ["clang", "clang-14", "clang-19", "clang-22"])
def test_clang_has_many_names(install: Install, name: str, tmp_path: Path) -> None:
    install(name, "Debian clang version 22.1.0", "  Registered Targets:\n    spirv64     - SPIR-V 64-bit")
    assert clang.choose().version == 22
    assert compile_text(SAXPY).spirv == MAGIC + name.encode()
    assert "--target=spirv64-unknown-unknown" in calls(tmp_path)[0]


def test_an_older_clang_needs_the_translator_of_its_version(install: Install, tmp_path: Path) -> None:
    install("clang-14", "Debian clang version 14.0.6", "    x86-64  - 64-bit X86")
    install("llvm-spirv-15")
    with pytest.raises(az.Unavailable, match="no llvm-spirv-14") as caught:
        compile_text(SAXPY)
    assert "apt install clang-14 llvm-spirv-14" in caught.value.remedy
    install("llvm-spirv-14")
    assert compile_text(SAXPY).spirv == MAGIC + b"llvm-spirv-14"
    front, back = calls(tmp_path)
    assert "--target=spir64-unknown-unknown" in front
    assert "-emit-llvm" in front
    assert back.startswith("llvm-spirv-14 ")


def test_a_program_may_name_its_clang(install: Install, tmp_path: Path) -> None:
    install("clang", "clang version 22.1.0", "spirv64 - SPIR-V")
    mine, translator = install("mine", "clang version 15.0.0"), install("translator")
    chosen = clang.named((str(mine),), str(translator))
    assert (chosen.version, chosen.bare) == (15, False)
    for _ in range(2):
        assert compile_text(SAXPY, (), chosen).spirv == MAGIC + b"translator"
    assert [line.split()[0] for line in calls(tmp_path)] == ["mine", "translator"]
    assert compile_text(SAXPY).spirv == MAGIC + b"clang"
    # Another translator may make something else.
    os.utime(translator, (1, 1))
    compile_text(SAXPY, (), chosen)
    assert len(calls(tmp_path)) == 5
    with pytest.raises(az.Unavailable, match="cannot be started, or is no clang"):
        clang.named((str(tmp_path / "nothing"),))


def test_a_translator_that_refuses_optimised_code_gets_other_code(install: Install, tmp_path: Path) -> None:
    install("clang-15", "clang version 15.0.0")
    translator = install("llvm-spirv-15")
    refusing = f"import os, sys\nif not os.path.exists({str(tmp_path / 'once')!r}):\n"
    refusing += f"    open({str(tmp_path / 'once')!r}, 'w').close()\n    sys.exit('no such instruction')\n"
    translator.write_text(translator.read_text().replace("import sys\n", refusing, 1))
    assert compile_text(SAXPY).spirv == MAGIC + b"llvm-spirv-15"
    first, second, _ = calls(tmp_path)
    assert "-disable-llvm-passes" not in first
    assert "-disable-llvm-passes" in second


def test_a_program_with_raised_rights_takes_no_clang_from_its_callers_path(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("clang", "clang version 22.1.0", "spirv64 - SPIR-V")
    assert [command[0].endswith("/bin/clang") for command in clang.candidates()] == [True]
    here = next(clang.candidates())
    monkeypatch.setattr("anyzero.trust.process.is_secure", lambda: True)
    assert here not in list(clang.candidates())


def test_without_any_the_remedy_names_what_to_install(install: Install) -> None:
    with pytest.raises(az.Unavailable, match="none was found") as caught, az.device().context() as ctx:
        ctx.module(source=SAXPY)
    assert "[clang]'" in caught.value.remedy


def test_results_are_kept(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = install("clang", "clang version 22.1.0", "spirv64 - SPIR-V")
    for _ in range(3):
        assert compile_text(SAXPY).spirv == MAGIC + b"clang"
    assert len(calls(tmp_path)) == 1
    compile_text(SAXPY, ["-DN=4"])
    compile_text(SAXPY + "\n")
    assert len(calls(tmp_path)) == 3
    # Another compiler may make something else.
    os.utime(made, (1, 1))
    compile_text(SAXPY)
    assert len(calls(tmp_path)) == 4
    # What was damaged is made anew.
    for each in (tmp_path / "cache" / "opencl-c").iterdir():
        each.write_bytes(each.read_bytes()[:-1] + b"?")
    assert compile_text(SAXPY).spirv == MAGIC + b"clang"
    assert len(calls(tmp_path)) == 5
    monkeypatch.setenv("ANYZERO_CACHE", "off")
    compile_text(SAXPY)
    assert len(calls(tmp_path)) == 6


def test_the_package_holds_its_header() -> None:
    assert (clang.HEADERS / "opencl-c-base.h").is_file()


def test_source_and_file_are_one_or_the_other() -> None:
    with az.device().context() as ctx:
        for wrong in ({}, {"file": b"x", "source": SAXPY}):
            with pytest.raises(TypeError, match="source="):
                ctx.module(**wrong)  # type: ignore[arg-type]
        with pytest.raises(az.InvalidArgument, match="this is source code") as caught:
            ctx.module(SAXPY)
    assert "source=" in caught.value.remedy


def test_nothing_of_it_is_loaded_for_spirv() -> None:
    code = "import sys, anyzero as az; az.device().context(); print('anyzero.opencl_c' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
