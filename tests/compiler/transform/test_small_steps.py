"""The small transformations: each on its own, from a few lines."""

from __future__ import annotations

import pytest

from anyzero.compiler.ir import Access, Block, Body, Op
from anyzero.compiler.transform.check import BrokenBodyError, check
from anyzero.compiler.transform.cse import cse
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.infer_address_spaces import infer_address_spaces
from anyzero.compiler.transform.phis import remove_trivial_phis
from anyzero.compiler.transform.show import show
from anyzero.compiler.transform.simplify import simplify
from anyzero.compiler.transform.speculate_loads import speculate_loads
from tests.compiler.samples import function
from tests.compiler.translate.programs import body_of, names, run


def test_what_was_computed_is_not_computed_again() -> None:
    text = function(
        """
        %a = OpIAdd %i32 %p0 %p0
        OpBranchConditional %p1 %yes %no
        %yes = OpLabel
        %b = OpIAdd %i32 %p0 %p0
        %x = OpIMul %i32 %a %b
        OpBranch %join
        %no = OpLabel
        %c = OpISub %i32 %p0 %a
        OpBranch %join
        %join = OpLabel
        %r = OpPhi %i32 %x %yes %c %no
        %d = OpISub %i32 %p0 %a
        %s = OpIAdd %i32 %r %d
        OpReturnValue %s
        """,
        parameters="%i32 %bool",
        result="i32",
        prologue="OpDecorate %a NoSignedWrap",
    )
    body = body_of(text)
    cse(body)
    check(body)
    # The subtraction on one side is not always passed before the one behind.
    assert [names(body).count(name) for name in ("add", "sub", "mul")] == [2, 2, 1]
    assert next(op for op in body.ops if op.name == "add").flags == ""


def test_loads_are_never_reused() -> None:
    text = function(
        "%a = OpLoad %i32 %p0\n%b = OpLoad %i32 %p0\n%s = OpIAdd %i32 %a %b\nOpReturnValue %s",
        parameters="%global_i32",
        result="i32",
    )
    body = body_of(text)
    cse(body)
    assert names(body).count("load") == 2


def test_generic_pointers_that_lead_to_one_memory() -> None:
    text = function(
        """
        %v = OpVariable %private_i32 Function
        %w = OpVariable %private_i32 Function
        %g = OpPtrCastToGeneric %generic_i32 %v
        %h = OpPtrCastToGeneric %generic_i32 %w
        %e = OpSelect %generic_i32 %p0 %g %h
        %x = OpLoad %i32 %e
        %y = OpLoad %i32 %p1
        %z = OpSelect %generic_i32 %p0 %g %p1
        OpStore %z %y
        %n = OpGenericPtrMemSemantics %i32 %e
        OpStore %e %n
        OpReturnValue %x
        """,
        parameters="%bool %generic_i32",
        result="i32",
    )
    body = body_of(text)
    infer_address_spaces(body)
    check(body)
    spaces = [op.info.space for op in body.ops if op.name in ("load", "store")]
    assert spaces == ["private", "generic", "generic", "private"]
    assert "space_of" not in names(body)


def chosen(other: str) -> str:
    return function(
        f"""
        %v = OpVariable %private_i32 Function %c1
        %w = OpVariable %private_i32 Function %c7
        %e = OpSelect %private_i32 %p0 %v {other}
        %x = OpLoad %i32 %e
        OpReturnValue %x
        """,
        parameters="%bool %private_i32",
        result="i32",
    )


@pytest.mark.parametrize(("other", "loads"), [("%w", 2), ("%p1", 1)])
def test_a_load_from_one_of_two_variables_loads_both(other: str, loads: int) -> None:
    body = body_of(chosen(other))
    speculate_loads(body)
    check(body)
    assert names(body).count("load") == loads


def test_what_was_loaded_is_the_chosen_value() -> None:
    assert [run(chosen("%w"), which, 0) for which in (0, 1)] == [[7], [1]]


def test_known_conditions_decide_branches() -> None:
    text = function(
        """
        %less = OpULessThan %bool %c1 %c2
        OpBranch %a
        %a = OpLabel
        %x = OpPhi %bool %less %entry
        OpBranchConditional %x %yes %no
        %yes = OpLabel
        OpReturnValue %c7
        %no = OpLabel
        OpReturnValue %c0
        """,
        result="i32",
    )
    body = body_of(text)
    simplify(body)
    check(body)
    assert len(body.blocks) == 1


