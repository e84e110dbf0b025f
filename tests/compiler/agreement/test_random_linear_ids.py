"""Random kernels that divide their id: launches in rows, other launches and the first stage agree with the interpreter.

`ANYZERO_RANDOM=5000` tries so many, other ones each time, as for the other random kernels.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from tests.abi.calls import run_python
from tests.compiler.agreement.comparison import disagreement, interpreted
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.linear_ids import linear_ids
from tests.compiler.agreement.test_random import WANTED, profile, ways
from tests.compiler.assembler import assemble
from tests.thorough import examples

AT_ONCE = 12
"""Kernels of a process with the engine."""

THROUGH_ENGINE = """
import pathlib
import pickle
import sys
import numpy as np
import anyzero as az

folder = pathlib.Path(sys.argv[1])
ctx = az.device().context()
found = []
for spirv, launches in pickle.loads((folder / "kernels").read_bytes()):
    (folder / "kernel.spv").write_bytes(spirv)
    kernel = ctx.module(str(folder / "kernel.spv"))["main"]
    for arguments, size, group, offset in launches:
        given = [ctx.to_device(each) if isinstance(each, np.ndarray) else each for each in arguments]
        with ctx.immediate() as commands:
            commands.launch(kernel, size, given, group=group, offset=offset).wait()
        found.append([each.copy_to() if isinstance(each, az.Buffer) else each for each in given])
(folder / "found").write_bytes(pickle.dumps(found))
"""


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or examples(25, 100))
@given(linear_ids(), ways())
def test_given_any_kernel_of_linear_ids_then_all_agree(programs: list[Program], way: Options) -> None:
    assert disagreement(*programs, ways=[way, Options(quick=True)]) is None


@pytest.mark.timeout(600)
@settings(profile, max_examples=-(-WANTED // AT_ONCE) or examples(4, 10))
@given(kernels=st.lists(linear_ids(), min_size=AT_ONCE, max_size=AT_ONCE))
def test_given_any_kernels_of_linear_ids_then_the_engine_agrees(
    tmp_path_factory: pytest.TempPathFactory, kernels: list[list[Program]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("kernels")
    modules = [assemble(programs[0].text, (1, 6)) for programs in kernels]
    orders = [
        (module, [(p.arguments, p.shape.global_size, p.shape.group_size, p.shape.offset) for p in programs])
        for module, programs in zip(modules, kernels, strict=True)
    ]
    (folder / "kernels").write_bytes(pickle.dumps(orders))
    run_python(THROUGH_ENGINE, arguments=[str(folder)], ANYZERO_STAGES="final")
    found = iter(pickle.loads((folder / "found").read_bytes()))
    for module, programs in zip(modules, kernels, strict=True):
        for program in programs:
            for mine, theirs in zip(next(found), interpreted(read(module), program), strict=True):
                np.testing.assert_array_equal(mine, theirs, err_msg=program.text)
