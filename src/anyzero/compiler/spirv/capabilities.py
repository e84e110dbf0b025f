"""The capabilities and builtin variables that this compiler supports.

Declaring a capability outside of `SUPPORTED` is no error: producers declare more than they use. An instruction, type,
decoration or execution mode that requires one is refused.
"""

from __future__ import annotations

from anyzero.compiler.spirv.tables import BuiltIn, Decoration
from anyzero.compiler.spirv.tables import Capability as Cap

SUPPORTED = frozenset(
    {
        *(Cap.Kernel, Cap.Addresses, Cap.Linkage, Cap.GenericPointer, Cap.Vector16, Cap.LiteralSampler),
        *(Cap.Int8, Cap.Int16, Cap.Int64, Cap.Int64Atomics, Cap.Float16, Cap.Float16Buffer, Cap.Float64),
        *(Cap.ImageBasic, Cap.ImageReadWrite, Cap.ImageMipmap, Cap.Sampled1D, Cap.Image1D),
        *(Cap.SampledBuffer, Cap.ImageBuffer, Cap.ImageQuery),
        *(Cap.Groups, Cap.GroupUniformArithmeticKHR, Cap.SubgroupDispatch, Cap.SubgroupBallotKHR, Cap.SubgroupVoteKHR),
        *(Cap.GroupNonUniform, Cap.GroupNonUniformVote, Cap.GroupNonUniformArithmetic, Cap.GroupNonUniformBallot),
        *(Cap.GroupNonUniformShuffle, Cap.GroupNonUniformShuffleRelative, Cap.GroupNonUniformClustered),
        Cap.GroupNonUniformRotateKHR,
        *(Cap.SubgroupShuffleINTEL, Cap.SubgroupBufferBlockIOINTEL, Cap.SubgroupImageBlockIOINTEL),
        *(Cap.AtomicFloat16AddEXT, Cap.AtomicFloat32AddEXT, Cap.AtomicFloat64AddEXT),
        *(Cap.AtomicFloat16MinMaxEXT, Cap.AtomicFloat32MinMaxEXT, Cap.AtomicFloat64MinMaxEXT),
        *(Cap.DotProduct, Cap.DotProductInput4x8Bit, Cap.DotProductInput4x8BitPacked, Cap.DotProductInputAll),
        *(Cap.DenormPreserve, Cap.DenormFlushToZero, Cap.SignedZeroInfNanPreserve, Cap.RoundingModeRTE),
        *(Cap.RoundingModeRTZ, Cap.RoundToInfinityINTEL, Cap.FloatingPointModeINTEL, Cap.FPFastMathModeINTEL),
        *(Cap.FloatControls2, Cap.ArithmeticFenceEXT, Cap.PoisonFreezeKHR, Cap.BitInstructions),
        *(Cap.ExpectAssumeKHR, Cap.MemoryAccessAliasingINTEL, Cap.LongCompositesINTEL, Cap.UniformDecoration),
        *(Cap.FunctionPointersINTEL, Cap.IndirectReferencesINTEL, Cap.KernelAttributesINTEL, Cap.OptNoneEXT),
        *(Cap.UnstructuredLoopControlsINTEL, Cap.USMStorageClassesALTERA, Cap.SplitBarrierINTEL, Cap.ShaderClockKHR),
        *(Cap.FunctionFloatControlINTEL, Cap.FMAKHR, Cap.BindlessImagesINTEL, Cap.SubgroupBufferPrefetchINTEL),
        Cap.ArbitraryPrecisionIntegersALTERA,
        *(Cap.BFloat16ConversionINTEL, Cap.TensorFloat32RoundingINTEL),
        *(Cap.RuntimeAlignedAttributeALTERA, Cap.GlobalVariableHostAccessINTEL),
        # Hints for other hardware; ignoring them changes no result.
        *(Cap.CacheControlsINTEL, Cap.RegisterLimitsINTEL, Cap.FPMaxErrorINTEL, Cap.FPGALoopControlsALTERA),
        *(Cap.FPGAMemoryAttributesALTERA, Cap.FPGAKernelAttributesINTEL, Cap.FPGAKernelAttributesv2INTEL),
        *(Cap.FPGAMemoryAccessesALTERA, Cap.FPGAClusterAttributesALTERA, Cap.FPGAClusterAttributesV2ALTERA),
        *(Cap.LoopFuseALTERA, Cap.FPGADSPControlALTERA, Cap.FPGAInvocationPipeliningAttributesALTERA),
        *(Cap.FPGABufferLocationALTERA, Cap.FPGALatencyControlALTERA, Cap.FPGAArgumentInterfacesALTERA),
        Cap.GlobalVariableFPGADecorationsALTERA,
    }
)

HARMLESS = frozenset({("Decoration", Decoration.RelaxedPrecision), ("Decoration", Decoration.NoContraction)})
"""Decorations of shaders that are harmless in kernels."""

_SUB_GROUP_MASKS = (
    BuiltIn.SubgroupEqMask,
    BuiltIn.SubgroupGeMask,
    BuiltIn.SubgroupGtMask,
    BuiltIn.SubgroupLeMask,
    BuiltIn.SubgroupLtMask,
)

COMPONENTS: dict[int, int] = {
    **dict.fromkeys([BuiltIn.NumWorkgroups, BuiltIn.WorkgroupSize, BuiltIn.WorkgroupId, BuiltIn.LocalInvocationId], 3),
    **dict.fromkeys([BuiltIn.GlobalInvocationId, BuiltIn.GlobalSize, BuiltIn.EnqueuedWorkgroupSize], 3),
    BuiltIn.GlobalOffset: 3,
    **dict.fromkeys([BuiltIn.LocalInvocationIndex, BuiltIn.WorkDim, BuiltIn.GlobalLinearId, BuiltIn.SubgroupSize], 1),
    **dict.fromkeys([BuiltIn.SubgroupMaxSize, BuiltIn.NumSubgroups, BuiltIn.NumEnqueuedSubgroups], 1),
    **dict.fromkeys([BuiltIn.SubgroupId, BuiltIn.SubgroupLocalInvocationId], 1),
    **dict.fromkeys(_SUB_GROUP_MASKS, 4),
}
"""Number of integers in each builtin variable."""
