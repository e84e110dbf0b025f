"""Reading a module: what is found without decoding a function, and what decoding one finds."""

from __future__ import annotations

import subprocess
import sys
from array import array

import pytest

from anyzero.compiler.spirv import Module, SpirvError, read, types
from anyzero.compiler.spirv.constants import Composite, Expression, Null, SamplerConstant, VariableAddress
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.instruction import memory_access
from anyzero.compiler.spirv.tables import (
    BuiltIn,
    Decoration,
    FunctionParameterAttribute,
    Op,
    SamplerAddressingMode,
    SamplerFilterMode,
    StorageClass,
)
from tests.compiler.assembler import assemble
from tests.compiler.samples import IMAGES, MIXED, MODULES, SAXPY, function, many_kernels


def refusal(text: str) -> str:
    with pytest.raises(SpirvError) as caught:
        read(assemble(text))
    assert caught.value.offset is not None
    assert caught.value.instruction
    return str(caught.value)


def named(module: Module, name: str) -> Function:
    return next(each for each in module.functions.values() if each.name == name)


def test_a_kernel_is_known_before_its_body_is_decoded() -> None:
    module = read(MODULES["saxpy"])
    assert list(module.kernels) == ["saxpy"]
    kernel = module.kernels["saxpy"]
    assert [each.kind for each in kernel.parameters] == ["global", "global", "value", "value"]
    assert [each.size for each in kernel.parameters] == [8, 8, 4, 8]
    assert [each.alignment for each in kernel.parameters] == [16, 4, 4, 8]
    assert [each.name for each in kernel.parameters] == ["y", "", "a", ""]
    assert kernel.parameters[0].attributes == {FunctionParameterAttribute.NoCapture}
    assert not kernel.contraction
    assert kernel.required_group_size is None
    assert list(module.builtins.values()) == [BuiltIn.GlobalInvocationId]
    assert module.imports == []
    assert len(module.sources) == 1
    assert kernel.function._body is None


def test_execution_modes() -> None:
    kernel = read(MODULES["mixed"]).kernels["mixed"]
    assert kernel.required_group_size == (64, 1, 1)
    assert kernel.required_sub_group_size == 16
    assert kernel.vec_type_hint == "<4 x f32>"
    assert kernel.contraction
    assert len(kernel.modes) == 4


def test_structures_by_value() -> None:
    module = read(MODULES["mixed"])
    arguments, scratch, result, small = module.kernels["mixed"].parameters
    assert (arguments.kind, arguments.size, arguments.alignment) == ("byval", 64, 8)
    assert (scratch.kind, scratch.size) == ("local", 8)
    assert (result.kind, small.kind, small.size) == ("global", "value", 1)
    assert small.attributes == {FunctionParameterAttribute.Sext}


def test_layout_follows_opencl() -> None:
    module = read(MODULES["mixed"])
    structs = [each for each in module.types.values() if isinstance(each, types.Struct)]
    packed, loose = structs
    assert (packed.offsets, packed.size, packed.alignment) == ((0, 1, 9), 25, 1)
    assert (loose.offsets, loose.size, loose.alignment) == ((0, 8, 16, 32), 64, 16)
    sizes = {str(each): (each.size, each.alignment) for each in module.types.values()}
    assert sizes["<3 x f32>"] == (16, 16)
    assert sizes["<2 x i32>"] == (8, 8)
    assert sizes["f16"] == (2, 2)
    assert sizes["bool"] == (1, 1)
    assert sizes["i32 global*"] == (8, 8)


def test_types_are_one_object_each() -> None:
    twice = "%again = OpTypeInt 32 1\n%pointer = OpTypePointer CrossWorkgroup %again"
    module = read(assemble(function("OpReturn", declarations=twice, parameters="%global_i32 %pointer")))
    first, second = named(module, "main").type.parameters
    assert first is second


def test_decoration_groups_are_dissolved() -> None:
    module = read(MODULES["mixed"])
    kinds = [{each.kind for each in found} for found in module.decorations.of.values()]
    assert kinds.count({Decoration.NoSignedWrap, Decoration.NoUnsignedWrap}) == 3


