"""Integers of odd widths: compiled code and the interpreter compute and store the same, bit for bit.

`ANYZERO_RANDOM=5000` tries so many other kernels, as in test_random.py.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from anyzero.compiler.compiled import Options
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.generator import Program
from tests.compiler.agreement.odd_integers import odd_programs
from tests.compiler.agreement.test_random import WANTED, profile, ways


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or 20)
@given(odd_programs(), ways())
def test_given_any_kernel_with_odd_integers_then_both_agree(program: Program, way: Options) -> None:
    assert disagreement(program, ways=[way]) is None
