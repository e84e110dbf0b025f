"""Module programs: several inputs that become one module."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from anyzero import ze
from anyzero.compiler import spirv
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.types import Struct
from anyzero.driver.modules import container, plans
from anyzero.driver.modules.program import LinkError, combine
from tests.compiler.assembler import assemble
from tests.compiler.bodies import BODIES
from tests.compiler.samples import MODULES, PROLOGUE
from tests.unit.planning import (
    SUCCESS,
    VOID_FUNCTION,
    Compiler,
    build,
    create,
    entry,
    exporter,
    exports,
    importer,
    link,
    module,
    native,
    pretending,
)
from tests.unit.test_linking import chain, variable_user

FAILURE = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    with pretending(tmp_path, monkeypatch) as made:
        yield made


def combined(*data: bytes) -> spirv.Module:
    made = spirv.read(combine([spirv.read(each) for each in data]).data)
    spirv.verify(made)
    return made


def test_kernels_of_all_inputs_are_there(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"], MODULES["mixed"], MODULES["images"])
    assert (built.status, built.log) == (SUCCESS, "")
    assert built.kernels == ["saxpy", "mixed", "images"]
    for name in built.kernels:
        assert create(built.plan, name)[0] == SUCCESS
    assert [call.name for call in compiler.calls] == built.kernels
    assert all(call.linked == () for call in compiler.calls)


def test_imports_become_exports_of_other_inputs(compiler: Compiler) -> None:
    for inputs in permutations([importer(), chain("outside", "far"), exporter("far")]):
        built = build(*inputs)
        assert (built.status, built.imports, built.flags) == (SUCCESS, [], 0)
        assert sorted(exports(built.plan)) == ["far", "far_count", "outside"]
        status, log, data = create(built.plan, "main")
        assert (status, log) == (SUCCESS, "")
        assert container.decode(data).kernel.links == ()
        reached = compiler.calls[-1].module.reachable(compiler.calls[-1].module.kernels["main"].function.id)
        assert [each.name for each in reached] == ["", "outside", "far"]


def test_what_is_still_missing_can_be_linked_later(compiler: Compiler) -> None:
    built = build(importer(), chain("outside", "far"))
    assert built.imports == ["far"]
    assert create(built.plan, "main")[0] == ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
    giver = build(exporter("far"))
    assert link(built.plan, giver.plan) == (SUCCESS, "")
    assert container.decode(create(built.plan, "main")[2]).kernel.links == (giver.plan,)


def test_every_input_has_its_own_flags(compiler: Compiler) -> None:
    built = build((MODULES["saxpy"], "-ze-opt-disable", {}), (MODULES["mixed"], "-g -what", {}))
    assert built.log == 'warning: input 1: the build flag "-what" is not known and has no effect'
    create(built.plan, "saxpy")
    create(built.plan, "mixed")
    assert [(call.options.level, call.options.debug) for call in compiler.calls] == [(0, False), (2, True)]


def test_every_input_has_its_own_constants(compiler: Compiler) -> None:
    """Both inputs number theirs alike."""
    names, body = entry("other")
    names += "\n    OpExecutionModeId %other LocalSizeId %size %c1 %c1\n    OpDecorate %size SpecId 4"
    other = module(body, head=f"{VOID_FUNCTION}    %size = OpSpecConstant %i32 3\n", names=names)
    first, second = (struct.pack("<I", value) for value in (16, 5))
    built = build((MODULES["special"], "", {4: first}), (other, "", {4: second}))
    assert built.status == SUCCESS
    found = plans.find(built.plan).module
    assert found.kernels["special"].required_group_size == (16, 1, 1)
    assert found.kernels["other"].required_group_size == (5, 1, 1)
    without = build(MODULES["special"], other)
    assert plans.find(without.plan).module.kernels["other"].required_group_size == (3, 1, 1)


def test_two_kernels_or_exports_of_one_name(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"], MODULES["saxpy"])
    assert built.status == FAILURE
    assert built.log == 'error: there is a kernel "saxpy" in input 0 and in input 1'
    built = build(exporter(), exporter())
    assert built.status == FAILURE
    assert '"outside" is exported by input 0 and by input 1' in built.log


def test_what_may_be_there_many_times_is_there_once(compiler: Compiler) -> None:
    built = build(exporter(kind="LinkOnceODR"), importer(), exporter(kind="LinkOnceODR"), exporter())
    assert built.status == SUCCESS
    found = plans.find(built.plan).module
    assert [each.linkage.kind for each in found.functions.values() if each.linkage] == ["export"]
    assert built.globals == {"outside_count": (0, 4)}


def test_another_signature_fails_the_build(compiler: Compiler) -> None:
    built = build(importer(type_="%f32"), exporter())
    assert built.status == FAILURE
    assert '"outside" is i32(i32) where it is defined and f32(f32) where it is used: inputs 0 and 1' in built.log


def test_variables_are_shared(compiler: Compiler) -> None:
    built = build(variable_user(), exporter())
    assert (built.status, built.imports) == (SUCCESS, [])
    assert built.globals == {"outside_count": (0, 4)}
    assert create(built.plan, "main")[0] == SUCCESS


def test_a_variable_declared_with_another_type_is_cast(compiler: Compiler) -> None:
    names, body = entry("main", "%v = OpLoad %i8 %theirs Aligned 1")
    names += '\n    OpDecorate %theirs LinkageAttributes "outside_count" Import'
    head = f"{VOID_FUNCTION}{POINTERS}    %theirs = OpVariable %bytes CrossWorkgroup\n"
    built = build(module(body, head=head, names=names), exporter())
    assert (built.status, built.imports) == (SUCCESS, [])
    assert create(built.plan, "main")[0] == SUCCESS


POINTERS = """
    %record = OpTypeStruct %i32 %f32
    %record_pointer = OpTypePointer CrossWorkgroup %record
    %bytes = OpTypePointer CrossWorkgroup %i8
