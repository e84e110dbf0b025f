"""Lists of passes: how they run, and that another execution model needs no change of the first one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from anyzero.compiler import pipeline, translate
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Body
from anyzero.compiler.lanes.passes import FUNCTION_PASSES, PASSES
from anyzero.compiler.lanes.versions import BY_NAME, VERSIONS
from anyzero.compiler.lower.handlers import together
from anyzero.compiler.passes import Condition, ExecutionModel, Pass, Source, Unit, position, run, section
from anyzero.compiler.spirv import read
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.transform.show import show

KERNELS = Path(__file__).resolve().parents[1] / "kernels"


# The walk


@dataclass
class Sample:
    scope: str = "outer"
    title: str = "sample"
    dropped: bool = False
    log: list[str] = field(default_factory=list)

    def parts(self, scope: str) -> Iterator[Sample]:
        for name in "ab":
            part = Sample(scope, name, log=self.log)
            yield part
            self.log.append(f"{name} {'dropped' if part.dropped else 'kept'}")

    def show(self) -> str:
        return f"{self.title}: {len(self.log)}\n"


def step(name: str, scope: str, when: Condition | None = None) -> Pass:
    return Pass(name, lambda unit: unit.log.append(f"{name} {unit.title}"), scope, "", "", (), when)


def drop(unit: Sample) -> None:
    unit.dropped = unit.title == "a"


SAMPLE = (
    step("first", "outer"),
    step("in", "inner"),
    Pass("drop", drop, "inner", "", "", ()),
    step("never", "inner", Condition("never", lambda unit: False)),
    step("more", "inner"),
    step("last", "outer"),
)


def test_given_passes_of_parts_then_all_of_them_run_for_one_part_before_the_next() -> None:
    unit = Sample()
    run(SAMPLE, unit)
    kept = ["in b", "more b", "b kept"]
    assert unit.log == ["first sample", "in a", "a dropped", *kept, "last sample"]


def test_given_a_pass_in_the_middle_then_its_section_runs_to_the_end() -> None:
    assert [each.name for each in section(SAMPLE, "in")] == ["first", "in", "drop", "never", "more"]
    assert [each.name for each in section(SAMPLE, "last")] == [each.name for each in SAMPLE]
    with pytest.raises(CompileError, match='no pass "cxe"; there are first, in, '):
        position(SAMPLE, "cxe")


# The list of the lanes of a CPU


@pytest.mark.parametrize(("file", "kernel", "units"), [
    ("matmul", "matmul_int", {"matmul_int": 1, "rows": 1, "general": 1, "strips": 1}),
    ("sub_groups", "shuffles", {"shuffles": 1, "rows": 1, "linear": 1, "rows.general": 1, "linear.general": 1}),
])  # fmt: skip
def test_given_an_observer_then_it_sees_every_version(file: str, kernel: str, units: dict[str, int]) -> None:
    seen: dict[str, list[str]] = {}

    def observe(done: Pass, unit: Unit) -> None:
        seen.setdefault(unit.title, []).append(done.name)

    module = read((KERNELS / f"{file}.spv").read_bytes())
    pipeline.compile_kernel(module, kernel, Options(cpu="haswell", level=1), observe=observe)
    assert set(seen) == set(units)
    order = [each.name for each in PASSES]
    assert all(sorted(names, key=order.index) == names for names in seen.values())


@pytest.mark.parametrize("after", [each.name for each in PASSES if each.name != "machine-code"])
def test_given_any_pass_then_its_form_is_shown(after: str) -> None:
    module = read((KERNELS / "matmul.spv").read_bytes())
    text = pipeline.form_after(module, "matmul_int", Options(cpu="haswell"), after)
    assert text.startswith(f"; {after} does not run") == (after not in _passes_that_run())
    assert text.startswith(f"; {after} does not run") != (f" after {after}\n" in text)


@functools.cache
def _passes_that_run() -> set[str]:
    ran = set()
    module = read((KERNELS / "matmul.spv").read_bytes())
    pipeline.compile_kernel(module, "matmul_int", Options(cpu="haswell"), observe=lambda done, _: ran.add(done.name))
    return ran


def test_given_the_first_stage_then_there_is_one_version() -> None:
    quick = {version.name for version in VERSIONS if version.quick}
    assert quick == {"rows", "linear", "general"}
    assert BY_NAME["interior"].when.text.endswith("not in the first stage")


def test_given_functions_with_an_address_then_their_passes_are_those_of_the_list_in_its_order() -> None:
    names = [each.name for each in FUNCTION_PASSES]
    assert [each.name for each in PASSES if each.name in names] == names
    assert {"translate", "linearise", "write-function"} <= set(names)
    assert not {"choose-lanes", "write-regions"} & set(names)


def test_given_choices_of_a_kernel_then_no_pass_changes_them() -> None:
    with pytest.raises(AttributeError):
        pipeline.LANES.passes[0].name = "x"  # type: ignore[misc]
    seen = []

    def observe(done: Pass, unit: object) -> None:
        if done.scope == "kernel" and hasattr(unit, "choices"):
            seen.append(unit.choices)

    module = read((KERNELS / "sub_groups.spv").read_bytes())
    pipeline.compile_kernel(module, "shuffles", Options(cpu="haswell", level=1), observe=observe)
    assert len(seen) > 2
    assert all(each == seen[0] and not each.filled for each in seen)


# Another execution model, in a file that the compiler does not know


@dataclass
class Thread:
    """A work-item for each thread of a processor that has its own masks: nothing is linearised."""

    source: Source
    scope: str = "thread"
    title: str = "thread"
    dropped: bool = False
    body: Body = field(init=False)
    arguments: translate.Translation = field(init=False)
    text: str = ""

    def parts(self, scope: str) -> Iterator[Thread]:
        raise AssertionError(scope)

    def show(self) -> str:
        return self.text or show(self.body)


def translated(unit: Thread) -> None:
    unit.arguments = translate.kernel(unit.source.module, unit.source.name)
    unit.body = unit.arguments.body


def written(unit: Thread) -> None:
    """With handlers of its own, beside those of the lanes."""
    handlers = together({"add": lambda e, op: None}, {"store": lambda e, op: None})
    unit.text = "\n".join(op.name for op in unit.body.ops if op.name in handlers)


THREADS = ExecutionModel(
    "a thread for each work-item",
    (
        Pass("translate", translated, "thread", "own form", "first", ("translate/kernel.py",)),
        Pass("mem2reg", lambda unit: mem2reg(unit.body), "thread", "values", "variables", ("transform/mem2reg.py",)),
        Pass("dce", lambda unit: dce(unit.body), "thread", "less", "dead code", ("transform/dce.py",)),
        Pass("write", written, "thread", "text", "last", ()),
    ),
    Thread,
    lambda unit: replace(BLANK, name=unit.source.name, object=unit.text.encode()),
    (("text", "write", Thread.show),),
)
BLANK = CompiledKernel(
    *("", "", b"", 1, False, False, False, False, False, False, (), 0, 0, 0, 0, 0, 0, None, 0, 0, 0),
    attributes="",
)


def test_given_a_list_of_its_own_then_another_model_lives_beside_the_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = read((KERNELS / "saxpy.spv").read_bytes())
    before = pipeline.form(module, "saxpy", Options(cpu="haswell"), "ir")
    monkeypatch.setattr(cpu, "compile_text", None)
    made = pipeline.compile_kernel(module, "saxpy", Options(), model=THREADS)
    assert made.name == "saxpy"
    assert "store" in made.object.decode().split("\n")
    assert pipeline.form(module, "saxpy", Options(), "text", THREADS).encode() == made.object
    assert pipeline.form_after(module, "saxpy", Options(), "dce", THREADS).startswith("; thread after dce\nbody saxpy")
    assert pipeline.form(module, "saxpy", Options(cpu="haswell"), "ir") == before