def test_phis_of_one_value() -> None:
    body = Body("f")
    entry, head, exit_ = Block(0), Block(1), Block(2)
    value = entry.append(Op("parameter", "i32", info=0))
    flag = entry.append(Op("parameter", "i1", info=1))
    first = head.add_phi(Op("phi", "i32"))
    second = head.add_phi(Op("phi", "i32"))
    first.args, second.args = [value, second], [value, first]
    exit_.append(Op("result", "", [first, second]))
    entry.successors, head.successors, head.condition = [head], [head, exit_], flag
    head.predecessors, exit_.predecessors = [entry, head], [head]
    body.blocks = [entry, head, exit_]
    check(body)
    remove_trivial_phis(body)
    # Two phis that only pass each other around still have two values as far as one can see.
    assert len(head.phis) in (0, 2)
    second.args = [value, second]
    remove_trivial_phis(body)
    assert head.phis == []
    assert exit_.ops[0].args == [value, value]


def test_dead_operations_and_variables_are_left_out() -> None:
    text = function(
        """
        %v = OpVariable %private_i32 Function
        %a = OpIAdd %i32 %p0 %p0
        %b = OpLoad %i32 %p1
        %c = OpLoad %i32 %p1 Volatile
        %d = OpSDiv %i32 %a %b
        %e = OpAtomicLoad %i32 %p1 %c1 %c0
        OpReturn
        """,
        parameters="%i32 %global_i32",
    )
    body = body_of(text)
    dce(body)
    assert names(body) == ["parameter", "load", "atomic"]
    assert body.variables == []


def test_a_body_as_text() -> None:
    text = function(
        "%v = OpVariable %private_i32 Function\nOpStore %v %c7\n%a = OpLoad %v4f32 %p0\n"
        "OpBranchConditional %p1 %x %y\n%x = OpLabel\nOpStore %p0 %a\nOpBranch %y\n%y = OpLabel\nOpReturn",
        parameters="%pointer %bool",
        declarations="%pointer = OpTypePointer CrossWorkgroup %v4f32",
    )
    shown = show(body_of(text))
    assert "body main\n  variable.0: [size=4 alignment=4 space=private]\nblock 0:\n" in shown
    assert "  %4 = float load(%0) [count=4 alignment=16 space=global]\n" in shown
    assert "  store(%2, i32 0x7) [alignment=4 space=private]\n" in shown
    assert "  if %1 then 1 else 2\nblock 1:  from 0\n" in shown


def sound() -> Body:
    body = Body("f")
    entry, then, exit_ = Block(0), Block(1), Block(2)
    value = entry.append(Op("parameter", "i32", info=0))
    entry.condition = entry.append(Op("icmp", "i1", [value, body.const("i32", 0)], "eq"))
    entry.successors, then.successors = [then, exit_], [exit_]
    then.predecessors, exit_.predecessors = [entry], [entry, then]
    twice = then.append(Op("add", "i32", [value, value]))
    phi = exit_.add_phi(Op("phi", "i32"))
    phi.args = [value, twice]
    exit_.append(Op("result", "", [phi]))
    body.blocks = [entry, then, exit_]
    return body


def test_check_finds_what_is_broken() -> None:
    check(sound())
    broken = sound()
    broken.blocks[2].phis[0].args.pop()
    with pytest.raises(BrokenBodyError, match="has 1"):
        check(broken)
    broken = sound()
    broken.blocks[2].ops[0].args = [broken.blocks[1].ops[0]]
    with pytest.raises(BrokenBodyError, match="does not dominate it"):
        check(broken)
    broken = sound()
    broken.blocks[1].ops[0].args[1] = broken.const("i64", 1)
    with pytest.raises(BrokenBodyError, match="operands of the types"):
        check(broken)
    broken = sound()
    broken.blocks[1].append(Op("store", "", [broken.const("ptr", 0), broken.const("i32", 0)], Access(count=2)))
    with pytest.raises(BrokenBodyError, match="operands of the types"):
        check(broken)
    broken = sound()
    broken.blocks[2].predecessors.reverse()
    broken.blocks[1].successors = []
    with pytest.raises(BrokenBodyError):
        check(broken)
    broken = sound()
    broken.blocks.reverse()
    with pytest.raises(BrokenBodyError, match="position"):
        check(broken)
