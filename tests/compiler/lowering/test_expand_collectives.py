"""What a whole work-group computes, as shares of vectors that a barrier puts together."""

from __future__ import annotations

import pytest

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Body, Collective, Combine, Op
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.expand_collectives import expand_collectives
from tests.compiler.lowering.draft import Draft


def taken_apart(d: Draft) -> Body:
    body = d.done()
    expand_collectives(body)
    check(body)
    return body


def combines(body: Body) -> list[Combine]:
    return [op.info for op in body.ops if op.name == "barrier"]


def shares(body: Body) -> list[Collective]:
    return [op.info for op in body.ops if op.name == "group"]


def stored(d: Draft, value: Op) -> Op:
    d.put(d.argument("ptr"), value)
    return d.block.ops[-1]


def test_given_a_sum_then_vectors_add_first_and_the_barrier_adds_their_shares() -> None:
    d = Draft()
    store = stored(d, d.together("reduce", d.id(), operation="add"))
    body = taken_apart(d)
    assert shares(body) == [Collective("sub_group", "reduce", "add")]
    (combine,) = combines(body)
    assert (combine.kind, combine.operation) == ("total", "add")
    assert store.args[1].name == "read"
    assert store.args[1].info is combine.slot


@pytest.mark.parametrize("kind", ["inclusive", "exclusive"])
def test_given_a_scan_then_what_is_before_the_vector_is_put_in_front(kind: str) -> None:
    d = Draft()
    store = stored(d, d.together(kind, d.id(), operation="smin"))
    body = taken_apart(d)
    assert {share.kind for share in shares(body)} == {"reduce", kind}
    (combine,) = combines(body)
    assert combine.kind == "before"
    both = store.args[1]
    assert (both.name, both.info) == ("intrinsic", "smin")
    assert both.args[0].info is combine.slot


def test_given_a_question_to_all_then_the_answers_travel_as_bytes() -> None:
    d = Draft()
    answer = d.together("any", d.below(d.id(), 7))
    store = stored(d, d.cast("zext", answer, "i32"))
    body = taken_apart(d)
    (combine,) = combines(body)
    assert (combine.kind, combine.operation, combine.slot.type) == ("total", "or", "i8")
    assert store.args[1].args[0].name == "icmp"


def test_given_a_broadcast_then_the_item_is_named_by_as_many_numbers_as_there_are_dimensions() -> None:
    d = Draft()
    value = d.cast("trunc", d.id(), "i32")
    stored(d, d.together("broadcast", value, d.i64(1), d.cast("trunc", d.argument(), "i32")))
    body = taken_apart(d)
    (combine,) = combines(body)
    assert combine.kind == "pick"
    assert [slot.type for slot in combine.places] == ["i64", "i64"]
    assert combine.source is not None
    assert combine.source.type == "i32"


def test_given_a_collective_of_a_sub_group_then_it_stays() -> None:
    d = Draft()
    found = d.together("reduce", d.id(), operation="add", scope="sub_group")
    stored(d, found)
    body = taken_apart(d)
    assert [op for op in body.ops if op.name == "group"] == [found]
    assert not combines(body)


def test_given_a_condition_then_it_is_replaced_too() -> None:
    d = Draft()
    then, otherwise, join = d.if_(d.together("all", d.below(d.id(), 7)))
    for block in (then, otherwise):
        d.at(block)
        d.goto(join)
    body = taken_apart(d)
    condition = body.blocks[0].condition
    assert condition is not None
    assert condition.name == "icmp"


def test_given_what_no_group_can_compute_then_it_says_so() -> None:
    d = Draft()
    stored(d, d.together("shuffle_xor", d.id(), d.i64(1)))
    with pytest.raises(CompileError, match="shuffle_xor"):
        taken_apart(d)
