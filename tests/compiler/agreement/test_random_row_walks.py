"""Random kernels that go along rows of matrices: unrolled, fissioned and exchanged loops agree with the interpreter.

`ANYZERO_RANDOM=5000` tries so many, other ones each time, as for the other random kernels.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyzero.compiler.compiled import Options
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.row_walks import row_walks
from tests.compiler.agreement.test_random import WANTED, profile, ways
from tests.thorough import examples


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or examples(15, 60))
@given(row_walks(), ways(), st.booleans())
def test_given_any_kernel_of_row_walks_then_all_agree(program: Program, way: Options, free: bool) -> None:
    """Half of them with as many lanes and rows as the compiler chooses, which decides what is unrolled."""
    way = replace(way, lanes=None, rows=None) if free else way
    assert disagreement(program, ways=[way, Options(quick=True)]) is None
