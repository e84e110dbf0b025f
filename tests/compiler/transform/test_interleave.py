"""Private arrays whose elements lie side by side for all lanes."""

from __future__ import annotations

import pytest

from anyzero.compiler.analysis.known_bits import low_zeros
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Op
from anyzero.compiler.pipeline import form_after
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.interleave import interleave
from benchmarks.kernels.case import FOLDER
from tests.compiler.lowering.draft import Draft


def counting(first: int, by: int) -> tuple[Draft, Op, Op]:
    """A loop whose counter is an offset in bytes, as strength reduction leaves it: the array and the counter."""
    d = Draft()
    array = d.variable(64)
    loop, end = d.place(2)
    start = d.i64(first)
    d.goto(loop)
    d.at(loop)
    counter = d.phi("i64", loop)
    d.put(d.offset(array, counter), d.const("i32", 7))
    following = d.add(counter, d.i64(by))
    counter.args = [start, following]
    d.branch(d.below(following, 64), loop, end)
    d.at(end)
    return d, array, counter


@pytest.mark.parametrize(
    ("first", "by", "zeros"), [(0, 4, 2), (8, 4, 2), (0, 8, 3), (2, 4, 1), (0, 1, 0), (48, -16, 4)]
)
def test_low_bits_of_a_counter(first: int, by: int, zeros: int) -> None:
    _, _, counter = counting(first, by & (1 << 64) - 1)
    assert low_zeros(counter) == zeros


@pytest.mark.parametrize(("first", "by", "element"), [(0, 4, 4), (2, 4, 0), (0, 2, 0)])
def test_given_a_counter_of_whole_elements_then_the_array_is_interleaved(first: int, by: int, element: int) -> None:
    d, array, _ = counting(first, by)
    body = d.done()
    interleave(body, 8)
    check(body)
    assert array.info.element == element


def test_given_an_initializer_then_it_is_stored_element_by_element() -> None:
    module = read((FOLDER / "private_arrays.spv").read_bytes())
    before, after = (
        form_after(module, "looked_up", Options(cpu="haswell"), name) for name in ("choose-lanes", "interleave")
    )
    assert "copy(" in before
    assert "copy(" not in after
    assert after.count("store(") == before.count("store(") + 5
