"""Bodies that use every instruction the verifier has a rule for, rightly; by chapter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.compiler.assembler import assemble
from tests.compiler.samples import function


@dataclass(frozen=True)
class Body:
    lines: list[str]
    parameters: str = ""
    declarations: str = ""
    prologue: str = ""

    @property
    def module(self) -> bytes:
        body = "\n".join([*self.lines, "OpReturn"])
        # %p0 is of a type that no instruction here takes or gives; the tests put it where something else belongs.
        text = function(
            body,
            parameters=f"%odd {self.parameters}",
            declarations=f"%odd = OpTypeStruct %i8\n{self.declarations}",
            prologue=self.prologue,
        )
        return assemble(text)


def each(opcodes: str, form: str, type_: str = "%i32") -> Iterator[str]:
    """A line for each opcode; the result is named by the opcode."""
    yield from (f"%r{opcode} = Op{opcode} {type_} {form}" for opcode in opcodes.split())


def numbered(lines: Iterable[str]) -> list[str]:
    return [f"%n{index} = {line}" for index, line in enumerate(lines)]


INT = "SNegate Not BitReverse"
INTS = "IAdd ISub IMul UDiv SDiv UMod SRem SMod BitwiseOr BitwiseXor BitwiseAnd"
INT_ORDER = """IEqual INotEqual UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual
    ULessThan SLessThan ULessThanEqual SLessThanEqual"""
FLOAT_ORDER = """FOrdEqual FUnordEqual FOrdNotEqual FUnordNotEqual FOrdLessThan FUnordLessThan FOrdGreaterThan
    FUnordGreaterThan FOrdLessThanEqual FUnordLessThanEqual FOrdGreaterThanEqual FUnordGreaterThanEqual
    LessOrGreater Ordered Unordered"""

ARITHMETIC = Body(
    [
        *each(INT, "%p1"),
        *each(INTS, "%p1 %c7"),
        *each("ShiftRightLogical ShiftRightArithmetic ShiftLeftLogical", "%p1 %l1"),
        *each("FNegate", "%p2", "%f32"),
        *each("FAdd FSub FMul FDiv FRem FMod", "%p2 %half", "%f32"),
        *each("FmaKHR", "%p2 %half %p2", "%f32"),
        *each("VectorTimesScalar", "%p3 %p2", "%v4f32"),
        *each("Dot", "%p3 %p3", "%f32"),
        *each("SDot UDot SUDot", "%p1 %p1 PackedVectorFormat4x8Bit"),
        *each("SDotAccSat UDotAccSat SUDotAccSat", "%p4 %p4 %p1"),
        *each("IAddCarry ISubBorrow UMulExtended SMulExtended", "%p1 %p1", "%pair"),
        *each("BitFieldInsert", "%p1 %c7 %c1 %c2"),
        *each("BitFieldSExtract BitFieldUExtract", "%p1 %c1 %c2"),
        *each("BitCount", "%p1"),
        *each(INT_ORDER, "%p1 %c7", "%bool"),
        "%pointers_before = OpIEqual %bool %p5 %p5",
        *each("PtrEqual PtrNotEqual", "%p5 %p5", "%bool"),
        *each(FLOAT_ORDER, "%p2 %half", "%bool"),
        *each("IsNan IsInf IsFinite IsNormal SignBitSet", "%p3", "%v4bool"),
        *each("Any All", "%rIsNan", "%bool"),
        *each("LogicalEqual LogicalNotEqual LogicalOr LogicalAnd", "%rAny %rAll", "%bool"),
        *each("LogicalNot", "%rIsNan", "%v4bool"),
        *each("Select", "%rIsNan %p3 %p3", "%v4f32"),
    ],
    "%i32 %f32 %v4f32 %v4i8 %global_i32",
    "%pair = OpTypeStruct %i32 %i32\n%v4i8 = OpTypeVector %i8 4",
)

CONVERSIONS = Body(
    [
        *each("ConvertFToU ConvertFToS", "%p2", "%i64"),
        *each("ConvertSToF ConvertUToF", "%p1", "%f64"),
        *each("UConvert SConvert SatConvertSToU SatConvertUToS", "%p1", "%i8"),
        *each("FConvert", "%p2", "%f16"),
        *each("ConvertFToBF16INTEL", "%p2", "%i16"),
        *each("ConvertBF16ToFINTEL", "%rConvertFToBF16INTEL", "%f32"),
        *each("RoundFToTF32INTEL", "%p2", "%f32"),
        *each("Bitcast", "%p2"),
        "%shorts = OpBitcast %v4i16 %rConvertFToU",
        "%pointer = OpBitcast %global_f32 %p3",
        "%number = OpBitcast %i64 %p3",
        *each("ConvertPtrToU", "%p3", "%i64"),
        *each("ConvertUToPtr", "%rConvertPtrToU", "%global_i32"),
        *each("PtrCastToGeneric", "%p3", "%generic_i32"),
        *each("GenericCastToPtr", "%rPtrCastToGeneric", "%local_i32"),
        *each("GenericCastToPtrExplicit", "%rPtrCastToGeneric CrossWorkgroup", "%global_i32"),
        *each("PtrCastToCrossWorkgroupINTEL", "%p4", "%global_i32"),
        *each("CrossWorkgroupCastToPtrINTEL", "%p3", "%device_i32"),
        *each("SizeOf", "%p3"),
    ],
    "%i32 %f32 %global_i32 %device_i32",
    "%v4i16 = OpTypeVector %i16 4\n%device_i32 = OpTypePointer DeviceOnlyALTERA %i32",
)

MEMORY = Body(
    [
        "%variable = OpVariable %private_i32 Function %c7",
        "OpLifetimeStart %variable 4",
        *each("Load", "%variable Aligned|AliasScopeINTELMask|NoAliasINTELMask 4 %list %list"),
        "OpStore %variable %rLoad Volatile|Nontemporal",
        "OpCopyMemory %variable %p1 Aligned 4 Aligned 4",
        "OpCopyMemorySized %variable %p1 %l1 Aligned 1",
        *each("AccessChain InBoundsAccessChain", "%p2 %c1 %c2", "%global_f32"),
        *each("PtrAccessChain InBoundsPtrAccessChain", "%p2 %l1 %c1 %p3", "%global_f32"),
        *each("PtrDiff", "%p1 %p1", "%i64"),
        *each("GenericPtrMemSemantics", "%p4"),
        "OpLifetimeStop %variable 4",
    ],
    "%global_i32 %global_struct %i64 %generic_i32",
    """
    %domain = OpAliasDomainDeclINTEL
    %scope = OpAliasScopeDeclINTEL %domain
    %list = OpAliasScopeListDeclINTEL %scope
    %struct = OpTypeStruct %i32 %v4f32
    %global_struct = OpTypePointer CrossWorkgroup %struct
    """,
)

COMPOSITES = Body(
    [
        *each("VectorExtractDynamic", "%p1 %c1", "%f32"),
        *each("VectorInsertDynamic", "%p1 %p2 %c1", "%v4f32"),
        *each("VectorShuffle", "%p1 %p1 0 7 0xFFFFFFFF 3", "%v4f32"),
        *each("CompositeConstruct", "%p1 %p3", "%struct"),
        "%joined = OpCompositeConstruct %v4f32 %v3 %p2",
        "%listed = OpCompositeConstruct %array %c1 %c2 %c3",
        *each("CompositeExtract", "%rCompositeConstruct 0 3", "%f32"),
        *each("CompositeInsert", "%p2 %rCompositeConstruct 0 1", "%struct"),
        *each("CopyObject FreezeKHR ArithmeticFenceEXT", "%p1", "%v4f32"),
        *each("CopyLogical", "%rCompositeConstruct", "%other_struct"),
        *each("ExpectKHR", "%p3 %c7"),
    ],
    "%v4f32 %f32 %i32",
    """
    %struct = OpTypeStruct %v4f32 %i32
    %other_struct = OpTypeStruct %v4f32 %i32
    %array = OpTypeArray %i32 %c3
    %v3 = OpUndef %v3f32
    """,
    "OpDecorate %other_struct CPacked",
)

ATOMICS = Body(
    [
        *each("AtomicLoad AtomicIIncrement AtomicIDecrement", "%p1 %c1 %c0"),
        "OpAtomicStore %p1 %c1 %c0 %p3",
        *each("AtomicExchange AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax", "%p1 %c1 %c0 %p3"),
        *each("AtomicAnd AtomicOr AtomicXor", "%p1 %c1 %c0 %p3"),
        *each("AtomicFAddEXT AtomicFMinEXT AtomicFMaxEXT", "%p2 %c2 %c0 %half", "%f32"),
        *each("AtomicCompareExchange AtomicCompareExchangeWeak", "%p1 %c1 %c0 %c0 %p3 %c7"),
        *each("AtomicFlagTestAndSet", "%p1 %c1 %c0", "%bool"),
        "OpAtomicFlagClear %p1 %c1 %c0",
        "OpControlBarrier %c2 %c2 %c0",
        "OpControlBarrierArriveINTEL %c2 %c2 %c0",
        "OpControlBarrierWaitINTEL %c2 %c2 %c0",
        "OpMemoryBarrier %c1 %c0",
    ],
    "%global_i32 %global_f32 %i32",
)

_UNIFORM_INT = "GroupIAdd GroupUMin GroupSMin GroupUMax GroupSMax GroupIMulKHR"
_NON_UNIFORM_INT = """GroupNonUniformIAdd GroupNonUniformIMul GroupNonUniformSMin GroupNonUniformUMin
    GroupNonUniformSMax GroupNonUniformUMax
    GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr GroupNonUniformBitwiseXor"""
_SHUFFLES = """GroupNonUniformBroadcast GroupNonUniformShuffle GroupNonUniformShuffleXor GroupNonUniformShuffleUp
    GroupNonUniformShuffleDown GroupNonUniformRotateKHR"""

GROUPS = Body(
    [
        "%events = OpVariable %private_event Function",
        *each("GroupAll GroupAny GroupNonUniformAll GroupNonUniformAny", "%c3 %true", "%bool"),
        *each("SubgroupAllKHR SubgroupAnyKHR SubgroupAllEqualKHR", "%true", "%bool"),
        *each("GroupNonUniformAllEqual", "%c3 %p1", "%bool"),
        *each("GroupNonUniformElect", "%c3", "%bool"),
        *each("GroupBroadcast", "%c2 %p1 %index"),
        *each(_SHUFFLES, "%c3 %p1 %c7"),
        "%clustered = OpGroupNonUniformRotateKHR %i32 %c3 %p1 %c1 %c2",
        *each("GroupNonUniformBroadcastFirst", "%c3 %p1"),
        *each("SubgroupFirstInvocationKHR", "%p1"),
        *each("SubgroupReadInvocationKHR", "%p1 %c1"),
        *each("GroupNonUniformBallot", "%c3 %true", "%v4i32"),
        *each("SubgroupBallotKHR", "%true", "%v4i32"),
        *each("GroupNonUniformInverseBallot", "%c3 %rSubgroupBallotKHR", "%bool"),
        *each("GroupNonUniformBallotBitExtract", "%c3 %rSubgroupBallotKHR %c1", "%bool"),
        *each("GroupNonUniformBallotBitCount", "%c3 Reduce %rSubgroupBallotKHR"),
        *each("GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB", "%c3 %rSubgroupBallotKHR"),
        *each(_UNIFORM_INT, "%c2 InclusiveScan %p1"),
        *each("GroupBitwiseAndKHR GroupBitwiseOrKHR GroupBitwiseXorKHR", "%c2 Reduce %p1"),
        *each("GroupFAdd GroupFMin GroupFMax GroupFMulKHR", "%c2 ExclusiveScan %p2", "%f32"),
        *each("GroupLogicalAndKHR GroupLogicalOrKHR GroupLogicalXorKHR", "%c2 Reduce %true", "%bool"),
        *each(_NON_UNIFORM_INT, "%c3 ClusteredReduce %p1 %c2"),
        *each(
            "GroupNonUniformFAdd GroupNonUniformFMul GroupNonUniformFMin GroupNonUniformFMax", "%c3 Reduce %p2", "%f32"
        ),
        *each(
            "GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor", "%c3 Reduce %true", "%bool"
        ),
        *each("SubgroupShuffleINTEL SubgroupShuffleXorINTEL", "%p1 %c1"),
        *each("SubgroupShuffleDownINTEL SubgroupShuffleUpINTEL", "%p1 %p1 %c1"),
        *each("SubgroupBlockReadINTEL", "%p4", "%v4i32"),
        "OpSubgroupBlockWriteINTEL %p4 %rSubgroupBlockReadINTEL",
        "OpSubgroupBlockPrefetchINTEL %p4 %c7",
        *each("SubgroupImageBlockReadINTEL", "%p5 %p6", "%v4i32"),
        "OpSubgroupImageBlockWriteINTEL %p5 %p6 %rSubgroupImageBlockReadINTEL",
        *each("GroupAsyncCopy", "%c2 %p3 %p4 %l1 %l1 %nothing", "%event"),
        "OpGroupWaitEvents %c2 %c1 %events",
        *each("ReadClockKHR", "%c1", "%i64"),
    ],
    "%i32 %f32 %local_i32 %global_i32 %image %v2i32",
    """
    %event = OpTypeEvent
    %private_event = OpTypePointer Function %event
    %nothing = OpConstantNull %event
    %index = OpConstantComposite %v2i32 %c1 %c2
    %image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadWrite
    """,
)

IMAGES = Body(
    [
        *each("SampledImage", "%p1 %p2", "%sampled"),
        *each("Image", "%rSampledImage", "%image"),
        *each("ImageSampleExplicitLod", "%rSampledImage %p3 Grad %half %half", "%v4f32"),
        *each("ImageRead ImageFetch", "%p1 %c1", "%v4f32"),
        "OpImageWrite %p1 %c1 %rImageRead",
        *each("ImageQueryFormat ImageQueryOrder ImageQueryLevels ImageQuerySamples ImageQuerySize", "%p1"),
        *each("ImageQuerySizeLod", "%p1 %c0"),
        *each("ConvertHandleToImageINTEL", "%p4", "%image"),
        *each("ConvertHandleToSampledImageINTEL", "%p4", "%sampled"),
    ],
    "%image %sampler %v4f32 %i64",
    """
    %image = OpTypeImage %void 1D 0 0 0 0 Unknown ReadWrite
    %sampler = OpTypeSampler
    %sampled = OpTypeSampledImage %image
    """,
)

CONTROL = Body(
    [
        *each("Undef PoisonKHR", ""),
        "OpAssumeTrueKHR %true",
        *each("FunctionPointerCallINTEL", "%code %p1"),
        *each("FunctionCall", "%other %p1"),
        "OpSelectionMerge %join None",
        "OpBranchConditional %true %left %right 1 2",
        "%left = OpLabel",
        "OpBranch %join",
        "%right = OpLabel",
        "OpSwitch %p1 %never 1 %join 2 %join",
        "%never = OpLabel",
        "OpUnreachable",
        "%join = OpLabel",
        "%rPhi = OpPhi %i32 %p1 %left %c1 %right",
    ],
    "%i32",
    """
    %unary = OpTypeFunction %i32 %i32
    %code_pointer = OpTypePointer CodeSectionINTEL %unary
    %code = OpConstantFunctionPointerINTEL %code_pointer %other
    %other = OpFunction %i32 None %unary
    %value = OpFunctionParameter %i32
    %other_entry = OpLabel
    OpReturnValue %value
    OpFunctionEnd
    """,
)


def library(names: str, operands: str, type_: str) -> list[str]:
    return [f"OpExtInst {type_} %cl {name} {operands}" for name in names.split()]


_UNARY = """acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp exp2 exp10 expm1
    fabs floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi tgamma trunc
    half_cos half_exp half_exp2 half_exp10 half_log half_log2 half_log10 half_recip half_rsqrt half_sin half_sqrt
    half_tan native_cos native_exp native_exp2 native_exp10 native_log native_log2 native_log10 native_recip
    native_rsqrt native_sin native_sqrt native_tan degrees radians sign normalize fast_normalize"""
_BINARY = """atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder half_divide
    half_powr native_divide native_powr fmax_common fmin_common step"""
_INT_BINARY = """s_abs_diff u_abs_diff s_add_sat u_add_sat s_sub_sat u_sub_sat s_hadd u_hadd s_rhadd u_rhadd s_max u_max
    s_min u_min s_mul_hi u_mul_hi rotate s_mul24 u_mul24"""
_INT_TERNARY = "s_clamp u_clamp s_mad_hi u_mad_hi s_mad_sat u_mad_sat s_mad24 u_mad24"

OPENCL = Body(
    [
        "%float_out = OpVariable %private_f32 Function",
        "%int_out = OpVariable %private_i32 Function",
        *numbered(
            [
                *library(_UNARY, "%p2", "%f32"),
                *library(_BINARY, "%p2 %half", "%f32"),
                *library("fma mad fclamp mix smoothstep bitselect", "%p3 %p3 %p3", "%v4f32"),
                *library("fract modf sincos", "%p2 %float_out", "%f32"),
                *library("frexp lgamma_r", "%p2 %int_out", "%f32"),
                *library("remquo", "%p2 %half %int_out", "%f32"),
                *library("ldexp pown rootn", "%p3 %p4", "%v4f32"),
                *library("ilogb", "%p3", "%v4i32"),
                *library("nan", "%p1", "%f32"),
                *library("length fast_length", "%p3", "%f32"),
                *library("distance fast_distance", "%p3 %p3", "%f32"),
                *library("cross", "%p3 %p3", "%v4f32"),
                *library("s_abs u_abs clz ctz popcount", "%p1", "%i32"),
                *library(_INT_BINARY, "%p1 %c7", "%i32"),
                *library(_INT_TERNARY, "%p1 %c7 %c1", "%i32"),
                *library("u_upsample s_upsample", "%p1 %c7", "%i64"),
                *library("select", "%p3 %p3 %p4", "%v4f32"),
                *library("shuffle", "%p4 %p4", "%v4i32"),
                *library("shuffle2", "%p3 %p3 %p4", "%v4f32"),
                *library("vloadn", "%l1 %p5 4", "%v4f32"),
                *library("vstoren", "%p3 %l1 %p5", "%void"),
                *library("vload_half", "%l1 %p6", "%f32"),
                *library("vload_halfn vloada_halfn", "%l1 %p6 4", "%v4f32"),
                *library("vstore_half", "%p2 %l1 %p6", "%void"),
                *library("vstore_halfn vstorea_halfn", "%p3 %l1 %p6", "%void"),
                *library("vstore_half_r vstore_halfn_r vstorea_halfn_r", "%p3 %l1 %p6 RTZ", "%void"),
                *library("prefetch", "%p5 %l1", "%void"),
                *library("printf", "%p7 %p1 %p2", "%i32"),
            ]
        ),
    ],
    "%i32 %f32 %v4f32 %v4i32 %global_f32 %global_f16 %characters",
    "%global_f16 = OpTypePointer CrossWorkgroup %f16\n%characters = OpTypePointer UniformConstant %i8",
)

BODIES = {
    "arithmetic": ARITHMETIC,
    "conversions": CONVERSIONS,
    "memory": MEMORY,
    "composites": COMPOSITES,
    "atomics": ATOMICS,
    "groups": GROUPS,
    "images": IMAGES,
    "control": CONTROL,
    "opencl": OPENCL,
}
