"""Whatever the verifier accepts comes out as machine code, with the same operands in all lanes and with others."""

from __future__ import annotations

import re
from functools import cache

import pytest

from anyzero.compiler import ir, translate
from anyzero.compiler.compiled import Options
from anyzero.compiler.lower.regions import HANDLERS
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read, verify
from anyzero.compiler.spirv.rules.check import RULES
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.translate.chapter import ENDINGS, TABLE
from tests.compiler.assembler import assemble
from tests.compiler.bodies import BODIES
from tests.compiler.samples import PROLOGUE, TYPES

OPAQUE = ("event", "image", "sampled", "sampler", "void")
RESULT = re.compile(r"%(\w+) = Op(\w+) %(\w+)")


def test_given_a_rule_of_the_verifier_then_there_is_a_translation() -> None:
    assert set(RULES) == set(TABLE) | set(ENDINGS) | {Op.FunctionCall}


def test_given_what_may_be_computed_anywhere_then_there_is_code_for_it() -> None:
    assert {name for name in ir.PURE if name not in HANDLERS} <= {"const", "phi"}


@pytest.mark.parametrize("chapter", BODIES)
def test_given_a_translated_chapter_then_there_is_code_for_all_of_it(chapter: str) -> None:
    for varying in (False, True):
        body = translate.kernel(_module(chapter, varying), "main").body
        before = {op.name for op in body.ops}
        mem2reg(body)
        assert (before | {op.name for op in body.ops}) - HANDLERS.keys() <= {"const", "phi"}


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("varying", [False, True], ids=["same", "differing"])
@pytest.mark.parametrize("chapter", BODIES)
def test_given_a_chapter_then_llvm_takes_it(chapter: str, varying: bool, lanes: int) -> None:
    made = compile_kernel(_module(chapter, varying), "main", Options(level=0, lanes=lanes))
    assert made.lanes == lanes
    assert made.object.startswith(b"\x7fELF")


@cache
def _module(chapter: str, varying: bool) -> Module:
    """A kernel that stores every result; operands are arguments, or come from memory by the work-item's id."""
    body = BODIES[chapter]
    types = ["odd", *(type_[1:] for type_ in body.parameters.split())]
    direct = [not varying or type_ in OPAQUE for type_ in types]
    stores, outs = _stores(body.lines)
    given = [type_ if straight else f"to_{type_}" for type_, straight in zip(types, direct, strict=True)]
    parameters = [
        *(f"%{'p' if straight else 'q'}{at} = OpFunctionParameter %{type_}"
          for at, (type_, straight) in enumerate(zip(given, direct, strict=True))),
        *(f"%out_{type_} = OpFunctionParameter %to_{type_}" for type_ in outs),
    ]  # fmt: skip
    loads = [
        line
        for at, (type_, straight) in enumerate(zip(types, direct, strict=True))
        if not straight
        for line in (
            f"%a{at} = OpInBoundsPtrAccessChain %to_{type_} %q{at} %item",
            f"%p{at} = OpLoad %{type_} %a{at}",
        )
    ]
    pointers = {type_: f"%to_{type_} = OpTypePointer CrossWorkgroup %{type_}" for type_ in [*types, *outs]}
    variables = [line for line in body.lines if "OpVariable" in line]
    rest = [line for line in stores if "OpVariable" not in line]
    ids = ["%ids = OpLoad %v3i64 %gid", "%item = OpCompositeExtract %i64 %ids 0"]
    # The chapter of control flow brings functions along; they have to stand behind all declarations.
    declared, functions = _declarations(body.declarations)
    text = "\n".join(
        [
            PROLOGUE,
            'OpEntryPoint Kernel %main "main" %gid',
            "OpDecorate %gid BuiltIn GlobalInvocationId",
            body.prologue,
            TYPES,
            "%odd = OpTypeStruct %i8",
            *declared,
            *(text for type_, text in pointers.items() if type_ not in OPAQUE),
            "%gid = OpVariable %input_v3i64 Input",
            f"%main_type = OpTypeFunction %void {' '.join(f'%{each}' for each in given)}"
            f" {' '.join(f'%to_{each}' for each in outs)}",
            *functions,
            "%main = OpFunction %void None %main_type",
            *parameters,
            "%entry = OpLabel",
            *variables,
            *ids,
            *loads,
            *rest,
            "OpReturn",
            "OpFunctionEnd",
        ]
    )
    found = read(assemble(text, (1, 6)))
    verify(found)
    return found


def _declarations(text: str) -> tuple[list[str], list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    at = next((index for index, line in enumerate(lines) if "= OpFunction " in line), len(lines))
    return lines[:at], lines[at:]


def _stores(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines, each result stored behind its own; and the types that are stored."""
    made: list[str] = []
    types: dict[str, None] = {}
    for line in lines:
        made.append(line)
        found = RESULT.match(line)
        if not found or found[3] in OPAQUE or found[2] in ("Variable", "Label"):
            continue
        name, type_ = found[1], found[3]
        if type_ in ("bool", "v4bool"):
            wide = "i32" if type_ == "bool" else "v4i32"
            zero, one = ("%c0", "%c1") if type_ == "bool" else ("%zeros", "%ones")
            if type_ == "v4bool":
                made.append(f"%zeros_{name} = OpCompositeConstruct %v4i32 %c0 %c0 %c0 %c0")
                made.append(f"%ones_{name} = OpCompositeConstruct %v4i32 %c1 %c1 %c1 %c1")
                zero, one = f"%zeros_{name}", f"%ones_{name}"
            made.append(f"%number_{name} = OpSelect %{wide} %{name} {one} {zero}")
            name, type_ = f"number_{name}", wide
        types[type_] = None
        made.append(f"OpStore %out_{type_} %{name}")
    return made, list(types)
