"""Random kernels: compiled code and the interpreter leave every buffer the same, bit for bit.

The normal run tries a few, always the same ones. `ANYZERO_RANDOM=5000 pytest tests/compiler/agreement/test_random.py
--timeout 0` tries so many of each kind, other ones each time; it shows the smallest kernel that fails and how to see it
again. Every kernel runs in a process of its own: what crashes or never ends fails too.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from anyzero.compiler.compiled import Options
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.generator import Program, programs
from tests.thorough import examples

WANTED = int(os.environ.get("ANYZERO_RANDOM", "0"))

profile = settings(
    deadline=None,
    derandomize=not WANTED,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


OLDER = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
"""What a processor without 512-bit registers has."""


@st.composite
def ways(draw: DrawFn) -> Options:
    """Lanes and rows, LLVM's effort, whether there are gathers, and which processor it is for."""
    cpu, features = draw(st.sampled_from([("", ""), ("", ""), ("haswell", OLDER)]))
    return Options(
        cpu=cpu,
        features=features,
        lanes=draw(st.sampled_from([16, 8, None, 4, 32, 1, 64, 2])),
        level=draw(st.sampled_from([1, 1, 2, 0])),
        gathers=draw(st.sampled_from([None, False])),
        cache_bytes=draw(st.sampled_from([0, None])),
        rows=draw(st.sampled_from([None, 2, 3, 4])),
    )


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or examples(20, 60))
@given(programs(), ways(), st.booleans())
def test_given_any_kernel_then_both_agree(program: Program, way: Options, fits: bool) -> None:
    """Half of them as code for their size of groups alone."""
    group = program.shape.group_size if fits else None
    assert disagreement(program, ways=[replace(way, group=group)]) is None


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or examples(12, 25))
@given(programs(sub_groups=True))
def test_given_any_kernel_with_sub_groups_then_both_agree(program: Program) -> None:
    assert disagreement(program, ways=[Options(level=1, lanes=program.shape.sub_group)]) is None


@pytest.mark.timeout(600)
@settings(profile, max_examples=WANTED or examples(6, 15))
@given(programs(budget=500), ways())
def test_given_a_long_kernel_then_both_agree(program: Program, way: Options) -> None:
    assert disagreement(program, ways=[way]) is None
