"""Values of lanes that the position in the group alone decides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.lower.static_lanes import StaticLanes
from tests.compiler.lowering.draft import Draft


@given(first=st.integers(0, 1000), lanes=st.sampled_from([2, 4, 16]), by=st.integers(-2000, 2000))
def test_sums_and_comparisons_of_local_ids_are_known(first: int, lanes: int, by: int) -> None:
    d = Draft()
    total = d.add(d.cast("trunc", d.id("local_id"), "i32"), d.const("i32", by & 0xFFFFFFFF))
    known = StaticLanes((first, 7, 0), lanes)
    wanted = [first + lane + by for lane in range(lanes)]
    assert known.of(total) == tuple(each & 0xFFFFFFFF for each in wanted)
    assert known.of(d.cast("sext", total, "i64")) == tuple(each & (1 << 64) - 1 for each in wanted)
    assert known.of(d.below(total, 100)) == tuple(int(each < 100) for each in wanted)


def test_local_ids_of_other_dimensions_are_the_same_in_all_lanes() -> None:
    assert StaticLanes((8, 7, 3), 4).of(Draft().id("local_id", 1)) == (7, 7, 7, 7)


def test_arguments_global_ids_and_loads_are_unknown() -> None:
    d = Draft()
    known = StaticLanes((0, 0, 0), 4)
    assert known.of(d.argument()) is None
    assert known.of(d.add(d.id("local_id"), d.id("global_id"))) is None
    assert known.of(d.get(d.argument("ptr"))[0]) is None


@given(
    name=st.sampled_from(["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "udiv", "urem"]),
    by=st.integers(0, 40),
    first=st.integers(0, 500),
)
def test_operations_wrap_around_and_faults_are_unknown(name: str, by: int, first: int) -> None:
    d = Draft()
    narrow = d.cast("trunc", d.id("local_id"), "i32")
    found = StaticLanes((first, 0, 0), 4).of(d.emit(name, "i32", [narrow, d.const("i32", by)]))
    if (name in ("udiv", "urem") and not by) or (name in ("shl", "lshr") and by >= 32):
        assert found is None
        return
    ids, right = np.arange(first, first + 4, dtype=np.uint32), np.uint32(by)
    wanted = {
        "add": lambda: ids + right,
        "sub": lambda: ids - right,
        "mul": lambda: ids * right,
        "and": lambda: ids & right,
        "or": lambda: ids | right,
        "xor": lambda: ids ^ right,
        "shl": lambda: ids << right,
        "lshr": lambda: ids >> right,
        "udiv": lambda: ids // right,
        "urem": lambda: ids % right,
    }
    assert found == tuple(int(each) for each in wanted[name]())


@given(first=st.integers(0, 100), limit=st.integers(-100, 100))
def test_signed_and_unsigned_comparisons_differ(first: int, limit: int) -> None:
    d = Draft()
    index, bound = d.id("local_id"), d.i64(limit)
    known = StaticLanes((first, 0, 0), 4)
    assert known.of(d.icmp("sle", index, bound)) == tuple(int(first + lane <= limit) for lane in range(4))
    assert known.of(d.icmp("ugt", index, bound)) == tuple(int(0 <= limit < first + lane) for lane in range(4))
