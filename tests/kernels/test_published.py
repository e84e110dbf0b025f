"""The held-out suite computes what numpy computes; its report names no single case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anyzero.compiler.spirv import read, verify
from benchmarks.kernels import command, held_out
from benchmarks.kernels.case import MEASURED
from benchmarks.kernels.contest import Found
from benchmarks.kernels.host import SOURCES
from benchmarks.kernels.ours import Anyzero
from benchmarks.kernels.program import Program
from benchmarks.kernels.published import PUBLISHED
from benchmarks.kernels.suites import SUITES
from tests.thorough import every


@pytest.fixture(scope="module")
def anyzero() -> Iterator[Anyzero]:
    made = Anyzero()
    yield made
    made.context.close()


@pytest.mark.parametrize("program", every(3, PUBLISHED), ids=lambda program: program.key)
def test_a_published_program_computes_what_it_should(anyzero: Anyzero, program: Program) -> None:
    case = program.case("test")
    prepared = anyzero.prepare(case, case.arguments())
    prepared.run()
    assert case.mismatch(prepared.results()) is None


@pytest.mark.parametrize("path", sorted(MEASURED.glob("*.spv")), ids=lambda path: path.name)
def test_every_measured_kernel_belongs_to_a_program(path: Path) -> None:
    module = read(path.read_bytes())
    verify(module)
    assert path.with_suffix(".cl").exists()
    cases = [each.case("test") for programs in SUITES.values() for each in programs]
    assert set(module.kernels) == {case.kernel for case in cases if case.spv == path}


def test_every_program_has_a_twin_in_plain_code() -> None:
    native = "".join(path.read_text() for path in SOURCES)
    assert all(f"void {each.key}(" in native for each in PUBLISHED)
    assert len(PUBLISHED) >= 15


def test_means_are_shown_and_no_single_case() -> None:
    results = [
        (program, {"anyzero": Found(samples=[ours]), "PoCL": Found(samples=[2.0]), "C++": Found(samples=[1.0])})
        for program, ours in zip(PUBLISHED, (1.0, 4.0), strict=False)
    ]
    text = held_out.as_text(results, [])
    assert "geometric mean 1.00, slower in 1 of 2" in text
    assert "0.50, 2.00" in text
    assert not any(program.title in text for program, _ in results)
    assert set(held_out.as_json(results)) == {"titles", "quotients", "geometric_mean", "disturbed", "failed"}


def test_a_search_for_programs_leaves_the_suite_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "--only", "hash"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert command.main(["--list", "--suite", "published"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(PUBLISHED)
