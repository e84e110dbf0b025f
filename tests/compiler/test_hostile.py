"""Whatever comes in, a SpirvError or a module comes out, and soon."""

from __future__ import annotations

import sys
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyzero.compiler.spirv import SpirvError, read, verify
from anyzero.compiler.spirv.tables import MAGIC, Op
from tests.compiler.assembler import assemble
from tests.compiler.mutations import samples, survive
from tests.compiler.samples import MODULES, PROLOGUE, TYPES, function
from tests.thorough import examples

SAMPLES = samples()


@given(st.binary(max_size=300))
def test_bytes(data: bytes) -> None:
    survive(data)


@given(st.lists(st.integers(0, 0xFFFFFFFF), max_size=60), st.integers(1, 100))
def test_words_behind_a_header(words: list[int], bound: int) -> None:
    survive(array("I", [MAGIC, 0x10200, 0, bound, 0, *words]).tobytes())


instructions = st.tuples(
    st.sampled_from([value for value in vars(Op).values() if isinstance(value, int)]),
    st.lists(st.one_of(st.integers(0, 12), st.sampled_from([32, 64, 0xFFFFFFFF])), max_size=6),
)


@given(st.lists(instructions, max_size=25))
def test_instructions_in_any_order(chosen: list[tuple[int, list[int]]]) -> None:
    """Right in form, so that they come further than words of any kind."""
    words = [word for opcode, rest in chosen for word in ((len(rest) + 1) << 16 | opcode, *rest)]
    survive(array("I", [MAGIC, 0x10200, 0, 30, 0, 3 << 16 | Op.MemoryModel, 2, 2, *words]).tobytes())


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    """A sample with a few words changed: a bit, a swap, a copy, a small number, a new opcode, a cut."""
    words = array("I", draw(st.sampled_from(SAMPLES)))
    place = st.integers(1, len(words) - 1)
    for _ in range(draw(st.integers(1, 4))):
        at, other = min(draw(place), len(words) - 1), min(draw(place), len(words) - 1)
        match draw(st.integers(0, 6)):
            case 0:
                words[at] ^= 1 << draw(st.integers(0, 31))
            case 1:
                words[at], words[other] = words[other], words[at]
            case 2:
                words[at] = words[other]
            case 3:
                words[at] = draw(st.integers(0, 200))
            case 4:
                words[at] = words[at] & 0xFFFF0000 | draw(st.integers(0, 420))
            case 5:
                del words[at]
            case _:
                words = words[: max(at, 6)]
    return words.tobytes()


@settings(max_examples=examples(500, 1500))
@given(mutations())
def test_mutated_modules(data: bytes) -> None:
    survive(data)


@pytest.mark.parametrize("name", MODULES)
def test_truncated_modules(name: str) -> None:
    data = MODULES[name]
    words = array("I", data)
    accepted = [end for end in range(len(words)) if survive(data[: 4 * end])]
    # A memory model is all that a module needs, until one promises a kernel.
    promise = next(at for at in range(5, len(words)) if words[at] & 0xFFFF == Op.EntryPoint and words[at + 1] == 6)
    assert max(accepted) == promise