"""


def function(type_: str, result: str, parameters: str, body: str = "") -> str:
    """The function %f, without a body where it is imported."""
    given = "\n".join(f"%p{index} = OpFunctionParameter {each}" for index, each in enumerate(parameters.split()))
    whole = f"%start = OpLabel\n{body}" if body else ""
    return f"%f = OpFunction {result} None {type_}\n{given}\n{whole}\nOpFunctionEnd\n"


def user(call: str, declared: str, head: str) -> bytes:
    names, body = entry("main", call)
    names += '\n    OpDecorate %f LinkageAttributes "f" Import'
    return module(declared + body, head=f"{VOID_FUNCTION}{POINTERS}{head}", names=names)


def giver(defined: str, head: str, names: str = "") -> bytes:
    exported = f'\n    OpDecorate %f LinkageAttributes "f" Export{names}'
    return module(defined, head=f"{POINTERS}{head}", names=exported)


def test_sides_that_disagree_about_pointers_are_cast(compiler: Compiler) -> None:
    one = user(
        "%r = OpFunctionCall %bytes %f %null %c1",
        function("%type", "%bytes", "%bytes %i32"),
        "    %type = OpTypeFunction %bytes %bytes %i32\n    %null = OpConstantNull %bytes\n",
    )
    other = giver(
        function("%type", "%record_pointer", "%record_pointer %i32", "OpReturnValue %p0"),
        "    %type = OpTypeFunction %record_pointer %record_pointer %i32\n",
    )
    made = combined(one, other)
    assert len(made.reachable(made.kernels["main"].function.id)) == 3
    built = build(one, other)
    assert (built.status, built.imports) == (SUCCESS, [])
    assert create(built.plan, "main")[0] == SUCCESS


def test_a_function_without_a_result_is_cast_too() -> None:
    one = user(
        "%r = OpFunctionCall %void %f %null",
        function("%type", "%void", "%bytes"),
        "    %type = OpTypeFunction %void %bytes\n    %null = OpConstantNull %bytes\n",
    )
    other = giver(
        function("%type", "%void", "%record_pointer", "OpReturn"),
        "    %type = OpTypeFunction %void %record_pointer\n",
    )
    combined(one, other)


def test_structures_that_say_the_same_become_one() -> None:
    """So that they can be handed over by value."""
    head = "    %type = OpTypeFunction %record %record\n    %zero = OpConstantNull %record\n"
    one = user("%r = OpFunctionCall %record %f %zero", function("%type", "%record", "%record"), head)
    defined = function("%type", "%record", "%record", "OpReturnValue %p0")
    made = combined(one, giver(defined, head, '\n    OpName %record "Record"'))
    assert sum(isinstance(each, Struct) for each in made.types.values()) == 1
    with pytest.raises(LinkError, match="where it is defined"):
        combined(one, giver(defined, head, "\n    OpDecorate %record CPacked"))


def test_structures_with_pointers_that_differ_cannot_be_handed_over() -> None:
    types = "    %box = OpTypeStruct {}\n    %type = OpTypeFunction %box %box\n    %zero = OpConstantNull %box\n"
    one = user("%r = OpFunctionCall %box %f %zero", function("%type", "%box", "%box"), types.format("%bytes"))
    other = giver(function("%type", "%box", "%box", "OpReturnValue %p0"), types.format("%record_pointer"))
    with pytest.raises(LinkError, match=r'"f" passes struct %.*, which differs between inputs 0 and 1'):
        combined(one, other)


def test_integers_with_a_sign_are_the_same() -> None:
    one = user(
        "%r = OpFunctionCall %i32 %f %c1", function("%type", "%i32", "%i32"), "    %type = OpTypeFunction %i32 %i32\n"
    )
    types = "%int = OpTypeInt 32 1\n%type = OpTypeFunction %int %int\n"
    defined = function("%type", "%int", "%int", "OpReturnValue %p0")
    signed = assemble(f'{PROLOGUE}OpDecorate %f LinkageAttributes "f" Export\n{types}{defined}')
    assert len(combined(one, signed).functions) == 2


def test_a_module_may_import_what_it_exports_itself(compiler: Compiler) -> None:
    names, body = entry("main", "%r = OpFunctionCall %i32 %theirs %c1")
    names += """
    OpDecorate %theirs LinkageAttributes "f" Import
    OpDecorate %f LinkageAttributes "f" Export