def test_decorations_of_members_and_with_ids_and_strings() -> None:
    lines = """
    OpMemberDecorate %pair 1 Alignment 8
    %group = OpDecorationGroup
    OpDecorate %group Volatile
    OpGroupMemberDecorate %group %pair 0
    OpDecorateId %c7 NoAliasINTEL %c1
    OpDecorateString %c7 UserSemantic "some text"
    """
    text = function("OpReturn", prologue=lines, declarations="%pair = OpTypeStruct %i32 %i32")
    module = read(assemble(text))
    assert {member: [each.kind for each in found] for (_, member), found in module.decorations.of_members.items()} == {
        0: [Decoration.Volatile],
        1: [Decoration.Alignment],
    }
    seven = next(id_ for id_, each in module.constants.items() if getattr(each, "bits", 0) == 7)
    assert module.decorations.has(seven, Decoration.NoAliasINTEL)
    assert module.decorations.has(seven, Decoration.UserSemantic)


def test_images_and_samplers() -> None:
    module = read(MODULES["images"])
    kernel = module.kernels["images"]
    assert [each.kind for each in kernel.parameters] == ["image", "image", "sampler", "value"]
    image = kernel.parameters[1].type
    assert isinstance(image, types.Image)
    assert (image.dimensions, image.coordinates, str(image)) == (2, 3, "image 2d array write")
    literal = next(each for each in module.constants.values() if isinstance(each, SamplerConstant))
    assert (literal.addressing, literal.normalized, literal.filter) == (
        SamplerAddressingMode.ClampToEdge,
        True,
        SamplerFilterMode.Linear,
    )
    assert "dimension Cube" in refusal(IMAGES.replace("2D 0 0", "Cube 0 0"))


def test_globals_linkage_and_addresses() -> None:
    module = read(MODULES["globals"])
    table = next(each for each in module.variables.values() if each.linkage)
    assert isinstance(table.initializer, Composite)
    assert table.constant
    assert table.storage_class == StorageClass.CrossWorkgroup
    assert module.exports == {"table": table.id}
    assert module.imports == ["outside"]
    assert not named(module, "outside").has_body
    address = next(each for each in module.constants.values() if isinstance(each, Expression))
    assert address.opcode == Op.InBoundsAccessChain
    assert any(isinstance(each, Null) for each in module.constants.values())


def test_a_structure_may_point_to_itself() -> None:
    module = read(MODULES["globals"])
    node = next(each for each in module.types.values() if isinstance(each, types.Struct))
    pointer = node.members[1]
    assert isinstance(pointer, types.Pointer)
    assert pointer.pointee is node
    assert str(pointer) == f"struct %{node.id} global*"


def test_variables_may_hold_each_others_addresses() -> None:
    declarations = """
    %pp = OpTypePointer CrossWorkgroup %global_i32
    %a = OpVariable %pp CrossWorkgroup %b
    %b = OpVariable %global_i32 CrossWorkgroup %c7
    """
    module = read(assemble(function("OpReturn", declarations=declarations)))
    first, _ = module.variables.values()
    assert isinstance(first.initializer, VariableAddress)


def test_debug_instructions_are_left_out() -> None:
    module = read(MODULES["globals"])
    body = module.kernels["globals"].function.entry.instructions
    assert [each.name for each in body] == ["OpLoad", "OpFunctionCall", "OpStore"]


def test_a_body_is_decoded_into_blocks() -> None:
    module = read(MODULES["mixed"])
    main = module.kernels["mixed"].function
    assert [len(block.successors) for block in main.blocks.values()] == [1, 3, 1, 1, 0, 2, 1]
    loop = list(main.blocks.values())[5]
    assert [each.name for each in loop.phis] == ["OpPhi"]
    assert loop.merge is not None
    assert loop.merge.opcode == Op.LoopMerge
    store = list(main.blocks.values())[4].instructions[-1]
    access, end = memory_access(store.operands, 2)
    assert (access.volatile, access.alignment, access.nontemporal, end) == (True, 4, False, 4)
    assert main.type_of(store.operands[1]) is module.types[store.type_id or loop.phis[0].type_id]
    assert main.calls == (named(module, "twice").id,)
    assert [each.name for each in module.reachable(main.id)][1:] == ["twice"]


