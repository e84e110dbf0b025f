"""Nothing that the verifier lets through is unknown to the interpreter."""

from __future__ import annotations

import pytest

from anyzero.compiler.reference.builtins import BUILTINS
from anyzero.compiler.reference.decoder import EXITS, HANDLERS, Decoder
from anyzero.compiler.reference.opencl.table import FUNCTIONS
from anyzero.compiler.reference.program import Program
from anyzero.compiler.spirv import read, verify
from anyzero.compiler.spirv.capabilities import COMPONENTS
from anyzero.compiler.spirv.grammar import opcode_name, opencl_name
from anyzero.compiler.spirv.rules.check import RULES
from anyzero.compiler.spirv.tables import LAYOUT_OF_OPENCL, Op
from tests.compiler.bodies import BODIES
from tests.compiler.samples import MODULES


def test_every_instruction_has_a_handler() -> None:
    # Phis are part of the branches that lead to them.
    known = HANDLERS.keys() | EXITS.keys() | {Op.Phi}
    assert {opcode_name(opcode) for opcode in RULES.keys() - known} == set()
    assert {opcode_name(opcode) for opcode in known - RULES.keys() - {Op.Phi}} == set()


def test_every_function_of_the_library_has_a_handler() -> None:
    assert {opencl_name(number) for number in LAYOUT_OF_OPENCL.keys() - FUNCTIONS.keys()} == set()
    assert {opencl_name(number) for number in FUNCTIONS.keys() - LAYOUT_OF_OPENCL.keys()} == set()


def test_every_builtin_variable_is_known() -> None:
    assert BUILTINS.keys() == COMPONENTS.keys()


@pytest.mark.parametrize("name", BODIES)
def test_every_chapter_is_decoded(name: str) -> None:
    module = read(BODIES[name].module)
    verify(module)
    program = Program(module)
    assert module.functions
    for id_, function in module.functions.items():
        code = Decoder(program, function).code()
        assert code.function.id == id_
        steps = sum(len(run) + (pause is not None) for run, pause in code.entry.runs)
        assert steps == len([each for each in function.entry.instructions if each.opcode != Op.Phi])


@pytest.mark.parametrize("name", MODULES)
def test_samples_are_decoded(name: str) -> None:
    module = read(MODULES[name])
    verify(module)
    for kernel in module.kernels.values():
        assert Program(module).prepare(kernel.function.id).function is kernel.function
