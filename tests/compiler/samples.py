"""Modules that the tests of the compiler read, as text."""

from __future__ import annotations

from array import array

from tests.compiler.assembler import assemble

PROLOGUE = """
    OpCapability Addresses
    OpCapability Linkage
    OpCapability Kernel
    OpCapability Int64
    OpCapability Int8
    OpCapability Int16
    OpCapability Float64
    OpCapability Float16
    OpCapability Vector16
    OpCapability GenericPointer
    OpCapability Groups
    %cl = OpExtInstImport "OpenCL.std"
    OpMemoryModel Physical64 OpenCL
"""

TYPES = """
    %void = OpTypeVoid
    %bool = OpTypeBool
    %i8 = OpTypeInt 8 0
    %i16 = OpTypeInt 16 0
    %i32 = OpTypeInt 32 0
    %i64 = OpTypeInt 64 0
    %f16 = OpTypeFloat 16
    %f32 = OpTypeFloat 32
    %f64 = OpTypeFloat 64
    %v2i32 = OpTypeVector %i32 2
    %v3i64 = OpTypeVector %i64 3
    %v4i32 = OpTypeVector %i32 4
    %v3f32 = OpTypeVector %f32 3
    %v4f32 = OpTypeVector %f32 4
    %v4bool = OpTypeVector %bool 4
    %global_f32 = OpTypePointer CrossWorkgroup %f32
    %global_i32 = OpTypePointer CrossWorkgroup %i32
    %local_i32 = OpTypePointer Workgroup %i32
    %generic_i32 = OpTypePointer Generic %i32
    %private_i32 = OpTypePointer Function %i32
    %private_f32 = OpTypePointer Function %f32
    %input_v3i64 = OpTypePointer Input %v3i64
    %c0 = OpConstant %i32 0
    %c1 = OpConstant %i32 1
    %c2 = OpConstant %i32 2
    %c3 = OpConstant %i32 3
    %c7 = OpConstant %i32 7
    %l0 = OpConstant %i64 0
    %l1 = OpConstant %i64 1
    %half = OpConstant %f32 0.5
    %true = OpConstantTrue %bool
"""

SAXPY = f"""
{PROLOGUE}
    OpEntryPoint Kernel %saxpy "saxpy" %gid
    OpExecutionMode %saxpy ContractionOff
    %file = OpString "saxpy.cl"
    OpSource OpenCL_C 200000 %file
    OpName %saxpy "saxpy"
    OpName %y "y"
    OpName %a "a"
    OpDecorate %gid BuiltIn GlobalInvocationId
    OpDecorate %gid Constant
    OpDecorate %gid LinkageAttributes "__spirv_BuiltInGlobalInvocationId" Import
    OpDecorate %y FuncParamAttr NoCapture
    OpDecorate %y Alignment 16
{TYPES}
    %gid = OpVariable %input_v3i64 Input
    %type = OpTypeFunction %void %global_f32 %global_f32 %f32 %i64
    %saxpy = OpFunction %void None %type
    %y = OpFunctionParameter %global_f32
    %x = OpFunctionParameter %global_f32
    %a = OpFunctionParameter %f32
    %n = OpFunctionParameter %i64
    %entry = OpLabel
    OpLine %file 3 7
    %id = OpLoad %v3i64 %gid Aligned 32
    %i = OpCompositeExtract %i64 %id 0
    %inside = OpULessThan %bool %i %n
    OpBranchConditional %inside %work %exit
    %work = OpLabel
    OpLine %file 5 9
    %px = OpInBoundsPtrAccessChain %global_f32 %x %i
    %py = OpInBoundsPtrAccessChain %global_f32 %y %i
    %vx = OpLoad %f32 %px Aligned 4
    %vy = OpLoad %f32 %py Aligned 4
    %sum = OpExtInst %f32 %cl mad %a %vx %vy
    OpStore %py %sum Aligned 4
    OpBranch %exit
    %exit = OpLabel
    OpReturn
    OpFunctionEnd
"""