@given(st.data())
@settings(max_examples=200)
def test_every_bit_may_be_wrong(data: st.DataObject) -> None:
    sample = bytearray(data.draw(st.sampled_from(SAMPLES)))
    bit = data.draw(st.integers(0, len(sample) * 8 - 1))
    sample[bit // 8] ^= 1 << bit % 8
    survive(bytes(sample))


@pytest.mark.parametrize(
    "declarations", ["%a = OpTypeArray %i32 %huge", "%a = OpTypeStruct %i32 %i32\n%b = OpTypeArray %a %huge"]
)
def test_giant_types(declarations: str) -> None:
    huge = f"%huge = OpConstant %i64 -1\n{declarations}"
    with pytest.raises(SpirvError, match="more than any memory"):
        read(assemble(function("OpReturn", declarations=huge)))


def nested(count: int, line: str, first: str) -> str:
    lines = [line.format(new=f"%t{index}", old=f"%t{index - 1}" if index else first) for index in range(count)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "line",
    [
        "{new} = OpTypeStruct {old} {old}",
        "{new} = OpTypeArray {old} %c2",
        "{new} = OpTypePointer CrossWorkgroup {old}",
        "{new} = OpTypeFunction {old} {old} {old}",
    ],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_deep_types(line: str, backwards: bool) -> None:
    declarations = nested(20_000, line, "%empty" if "Struct" in line else "%i8")
    if backwards:
        declarations = "\n".join(reversed(declarations.splitlines()))
    with pytest.raises(SpirvError, match=r"deep|more than any memory|declaration|without a value"):
        read(assemble(f"{PROLOGUE}{TYPES}\n%empty = OpTypeStruct\n{declarations}"))


def test_types_of_functions_that_take_functions() -> None:
    """Their text, if it were written out, would be longer than any memory."""
    lines = ["%type0 = OpTypeFunction %void %i32"]
    for index in range(1, 60):
        pointer = f"%pointer{index}"
        arguments = " ".join([pointer] * 60)
        lines += [
            f"{pointer} = OpTypePointer CodeSectionINTEL %type{index - 1}",
            f"%type{index} = OpTypeFunction %void {arguments}",
        ]
    module = read(assemble(f"{PROLOGUE}{TYPES}\n" + "\n".join(lines)))
    assert all(len(str(each)) < 500 for each in module.types.values())


@pytest.mark.parametrize(
    "declarations",
    [
        "%x = OpConstantComposite %v2i32 %x %x",
        "%x = OpSpecConstantOp %i32 IAdd %y %c1\n%y = OpSpecConstantOp %i32 IAdd %x %c1",
        "%x = OpTypeArray %i32 %n\n%n = OpSpecConstantOp %i32 CompositeExtract %m 0\n%m = OpConstantNull %x",
        "%p = OpTypePointer CrossWorkgroup %q\n%q = OpTypePointer CrossWorkgroup %p",
        "%s = OpTypeStruct %i32 %t\n%t = OpTypeStruct %s",
        "%s = OpTypeStruct %p\n%p = OpTypePointer CrossWorkgroup %a\n%a = OpTypeArray %p %c2",
    ],
)
def test_circles(declarations: str) -> None:
    with pytest.raises(SpirvError, match=r"contains itself|instead of a structure"):
        read(assemble(function("OpReturn", declarations=declarations)))


def test_constants_that_share_their_parts_stay_small() -> None:
    lines = ["%t0 = OpTypeStruct %i32 %i32", "%x0 = OpConstantComposite %t0 %c1 %c1"]
    for index in range(1, 25):
        lines += [
            f"%t{index} = OpTypeStruct %t{index - 1} %t{index - 1}",
            f"%x{index} = OpConstantComposite %t{index} %x{index - 1} %x{index - 1}",
        ]
    lines += ["%pointer = OpTypePointer CrossWorkgroup %t24", "%g = OpVariable %pointer CrossWorkgroup %x24"]
    module = read(assemble(function("OpReturn", declarations="\n".join(lines))))
    assert len(repr(module.constants)) < 10_000
    with pytest.raises(SpirvError, match="has an initializer of 134217728 bytes"):
        verify(module)


def test_groups_cannot_multiply_without_end() -> None:
    head = array("I", [MAGIC, 0x10200, 0, 10, 0, 3 << 16 | Op.MemoryModel, 2, 2])
    decorations = array("I", [3 << 16 | Op.Decorate, 1, 0] * 30_000)
    group = array("I", [2 << 16 | Op.DecorationGroup, 1])
    use = array("I", [60_002 << 16 | Op.GroupDecorate, 1, *range(1, 60_001)])
    with pytest.raises(SpirvError, match="more than 1048576 decorations"):
        read((head + decorations + group + use).tobytes())


def test_one_function_with_many_names() -> None:
    """Each kernel alone would ask for all parameters of the function anew."""
    count = 2_000
    types = " ".join(["%i32"] * count)
    entries = "\n".join(f'OpEntryPoint Kernel %main "k{index}"' for index in range(count))
    parameters = "\n".join(f"%p{index} = OpFunctionParameter %i32" for index in range(count))
    text = f"""{PROLOGUE}{entries}{TYPES}
    %type = OpTypeFunction %void {types}
    %main = OpFunction %void None %type
    {parameters}
    %entry = OpLabel
    OpReturn
    OpFunctionEnd"""
    data = assemble(text)
    calls = 0

    def counted(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        kernels = read(data).kernels
    finally:
        sys.setprofile(None)
    assert len(kernels) == count
    assert calls < count * count / 4


def test_too_large_a_module() -> None:
    with pytest.raises(SpirvError, match="more than a module may have"):
        read(bytes((64 << 20) + 4))