def test_lines_are_found_for_messages() -> None:
    module = read(MODULES["saxpy"])
    kernel = module.kernels["saxpy"].function
    first, work, exit_ = kernel.blocks.values()
    assert module.source_at(first.instructions[0].offset) == "saxpy.cl:3:7"
    assert module.source_at(work.terminator.offset) == "saxpy.cl:5:9"
    assert module.source_at(kernel.offset) == ""
    assert "saxpy" in module.whereabouts(exit_.offset)


def test_both_byte_orders_are_read() -> None:
    words = array("I", MODULES["saxpy"])
    words.byteswap()
    module = read(words.tobytes())
    assert list(module.kernels) == ["saxpy"]
    assert module.words == array("I", MODULES["saxpy"])


@pytest.mark.parametrize("version", [(1, minor) for minor in range(7)])
def test_versions_that_are_read(version: tuple[int, int]) -> None:
    assert read(assemble(SAXPY, version)).version == version


@pytest.mark.parametrize("version", [(0, 99), (1, 7), (2, 0)])
def test_versions_that_are_not(version: tuple[int, int]) -> None:
    with pytest.raises(SpirvError, match=r"1\.0 to 1\.6 are supported"):
        read(assemble(SAXPY, version))


def test_sections_may_stand_in_any_order() -> None:
    capability = "    OpCapability Kernel\n"
    moved = SAXPY.replace(capability, "") + capability
    assert list(read(assemble(moved)).kernels) == ["saxpy"]


def test_long_composites_are_continued() -> None:
    declarations = """
    %array = OpTypeArray %i32 %c3
    %whole = OpConstantComposite %array %c1
    OpConstantCompositeContinuedINTEL %c2
    OpConstantCompositeContinuedINTEL %c3
    """
    module = read(assemble(function("OpReturn", declarations=declarations)))
    whole = next(each for each in module.constants.values() if isinstance(each, Composite))
    assert [getattr(each, "bits", None) for each in whole.elements] == [1, 2, 3]