# A loop whose blocks stand in the wrong order, a switch on 64 bits, calls, local memory, a barrier, an atomic.
MIXED = f"""
{PROLOGUE}
    OpEntryPoint Kernel %main "mixed"
    OpExecutionMode %main LocalSize 64 1 1
    OpExecutionMode %main SubgroupSize 16
    OpExecutionMode %main VecTypeHint 262149
    OpExecutionMode %main MaxWorkDimINTEL 1
    OpDecorate %twice LinkageAttributes "twice" Export
    OpDecorate %arguments FuncParamAttr ByVal
    OpDecorate %arguments Alignment 8
    OpDecorate %packed CPacked
    OpDecorate %small FuncParamAttr Sext
    OpDecorate %group NoSignedWrap
    OpDecorate %group NoUnsignedWrap
    %group = OpDecorationGroup
    OpGroupDecorate %group %next %doubled
{TYPES}
    %packed = OpTypeStruct %i8 %i64 %v3f32
    %loose = OpTypeStruct %i8 %i64 %v3f32 %packed
    %private_loose = OpTypePointer Function %loose
    %private_i8 = OpTypePointer Function %i8
    %barrier = OpConstant %i32 0x110
    %unary = OpTypeFunction %i32 %i32
    %main_type = OpTypeFunction %void %private_loose %local_i32 %global_i32 %i8
    %twice = OpFunction %i32 Pure %unary
    %value = OpFunctionParameter %i32
    %twice_entry = OpLabel
    %doubled = OpIAdd %i32 %value %value
    OpReturnValue %doubled
    OpFunctionEnd
    %main = OpFunction %void None %main_type
    %arguments = OpFunctionParameter %private_loose
    %scratch = OpFunctionParameter %local_i32
    %result = OpFunctionParameter %global_i32
    %small = OpFunctionParameter %i8
    %entry = OpLabel
    %variable = OpVariable %private_i32 Function
    OpBranch %loop
    %exit = OpLabel
    OpControlBarrier %c2 %c2 %barrier
    %old = OpAtomicIAdd %i32 %result %c1 %c0 %index
    %wide = OpUConvert %i64 %old
    OpSwitch %wide %done 0 %zero 0x123456789 %many
    %zero = OpLabel
    OpBranch %done
    %many = OpLabel
    OpBranch %done
    %done = OpLabel
    %final = OpPhi %i32 %c0 %exit %c1 %zero %c7 %many
    OpStore %result %final Aligned|Volatile 4
    OpReturn
    %loop = OpLabel
    %index = OpPhi %i32 %c0 %entry %next %body
    %more = OpSLessThan %bool %index %c7
    OpLoopMerge %exit %body Unroll
    OpBranchConditional %more %body %exit
    %body = OpLabel
    %next = OpFunctionCall %i32 %twice %index
    %p = OpInBoundsPtrAccessChain %local_i32 %scratch %l0
    OpStore %p %next
    %member = OpInBoundsAccessChain %private_i8 %arguments %c3 %c0
    OpStore %member %small Aligned 1
    OpBranch %loop
    OpFunctionEnd
"""
SPECIAL = f"""
{PROLOGUE}
    OpEntryPoint Kernel %main "special"
    OpExecutionModeId %main LocalSizeId %size %c1 %c1
    OpDecorate %size SpecId 4
    OpDecorate %flag SpecId 5
    OpDecorate %scale SpecId 6
    OpDecorate %long SpecId 7
{TYPES}
    %size = OpSpecConstant %i32 8
    %flag = OpSpecConstantTrue %bool
    %scale = OpSpecConstant %f32 1.5
    %long = OpSpecConstant %i64 -1
    %double = OpSpecConstantOp %i32 IMul %size %c2
    %chosen = OpSpecConstantOp %i32 Select %flag %double %c7
    %vector = OpSpecConstantComposite %v2i32 %size %chosen
    %second = OpSpecConstantOp %i32 CompositeExtract %vector 1
    %array = OpTypeArray %i32 %second
    %private_array = OpTypePointer Function %array
    %type = OpTypeFunction %void
    %main = OpFunction %void None %type
    %entry = OpLabel
    %variable = OpVariable %private_array Function
    OpReturn
    OpFunctionEnd
"""

IMAGES = f"""
{PROLOGUE}
    OpCapability ImageBasic
    OpCapability LiteralSampler
    OpEntryPoint Kernel %main "images"
{TYPES}
    %v4half = OpTypeVector %f16 4
    %image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
    %target = OpTypeImage %void 2D 0 1 0 0 Unknown WriteOnly
    %sampler = OpTypeSampler
    %sampled = OpTypeSampledImage %image
    %literal = OpConstantSampler %sampler ClampToEdge 1 Linear
    %zero = OpConstant %f32 0
    %type = OpTypeFunction %void %image %target %sampler %v2i32
    %main = OpFunction %void None %type
    %from = OpFunctionParameter %image
    %to = OpFunctionParameter %target
    %how = OpFunctionParameter %sampler
    %at = OpFunctionParameter %v2i32
    %entry = OpLabel
    %both = OpSampledImage %sampled %from %how
    %texel = OpImageSampleExplicitLod %v4f32 %both %at Lod %zero
    %plain = OpImageRead %v4f32 %from %at
    %sum = OpFAdd %v4f32 %texel %plain
    %size = OpImageQuerySizeLod %v2i32 %from %c0
    %there = OpCompositeConstruct %v4i32 %at %size
    OpImageWrite %to %there %sum
    OpReturn
    OpFunctionEnd
"""

