"""Instructions that accept integers of odd widths.

SPV_INTEL_arbitrary_precision_integers defines arithmetic, conversions and memory accesses for them, but not atomics,
images, dot products and most of OpenCL.std. The supported rest of OpenCL.std implements LLVM's intrinsics.
"""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import opcode_name, opencl_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules import arithmetic, composites, control, conversions, memory
from anyzero.compiler.spirv.rules.check import RULES, Check
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Array, Int, Pointer, Struct, Type, Vector

_CHAPTERS = {each.__name__ for each in (arithmetic, composites, control, conversions, memory)}
_NOT = {Op.SDot, Op.UDot, Op.SUDot, Op.SDotAccSat, Op.UDotAccSat, Op.SUDotAccSat}
_NOT |= {Op.ConvertFToBF16INTEL, Op.ConvertBF16ToFINTEL, Op.ConvertPtrToU, Op.ConvertUToPtr}
_TOGETHER = {
    *(Op.GroupBroadcast, Op.GroupNonUniformBroadcast, Op.GroupNonUniformBroadcastFirst),
    *(Op.SubgroupFirstInvocationKHR, Op.SubgroupReadInvocationKHR, Op.GroupNonUniformAllEqual),
    *(Op.GroupNonUniformShuffle, Op.GroupNonUniformShuffleXor, Op.GroupNonUniformRotateKHR),
    *(Op.GroupNonUniformShuffleUp, Op.GroupNonUniformShuffleDown),
    *(Op.SubgroupShuffleINTEL, Op.SubgroupShuffleXorINTEL, Op.SubgroupShuffleUpINTEL, Op.SubgroupShuffleDownINTEL),
    *(Op.GroupIAdd, Op.GroupSMin, Op.GroupSMax, Op.GroupUMin, Op.GroupUMax, Op.GroupIMulKHR),
    *(Op.GroupNonUniformIAdd, Op.GroupNonUniformIMul, Op.GroupNonUniformSMin, Op.GroupNonUniformSMax),
    *(Op.GroupNonUniformUMin, Op.GroupNonUniformUMax, Op.GroupNonUniformBitwiseAnd, Op.GroupNonUniformBitwiseOr),
    *(Op.GroupNonUniformBitwiseXor, Op.GroupBitwiseAndKHR, Op.GroupBitwiseOrKHR, Op.GroupBitwiseXorKHR),
}
_FUNCTIONS = {
    *(Cl.s_abs, Cl.u_abs, Cl.s_abs_diff, Cl.u_abs_diff, Cl.clz, Cl.ctz, Cl.popcount, Cl.rotate, Cl.bitselect),
    *(Cl.s_add_sat, Cl.u_add_sat, Cl.s_sub_sat, Cl.u_sub_sat, Cl.s_mad_sat, Cl.u_mad_sat, Cl.select),
    *(Cl.s_hadd, Cl.u_hadd, Cl.s_rhadd, Cl.u_rhadd, Cl.s_max, Cl.u_max, Cl.s_min, Cl.u_min, Cl.s_clamp, Cl.u_clamp),
    *(Cl.s_mul_hi, Cl.u_mul_hi, Cl.s_mad_hi, Cl.u_mad_hi),
}


def check_odd_integers(check: Check, instruction: Instruction) -> None:
    """Refuses an instruction with an operand, result or pointee of an odd width that it does not support."""
    opcode = instruction.opcode
    if opcode in _TOGETHER or (opcode not in _NOT and RULES[opcode].__module__ in _CHAPTERS):
        return
    if opcode == Op.ExtInst and instruction.operands[1] in _FUNCTIONS:
        return
    values = check.values
    types = [values.get(id_) or check.module.values.get(id_) for id_ in instruction.operands]
    types.append(check.types.get(instruction.type_id))
    found = next((odd for type_ in types if type_ is not None and (odd := _odd(type_))), None)
    if found is not None:
        name = opencl_name(instruction.operands[1]) if opcode == Op.ExtInst else opcode_name(opcode)
        raise SpirvError(f"{name} does not take integers of {found.width} bits; convert them to 8, 16, 32 or 64 first")


def _odd(type_: Type) -> Int | None:
    """The odd integer type of a value, a component or a pointee."""
    if isinstance(type_, Pointer):
        type_ = type_.pointee
    while isinstance(type_, (Array, Vector)):
        type_ = type_.element
    if isinstance(type_, Struct):
        return None
    return type_ if isinstance(type_, Int) and type_.odd else None