def test_one_function_may_be_several_kernels() -> None:
    entry = '    OpEntryPoint Kernel %saxpy "saxpy" %gid\n'
    module = read(assemble(SAXPY.replace(entry, entry + entry.replace('"saxpy"', '"other"'))))
    assert list(module.kernels) == ["saxpy", "other"]
    assert module.kernels["other"].parameters is module.kernels["saxpy"].parameters
    assert 'two kernels "saxpy"' in refusal(SAXPY.replace(entry, entry + entry))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("Physical64", "Physical32", "only Physical64 is supported, so compile for a 64-bit target"),
        ("Physical64", "Logical", "addresses are Logical"),
        ("Physical64 OpenCL", "Physical64 Vulkan", "the memory model is Vulkan"),
        ("OpMemoryModel Physical64 OpenCL", "", "no OpMemoryModel"),
        ("OpEntryPoint Kernel", "OpEntryPoint Fragment", "only kernels are supported"),
        ("OpMemoryModel", '%gl = OpExtInstImport "GLSL.std.450"\nOpMemoryModel', 'set "GLSL.std.450" is not supported'),
        ("OpFunctionEnd", "", "has no OpFunctionEnd"),
        ("OpFunctionEnd", "!0x00000038", "says that it has no words"),
        ("OpFunctionEnd", "!0x00050038", "run past the end"),
        ("OpFunctionEnd", "!0x00010038 !0x0001fff0", "is unknown to this compiler"),
        ("OpReturn", "OpReturn\n%again = OpFunction %void None %type", "is inside of the function"),
        ("%type = OpTypeFunction %void %global_f32", "%type = OpTypeFunction %void", "parameters and the type"),
        ("%i32 = OpTypeInt 32 0", "%i32 = OpTypeInt 256 0", "integers of 256 bits are not supported"),
        ("%f16 = OpTypeFloat 16", "%f16 = OpTypeFloat 16 BFloat16KHR", "as BFloat16KHR are not supported"),
        ("%v4f32 = OpTypeVector %f32 4", "%v4f32 = OpTypeVector %f32 5", "vectors of 5 components"),
        ("%v4f32 = OpTypeVector %f32 4", "%v4f32 = OpTypeMatrix %v3f32 3", "OpTypeMatrix %"),
        ("OpTypePointer Generic", "OpTypePointer Uniform", "the storage class Uniform is not supported"),
        ("Kernel %saxpy", "Kernel %void", "is not a function"),
        ("%y Alignment 16", "%y Alignment 12", "is aligned to 12; powers of two"),
        ("OpDecorate %gid Constant", "OpGroupDecorate %gid %y", "is no group of decorations"),
        ("OpVariable %input_v3i64 Input", "OpVariable %input_v3i64 Input %c0", "is initialized with i32"),
        ("%bool = OpTypeBool", "%bool = OpTypeStruct %bool", "contains itself"),
        ("%half = OpConstant %f32 0.5", "%half = OpConstantComposite %v3f32 %half %half %half", "contains itself"),
    ],
)
def test_mistakes_are_named(before: str, after: str, reason: str) -> None:
    assert before in SAXPY
    assert reason in refusal(SAXPY.replace(before, after))


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("!0x0002003d !0x1", "has 2 words and needs 4"),
        ("!0x000200fd !0x1", "has 2 words and may have 1"),
        ("!0x0001fff0", "is unknown to this compiler"),
        ("%new = OpIAdd %c1 %c1 %c1", "is not a type"),
        ("%entry = OpIAdd %i32 %c1 %c1", "is declared twice"),
    ],
)
def test_mistakes_in_bodies_are_named(after: str, reason: str) -> None:
    module = read(assemble(SAXPY.replace("OpReturn\n", f"{after}\nOpReturn\n")))
    with pytest.raises(SpirvError, match=reason) as caught:
        _ = module.kernels["saxpy"].function.blocks
    assert "in function" in str(caught.value)


def test_ids_are_below_the_bound_and_declared_once() -> None:
    words = array("I", MODULES["saxpy"])
    words[3] = 5
    with pytest.raises(SpirvError, match="is not below the bound 5"):
        read(words.tobytes())
    words[3] = 0xFFFFFFFF
    with pytest.raises(SpirvError, match="has the bound 4294967295"):
        read(words.tobytes())
    assert "is declared twice" in refusal(SAXPY.replace("%bool = OpTypeBool", "%bool = OpTypeBool\n%bool = OpTypeBool"))


@pytest.mark.parametrize("data", [b"", b"\x03\x02\x23\x07", b"x" * 20, b"x" * 22])
def test_what_is_no_module_is_refused(data: bytes) -> None:
    with pytest.raises(SpirvError):
        read(data)


def test_strings_must_end() -> None:
    module = array("I", assemble(MIXED))
    at = next(i for i in range(5, len(module)) if module[i] & 0xFFFF == Op.EntryPoint)
    module[at + 3 : at + (module[at] >> 16)] = array("I", [0x41414141] * ((module[at] >> 16) - 3))
    with pytest.raises(SpirvError, match="a string has no end"):
        read(module.tobytes())


def test_a_thousand_kernels_are_ready_at_once() -> None:
    data = many_kernels(1000, 100)
    assert len(data) > 2_000_000
    module = read(data)
    assert len(module.kernels) == 1000
    assert all(each.function._body is None for each in module.kernels.values())


def test_reading_imports_nothing_large() -> None:
    code = "import anyzero.compiler.spirv, sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"llvmlite", "numpy"} & set(done.stdout.split())