# Debug information, global variables with addresses in them, a structure that points to itself, a linked function.
GLOBALS = f"""
{PROLOGUE}
    OpExtension "SPV_INTEL_function_pointers"
    %debug = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
    OpEntryPoint Kernel %main "globals"
    OpDecorate %table LinkageAttributes "table" Export
    OpDecorate %table Constant
    OpDecorate %outside LinkageAttributes "outside" Import
{TYPES}
    %info = OpExtInst %void %debug 1 %c0
    OpTypeForwardPointer %node_pointer CrossWorkgroup
    %node = OpTypeStruct %i32 %node_pointer
    %node_pointer = OpTypePointer CrossWorkgroup %node
    %node_pointers = OpTypePointer CrossWorkgroup %node_pointer
    %array = OpTypeArray %i32 %c3
    %global_array = OpTypePointer CrossWorkgroup %array
    %values = OpConstantComposite %array %c1 %c2 %c3
    %table = OpVariable %global_array CrossWorkgroup %values
    %head = OpVariable %node_pointer CrossWorkgroup %first
    %null = OpConstantNull %node_pointer
    %first = OpConstantComposite %node %c7 %null
    %address = OpSpecConstantOp %global_i32 InBoundsAccessChain %table %c2
    %unary = OpTypeFunction %i32 %i32
    %type = OpTypeFunction %void
    %outside = OpFunction %i32 None %unary
    %unused = OpFunctionParameter %i32
    OpFunctionEnd
    %main = OpFunction %void None %type
    %entry = OpLabel
    %more = OpExtInst %void %debug 2 %c0
    %v = OpLoad %i32 %address Aligned 4
    %r = OpFunctionCall %i32 %outside %v
    OpStore %address %r
    OpReturn
    OpFunctionEnd
"""

TEXTS = {"saxpy": SAXPY, "mixed": MIXED, "special": SPECIAL, "images": IMAGES, "globals": GLOBALS}
MODULES = {name: assemble(text) for name, text in TEXTS.items()}


def function(
    body: str, *, parameters: str = "", result: str = "void", declarations: str = "", prologue: str = ""
) -> str:
    """A module around one function; `parameters` are types, and become %p0, %p1 and so on."""
    types = parameters.split()
    lines = "\n".join(f"%p{index} = OpFunctionParameter {type_}" for index, type_ in enumerate(types))
    return f"""
{PROLOGUE}
{prologue}
    OpDecorate %main LinkageAttributes "main" Export
{TYPES}
{declarations}
    %main_type = OpTypeFunction %{result} {parameters}
    %main = OpFunction %{result} None %main_type
{lines}
    %entry = OpLabel
{body}
    OpFunctionEnd
"""


def many_kernels(count: int, instructions: int) -> bytes:
    """A module as large as asked for, made from words: the text of one kernel, over and over with other ids."""
    head = assemble(f"{PROLOGUE}{TYPES}\n%type = OpTypeFunction %void %global_f32 %f32 %i64\n")
    words = array("I", head)
    base, shared = words[3], {}
    for name in ("void", "type", "global_f32", "f32", "i64"):
        shared[name] = _id(f"{PROLOGUE}{TYPES}\n%type = OpTypeFunction %void %global_f32 %f32 %i64\n", name)
    entries, bodies, next_id = array("I"), array("I"), base
    for index in range(count):
        kernel, pointer, value, size, label = range(next_id, next_id + 5)
        next_id += 5
        letters = array("I", f"kernel_{index:06d}\0\0\0".encode())
        entries.extend([(3 + len(letters)) << 16 | 15, 6, kernel, *letters])
        bodies.extend([5 << 16 | 54, shared["void"], kernel, 0, shared["type"]])
        for id_, type_ in ((pointer, "global_f32"), (value, "f32"), (size, "i64")):
            bodies.extend([3 << 16 | 55, shared[type_], id_])
        bodies.extend([2 << 16 | 248, label])
        last = value
        for _ in range(instructions):
            bodies.extend([5 << 16 | 129, shared["f32"], next_id, last, value])
            last, next_id = next_id, next_id + 1
        bodies.extend([3 << 16 | 62, pointer, last, 1 << 16 | 253, 1 << 16 | 56])
    words[3] = next_id
    # Entry points stand behind the memory model in good order; this reader takes them anywhere.
    return (words + entries + bodies).tobytes()


def _id(text: str, name: str) -> int:
    """The number that the assembler gives a name of a text."""
    probe = array("I", assemble(f'{text}\nOpName %{name} "probe"\n'))
    return probe[-3]