"""
    head = f"{VOID_FUNCTION}    %type = OpTypeFunction %i32 %i32\n"
    declared = function("%type", "%i32", "%i32").replace("%f ", "%theirs ").replace("%p0", "%q0")
    data = module(declared + function("%type", "%i32", "%i32", "OpReturnValue %p0") + body, head=head, names=names)
    for built in (build(data), build(data, MODULES["saxpy"])):
        assert (built.status, built.imports, built.flags) == (SUCCESS, [], 0)
        assert create(built.plan, "main")[0] == SUCCESS


def test_a_circle_of_inputs_is_told(compiler: Compiler) -> None:
    built = build(importer(), chain("outside", "back"), chain("back", "outside"))
    assert built.status == FAILURE
    assert built.log.startswith("error: in the program made from 3 inputs: ")
    assert "calls itself" in built.log


def test_an_error_names_the_input_and_its_own_word(compiler: Compiler) -> None:
    built = build(MODULES["saxpy"], b"not a module at all!")
    assert built.status == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    assert built.log.startswith("error: input 1: word 0: header: ")
    names, body = entry("bad", "%sum = OpIAdd %i32 %half %c1")
    alone = module(body, head=VOID_FUNCTION, names=names)
    expected = create(build(alone).plan, "bad")[1]
    assert create(build(MODULES["saxpy"], alone).plan, "bad")[1] == expected


def everything() -> dict[str, bytes]:
    return {**MODULES, **{name: body.module for name, body in BODIES.items()}}


@pytest.mark.parametrize("name", sorted(everything()))
def test_every_instruction_keeps_its_meaning(name: str) -> None:
    """Behind another input that shifts all ids: the same instructions, and the verifier is content."""
    data = everything()[name]
    alone = spirv.read(data)
    spirv.verify(alone)
    first = module(entry("first")[1], head=VOID_FUNCTION, names=entry("first")[0])
    made = combined(first, data)
    renamed: dict[str, str] = {}
    for old, new in zip(alone.functions.values(), list(made.functions.values())[1:], strict=True):
        before, after = text(old), text(new)
        assert re.sub(r"%\d+", "%", before) == re.sub(r"%\d+", "%", after)
        for one, other in zip(re.findall(r"%\d+", before), re.findall(r"%\d+", after), strict=True):
            assert renamed.setdefault(one, other) == other
    assert [each.value for each in made.specializable.values()] == [each.value for each in alone.specializable.values()]


def text(function: Function) -> str:
    """A function as text, without the debug instructions that programs leave out."""
    whole = spirv.disassemble(function.module.words)
    start = next(at for at, line in enumerate(whole.splitlines()) if f"%{function.id} = OpFunction " in line)
    lines = whole.splitlines()[start:]
    lines = lines[: next(at for at, line in enumerate(lines) if "OpFunctionEnd" in line)]
    quiet = [f"%{id_} " for id_ in function.module.quiet_sets]
    kept = [line for line in lines if "OpExtInst" not in line or not any(each in line for each in quiet)]
    return "\n".join(line.partition("  ; ")[0].strip() for line in kept)


def test_a_native_binary_of_a_program(compiler: Compiler) -> None:
    built = build(importer(), (exporter(), "-g", {}))
    status, log, data = native(built.plan)
    assert (status, log) == (SUCCESS, "")
    again = build(data, form=ze.ZE_MODULE_FORMAT_NATIVE)
    assert (again.status, again.kernels, again.imports) == (SUCCESS, ["main"], [])
    assert create(again.plan, "main") == create(built.plan, "main")
    assert len(compiler.calls) == 1


def test_a_program_of_native_binaries(compiler: Compiler) -> None:
    binaries = [native(build(each).plan)[2] for each in (importer(), exporter())]
    built = build(*binaries, form=ze.ZE_MODULE_FORMAT_NATIVE)
    assert (built.status, built.imports) == (SUCCESS, [])
    assert create(built.plan, "main")[0] == SUCCESS
