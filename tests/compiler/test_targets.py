"""Processors by name."""

from __future__ import annotations

import re
from threading import Thread

import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.targets import cpu
from benchmarks.kernels.suites import program
from tests.abi.calls import run_python
from tests.compiler.agreement.cases import through_compiler


def test_given_a_known_name_then_there_is_code_for_it() -> None:
    # In a process of its own: LLVM ends it over a name that it does not know.
    run_python(
        """
        from anyzero.compiler.targets import cpu
        for name in cpu.KNOWN:
            print(name, flush=True)
            code = cpu.compile_text("define i64 @f(i64 %x) { ret i64 %x }", cpu.target(name, ""), 1).object
            assert code
        """
    )


@pytest.mark.parametrize("name", ["pentium", "znver9", "x86_64"])
def test_given_another_name_then_it_is_refused(name: str) -> None:
    with pytest.raises(CompileError, match=name):
        cpu.target(name, "")


@pytest.mark.parametrize(
    ("name", "lanes", "gathers"),
    [
        ("x86-64", 4, False),
        ("x86-64-v2", 4, False),
        ("haswell", 8, False),
        ("znver4", 16, True),
        ("x86-64-v4", 16, True),
    ],
)
def test_a_processor_by_name_has_its_registers(name: str, lanes: int, gathers: bool) -> None:
    found = cpu.target(name, "")
    assert (found.lanes, found.gathers) == (lanes, gathers)


@pytest.mark.parametrize("name", cpu.KNOWN)
def test_registers_of_a_name_are_those_that_llvm_uses(name: str) -> None:
    def added(vector: str) -> str:
        text = f"define {vector} @f({vector} %x, {vector} %y) {{ %z = add {vector} %x, %y ret {vector} %z }}"
        plain = cpu.Target(name, "-prefer-256-bit")
        return cpu.assembly(cpu.compile_text(text.replace(" ret", "\nret"), plain, 2)[1], plain, 2)

    target = cpu.target(name, "")
    assert bool(re.search(r"vpaddd.*ymm", added("<8 x i32>"))) == (target.register >= 32)
    assert ("zmm" in added("<64 x i8>")) == target.wide
    fused = "define float @f(float %x) { %y = call float @llvm.fma.f32(float %x, float %x, float %x)\nret float %y }"
    plain = cpu.Target(name, "")
    made = cpu.assembly(
        cpu.compile_text(f"declare float @llvm.fma.f32(float, float, float)\n{fused}", plain, 2)[1], plain, 2
    )
    # Some have fused multiply-adds and no AVX2; they are few and old.
    assert target.fused <= ("vfm" in made)


INLINED = """
define internal i64 @half(i64 %x) alwaysinline { %y = lshr i64 %x, 1 ret i64 %y }
define internal i64 @quarter(i64 %x) alwaysinline {
  %y = call i64 @half(i64 %x)
  %z = call i64 @half(i64 %y)
  ret i64 %z
}
define i64 @f(i64 %x) { %y = call i64 @quarter(i64 %x) ret i64 %y }
"""


@pytest.mark.parametrize("level", range(4))
def test_given_any_effort_then_everything_becomes_one_function(level: int) -> None:
    code, module, _ = cpu.compile_text(INLINED, cpu.target("", ""), level)
    assert code.startswith(b"\x7fELF")
    assert [function.name for function in module.functions if not function.is_declaration] == ["f"]
    assert "lshr i64 %x, 2" in str(module)


def test_only_the_first_stage_leaves_out_scheduling() -> None:
    first, final = (cpu.compile_text(INLINED, cpu.target("", ""), 2, quick=quick) for quick in (True, False))
    assert "optnone" in str(first.optimised)
    assert "optnone" not in str(final.optimised)


PRODUCT = """
define float @f(float %x, i64 %n) {{
  %y = fmul {0}float %x, %x
  %m = mul i64 %n, 8
  %z = uitofp i64 %m to float
  %s = fadd {0}float %y, %z
  ret float %s
}}
"""


@pytest.mark.parametrize(("flags", "first"), [("", False), ("contract ", True), ("fast ", True), ("nnan arcp ", True)])
def test_the_first_stage_combines_instructions_only_where_rounding_may_depend_on_it(flags: str, first: bool) -> None:
    for quick, combined in ((True, first), (False, True)):
        made = cpu.compile_text(PRODUCT.format(flags), cpu.target("", ""), 2, quick=quick)
        assert ("shl" in str(made.optimised)) == combined


def test_a_machine_serves_one_thread_at_a_time_and_then_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_FREE", {})
    target = cpu.target("", "")
    others: list[object] = []

    def take() -> None:
        with cpu._machine(target, 2) as machine:
            others.append(machine)

    with cpu._machine(target, 2) as first, cpu._machine(target, 1) as other_level:
        thread = Thread(target=take)
        thread.start()
        thread.join()
    assert first is not other_level
    assert first is not others[0]
    take()
    take()
    assert all(each is first for each in others[1:])


def test_after_a_warm_up_the_first_kernel_makes_no_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "_FREE", {})
    target = cpu.target("haswell", "")
    cpu.warm_up(target, 2)
    monkeypatch.delattr(cpu, "_make_machine")
    assert cpu.compile_text(INLINED, target, 2, quick=True).object.startswith(b"\x7fELF")


@pytest.mark.parametrize("cpu_name", ["x86-64-v2", "haswell"])
@pytest.mark.parametrize(
    "key", ["matmul_tiled", "nbody_f32", "black_scholes_f64", "transpose", "scan_group", "convolve"]
)
def test_programs_give_the_same_on_lesser_processors(key: str, cpu_name: str) -> None:
    each = program(key).case("test")
    assert each.mismatch(through_compiler(each, Options(level=1, cpu=cpu_name))) is None
