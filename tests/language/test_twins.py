"""The benchmarks' programs as Python kernels: valid SPIR-V, and the results of their twins."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.kernels.in_python import TWINS, twin
from benchmarks.kernels.ours import Anyzero
from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import PROGRAMS
from tests.language.running import validate
from tests.thorough import every

DISTINCT = list({each.kernel or each.key: each for each in PROGRAMS}.values())


@pytest.fixture(scope="module")
def device() -> Anyzero:
    return Anyzero()


def test_every_program_has_a_twin() -> None:
    assert {each.case("test").kernel for each in PROGRAMS} == set(TWINS)


@pytest.mark.parametrize("program", every(3, DISTINCT), ids=lambda each: each.key)
def test_results(program: Program, device: Anyzero) -> None:
    case = twin(program.case("test"))
    prepared = device.prepare(case, case.arguments())
    prepared.run()
    assert case.mismatch(prepared.results()) is None


def test_modules_are_valid() -> None:
    if shutil.which("spirv-val") is None:
        pytest.skip("NOT TESTED: no module of the language went through spirv-val; apt install spirv-tools")
    for each in TWINS.values():
        validate(each.spirv)


def test_the_text_is_that_of_the_module() -> None:
    if shutil.which("spirv-as") is None:
        pytest.skip("NOT TESTED: the text of modules; apt install spirv-tools")
    import subprocess

    for name in ("histogram", "bilinear_float4", "bilinear_image", "black_scholes_f64"):
        made = TWINS[name]
        command = ["spirv-as", "--preserve-numeric-ids", "--target-env", "spv1.2", "-o", "-", "-"]
        result = subprocess.run(command, input=made.spvasm.encode(), capture_output=True)
        assert result.returncode == 0, result.stderr.decode()
        # The generator's number is the assembler's own.
        assert result.stdout[12:] == made.spirv[12:]
