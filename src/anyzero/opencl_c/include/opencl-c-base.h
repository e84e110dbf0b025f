// The types, constants and macros of OpenCL C 3.0, for a clang that comes without its own header of this name.
// clang declares the built-in functions itself (-fdeclare-opencl-builtins) and looks up the names of types here.
#ifndef ANYZERO_OPENCL_C_BASE_H
#define ANYZERO_OPENCL_C_BASE_H

// Optional features, as the devices of this package have them. clang declares what belongs to a feature only where its macro is there.
#define cl_khr_subgroup_extended_types 1
#define cl_khr_subgroup_non_uniform_vote 1
#define cl_khr_subgroup_ballot 1
#define cl_khr_subgroup_non_uniform_arithmetic 1
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1
#define cl_khr_subgroup_clustered_reduce 1
#define cl_khr_subgroup_rotate 1
#define cl_khr_extended_bit_ops 1
#define cl_khr_integer_dot_product 1
#define cl_khr_work_group_uniform_arithmetic 1
#define __opencl_c_integer_dot_product_input_4x8bit 1
#define __opencl_c_integer_dot_product_input_4x8bit_packed 1
#define cl_ext_float_atomics 1
#define __opencl_c_ext_fp32_global_atomic_load_store 1
#define __opencl_c_ext_fp32_local_atomic_load_store 1
#define __opencl_c_ext_fp32_global_atomic_add 1
#define __opencl_c_ext_fp32_local_atomic_add 1
#define __opencl_c_ext_fp32_global_atomic_min_max 1
#define __opencl_c_ext_fp32_local_atomic_min_max 1
#define __opencl_c_ext_fp64_global_atomic_load_store 1
#define __opencl_c_ext_fp64_local_atomic_load_store 1
#define __opencl_c_ext_fp64_global_atomic_add 1
#define __opencl_c_ext_fp64_local_atomic_add 1
#define __opencl_c_ext_fp64_global_atomic_min_max 1
#define __opencl_c_ext_fp64_local_atomic_min_max 1

// Functions of sub-groups, and those that take pointers to a named address space where there is no generic one.
#define __opencl_subgroup_builtins 1
#if __OPENCL_C_VERSION__ < 200
#define __opencl_c_named_address_space_builtins 1
#else
#define __opencl_c_generic_address_space 1
#define __opencl_c_program_scope_global_variables 1
#define __opencl_c_work_group_collective_functions 1
#define __opencl_c_atomic_order_acq_rel 1
#define __opencl_c_atomic_order_seq_cst 1
#define __opencl_c_atomic_scope_device 1
#define __opencl_c_atomic_scope_all_devices 1
#define __opencl_c_read_write_images 1
#define __opencl_c_subgroups 1
#endif
#define __opencl_c_int64 1
#define __opencl_c_fp64 1
#define __opencl_c_images 1
#define __opencl_c_3d_image_writes 1

// Scalars

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

// Vectors

#define ANYZERO_VECTORS(element)                              \
  typedef element element##2 __attribute__((ext_vector_type(2)));   \
  typedef element element##3 __attribute__((ext_vector_type(3)));   \
  typedef element element##4 __attribute__((ext_vector_type(4)));   \
  typedef element element##8 __attribute__((ext_vector_type(8)));   \
  typedef element element##16 __attribute__((ext_vector_type(16)));
ANYZERO_VECTORS(char)
ANYZERO_VECTORS(uchar)
ANYZERO_VECTORS(short)
ANYZERO_VECTORS(ushort)
ANYZERO_VECTORS(int)
ANYZERO_VECTORS(uint)
ANYZERO_VECTORS(long)
ANYZERO_VECTORS(ulong)
ANYZERO_VECTORS(float)
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
ANYZERO_VECTORS(half)
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
ANYZERO_VECTORS(double)
#endif
#undef ANYZERO_VECTORS

#define NULL ((void*)0)

// The same bits as another type

#define as_char(x) __builtin_astype((x), char)
#define as_uchar(x) __builtin_astype((x), uchar)
#define as_short(x) __builtin_astype((x), short)
#define as_ushort(x) __builtin_astype((x), ushort)
#define as_int(x) __builtin_astype((x), int)
#define as_uint(x) __builtin_astype((x), uint)
#define as_long(x) __builtin_astype((x), long)
#define as_ulong(x) __builtin_astype((x), ulong)
#define as_float(x) __builtin_astype((x), float)
#define as_double(x) __builtin_astype((x), double)
#define as_half(x) __builtin_astype((x), half)
#define as_size_t(x) __builtin_astype((x), size_t)
#define as_ptrdiff_t(x) __builtin_astype((x), ptrdiff_t)
#define as_intptr_t(x) __builtin_astype((x), intptr_t)
#define as_uintptr_t(x) __builtin_astype((x), uintptr_t)
#define as_char2(x) __builtin_astype((x), char2)
#define as_char3(x) __builtin_astype((x), char3)
#define as_char4(x) __builtin_astype((x), char4)
#define as_char8(x) __builtin_astype((x), char8)
#define as_char16(x) __builtin_astype((x), char16)
#define as_uchar2(x) __builtin_astype((x), uchar2)
#define as_uchar3(x) __builtin_astype((x), uchar3)
#define as_uchar4(x) __builtin_astype((x), uchar4)
#define as_uchar8(x) __builtin_astype((x), uchar8)
#define as_uchar16(x) __builtin_astype((x), uchar16)
#define as_short2(x) __builtin_astype((x), short2)
#define as_short3(x) __builtin_astype((x), short3)
#define as_short4(x) __builtin_astype((x), short4)
#define as_short8(x) __builtin_astype((x), short8)
#define as_short16(x) __builtin_astype((x), short16)
#define as_ushort2(x) __builtin_astype((x), ushort2)
#define as_ushort3(x) __builtin_astype((x), ushort3)
#define as_ushort4(x) __builtin_astype((x), ushort4)
#define as_ushort8(x) __builtin_astype((x), ushort8)
#define as_ushort16(x) __builtin_astype((x), ushort16)
#define as_int2(x) __builtin_astype((x), int2)
#define as_int3(x) __builtin_astype((x), int3)
#define as_int4(x) __builtin_astype((x), int4)
#define as_int8(x) __builtin_astype((x), int8)
#define as_int16(x) __builtin_astype((x), int16)
#define as_uint2(x) __builtin_astype((x), uint2)
#define as_uint3(x) __builtin_astype((x), uint3)
#define as_uint4(x) __builtin_astype((x), uint4)
#define as_uint8(x) __builtin_astype((x), uint8)
#define as_uint16(x) __builtin_astype((x), uint16)
#define as_long2(x) __builtin_astype((x), long2)
#define as_long3(x) __builtin_astype((x), long3)
#define as_long4(x) __builtin_astype((x), long4)
#define as_long8(x) __builtin_astype((x), long8)
#define as_long16(x) __builtin_astype((x), long16)
#define as_ulong2(x) __builtin_astype((x), ulong2)
#define as_ulong3(x) __builtin_astype((x), ulong3)
#define as_ulong4(x) __builtin_astype((x), ulong4)
#define as_ulong8(x) __builtin_astype((x), ulong8)
#define as_ulong16(x) __builtin_astype((x), ulong16)
#define as_float2(x) __builtin_astype((x), float2)
#define as_float3(x) __builtin_astype((x), float3)
#define as_float4(x) __builtin_astype((x), float4)
#define as_float8(x) __builtin_astype((x), float8)
#define as_float16(x) __builtin_astype((x), float16)
#define as_double2(x) __builtin_astype((x), double2)
#define as_double3(x) __builtin_astype((x), double3)
#define as_double4(x) __builtin_astype((x), double4)
#define as_double8(x) __builtin_astype((x), double8)
#define as_double16(x) __builtin_astype((x), double16)
#define as_half2(x) __builtin_astype((x), half2)
#define as_half3(x) __builtin_astype((x), half3)
#define as_half4(x) __builtin_astype((x), half4)
#define as_half8(x) __builtin_astype((x), half8)
#define as_half16(x) __builtin_astype((x), half16)

// Limits

#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffU
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-0x7fffffffffffffffL - 1)
#define ULONG_MAX 0xffffffffffffffffUL

#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP +38
#define FLT_MAX_EXP +128
#define FLT_MIN_10_EXP -37
#define FLT_MIN_EXP -125
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF (__builtin_huge_valf())
#define HUGE_VAL (__builtin_huge_val())
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX

#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP +308
#define DBL_MAX_EXP +1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52

#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP +4
#define HALF_MAX_EXP +16
#define HALF_MIN_10_EXP -4
#define HALF_MIN_EXP -13
#define HALF_RADIX 2
#define HALF_MAX ((half)65504.0f)
#define HALF_MIN ((half)0x1.0p-14f)
#define HALF_EPSILON ((half)0x1.0p-10f)

#define M_E 0x1.5bf0a8b145769p+1
#define M_E_F 2.718281828459045f
#define M_E_H ((half)2.718281828459045f)
#define M_LOG2E 0x1.71547652b82fep+0
#define M_LOG2E_F 1.4426950408889634f
#define M_LOG2E_H ((half)1.4426950408889634f)
#define M_LOG10E 0x1.bcb7b1526e50dp-2
#define M_LOG10E_F 0.43429448190325176f
#define M_LOG10E_H ((half)0.43429448190325176f)
#define M_LN2 0x1.62e42fefa39efp-1
#define M_LN2_F 0.6931471805599453f
#define M_LN2_H ((half)0.6931471805599453f)
#define M_LN10 0x1.26bb1bbb55516p+1
#define M_LN10_F 2.302585092994046f
#define M_LN10_H ((half)2.302585092994046f)
#define M_PI 0x1.921fb54442d18p+1
#define M_PI_F 3.141592653589793f
#define M_PI_H ((half)3.141592653589793f)
#define M_PI_2 0x1.921fb54442d18p+0
#define M_PI_2_F 1.5707963267948966f
#define M_PI_2_H ((half)1.5707963267948966f)
#define M_PI_4 0x1.921fb54442d18p-1
#define M_PI_4_F 0.7853981633974483f
#define M_PI_4_H ((half)0.7853981633974483f)
#define M_1_PI 0x1.45f306dc9c883p-2
#define M_1_PI_F 0.3183098861837907f
#define M_1_PI_H ((half)0.3183098861837907f)
#define M_2_PI 0x1.45f306dc9c883p-1
#define M_2_PI_F 0.6366197723675814f
#define M_2_PI_H ((half)0.6366197723675814f)
#define M_2_SQRTPI 0x1.20dd750429b6dp+0
#define M_2_SQRTPI_F 1.1283791670955126f
#define M_2_SQRTPI_H ((half)1.1283791670955126f)
#define M_SQRT2 0x1.6a09e667f3bcdp+0
#define M_SQRT2_F 1.4142135623730951f
#define M_SQRT2_H ((half)1.4142135623730951f)
#define M_SQRT1_2 0x1.6a09e667f3bcdp-1
#define M_SQRT1_2_F 0.7071067811865476f
#define M_SQRT1_2_H ((half)0.7071067811865476f)

// Synchronization

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 0x1
#define CLK_GLOBAL_MEM_FENCE 0x2
#define CLK_IMAGE_MEM_FENCE 0x4

typedef enum memory_scope {
  memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
  memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
  memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
  memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
  memory_scope_all_devices = memory_scope_all_svm_devices,
  memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP,
} memory_scope;

typedef enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST,
} memory_order;

#define ATOMIC_VAR_INIT(x) (x)
#define ATOMIC_FLAG_INIT 0

#include "opencl-c-conversions.h"

// Functions that clang's SPIR-V target does not know, by others that it does.

#define ANYZERO_OLD_ATOMIC(operation, pointer, value) \
  __scoped_atomic_##operation((pointer), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_inc(pointer) ANYZERO_OLD_ATOMIC(fetch_add, pointer, 1)
#define atomic_dec(pointer) ANYZERO_OLD_ATOMIC(fetch_sub, pointer, 1)
#define atomic_min(pointer, value) ANYZERO_OLD_ATOMIC(fetch_min, pointer, value)
#define atomic_max(pointer, value) ANYZERO_OLD_ATOMIC(fetch_max, pointer, value)
#define atomic_xchg(pointer, value) ANYZERO_OLD_ATOMIC(exchange_n, pointer, value)
#define atom_inc(pointer) atomic_inc(pointer)
#define atom_dec(pointer) atomic_dec(pointer)
#define atom_min(pointer, value) atomic_min(pointer, value)
#define atom_max(pointer, value) atomic_max(pointer, value)
#define atom_xchg(pointer, value) atomic_xchg(pointer, value)

#define ANYZERO_ORDER(order) order, memory_scope_device
#define ANYZERO_ORDER_AND_SCOPE(order, scope) order, scope
#define ANYZERO_THIRD(a, b, c, ...) c
#define ANYZERO_SEMANTICS(...) ANYZERO_THIRD(__VA_ARGS__, ANYZERO_ORDER_AND_SCOPE, ANYZERO_ORDER, )(__VA_ARGS__)
#define atomic_fetch_min(object, value) atomic_fetch_min_explicit(object, value, memory_order_seq_cst)
#define atomic_fetch_max(object, value) atomic_fetch_max_explicit(object, value, memory_order_seq_cst)
#define atomic_fetch_min_explicit(object, value, ...) \
  __opencl_atomic_fetch_min((object), (value), ANYZERO_SEMANTICS(__VA_ARGS__))
#define atomic_fetch_max_explicit(object, value, ...) \
  __opencl_atomic_fetch_max((object), (value), ANYZERO_SEMANTICS(__VA_ARGS__))

void __attribute__((overloadable, convergent)) __spirv_ControlBarrier(int scope, int memory, int semantics);
// Scope: sub-group; semantics: sequentially consistent, for local (0x100) and global (0x200) memory.
#define sub_group_barrier(...) __spirv_ControlBarrier(3, 3, 0x10 | 0x100 | 0x200)

void __attribute__((overloadable)) __spirv_MemoryBarrier(int scope, int semantics);
// Scope: work-group; semantics: acquire (2), release (4), sequentially consistent (0x10), for local and global memory and images.
#define ANYZERO_FENCE(flags, order) \
  __spirv_MemoryBarrier(2, (order) | ((flags) & 1) << 8 | ((flags) & 2) << 8 | ((flags) & 4) << 9)
#define mem_fence(flags) ANYZERO_FENCE(flags, 0x10)
#define read_mem_fence(flags) ANYZERO_FENCE(flags, 2)
#define write_mem_fence(flags) ANYZERO_FENCE(flags, 4)

// Three halves that are aligned take the room of four.
#define vloada_half3(index, pointer) vload_half3(0, (pointer) + 4 * (index))
#define vstorea_half3(data, index, pointer) vstore_half3((data), 0, (pointer) + 4 * (index))
#define vstorea_half3_rte(data, index, pointer) vstore_half3_rte((data), 0, (pointer) + 4 * (index))
#define vstorea_half3_rtz(data, index, pointer) vstore_half3_rtz((data), 0, (pointer) + 4 * (index))
#define vstorea_half3_rtp(data, index, pointer) vstore_half3_rtp((data), 0, (pointer) + 4 * (index))
#define vstorea_half3_rtn(data, index, pointer) vstore_half3_rtn((data), 0, (pointer) + 4 * (index))

// The most significant bit of any component, of all of them. The target would ask integers as if they were truth values.
#define ANYZERO_INLINE static inline __attribute__((overloadable, always_inline, const, unused)) int
#define ANYZERO_ANY_ALL(type)                                                                                       \
  ANYZERO_INLINE anyzero_any(type v) { return v < 0; }                                                              \
  ANYZERO_INLINE anyzero_any(type##2 v) { return (v.x | v.y) < 0; }                                                 \
  ANYZERO_INLINE anyzero_any(type##3 v) { return (v.x | v.y | v.z) < 0; }                                           \
  ANYZERO_INLINE anyzero_any(type##4 v) { return anyzero_any(v.lo | v.hi); }                                        \
  ANYZERO_INLINE anyzero_any(type##8 v) { return anyzero_any(v.lo | v.hi); }                                        \
  ANYZERO_INLINE anyzero_any(type##16 v) { return anyzero_any(v.lo | v.hi); }                                       \
  ANYZERO_INLINE anyzero_all(type v) { return v < 0; }                                                              \
  ANYZERO_INLINE anyzero_all(type##2 v) { return (v.x & v.y) < 0; }                                                 \
  ANYZERO_INLINE anyzero_all(type##3 v) { return (v.x & v.y & v.z) < 0; }                                           \
  ANYZERO_INLINE anyzero_all(type##4 v) { return anyzero_all(v.lo & v.hi); }                                        \
  ANYZERO_INLINE anyzero_all(type##8 v) { return anyzero_all(v.lo & v.hi); }                                        \
  ANYZERO_INLINE anyzero_all(type##16 v) { return anyzero_all(v.lo & v.hi); }
ANYZERO_ANY_ALL(char)
ANYZERO_ANY_ALL(short)
ANYZERO_ANY_ALL(int)
ANYZERO_ANY_ALL(long)
#undef ANYZERO_ANY_ALL
#define any(x) anyzero_any(x)
#define all(x) anyzero_all(x)

// Images and samplers

#define CLK_ADDRESS_NONE 0
#define CLK_ADDRESS_CLAMP_TO_EDGE 2
#define CLK_ADDRESS_CLAMP 4
#define CLK_ADDRESS_REPEAT 6
#define CLK_ADDRESS_MIRRORED_REPEAT 8
#define CLK_NORMALIZED_COORDS_FALSE 0
#define CLK_NORMALIZED_COORDS_TRUE 1
#define CLK_FILTER_NEAREST 0x10
#define CLK_FILTER_LINEAR 0x20

#define CLK_SNORM_INT8 0x10D0
#define CLK_SNORM_INT16 0x10D1
#define CLK_UNORM_INT8 0x10D2
#define CLK_UNORM_INT16 0x10D3
#define CLK_UNORM_SHORT_565 0x10D4
#define CLK_UNORM_SHORT_555 0x10D5
#define CLK_UNORM_INT_101010 0x10D6
#define CLK_SIGNED_INT8 0x10D7
#define CLK_SIGNED_INT16 0x10D8
#define CLK_SIGNED_INT32 0x10D9
#define CLK_UNSIGNED_INT8 0x10DA
#define CLK_UNSIGNED_INT16 0x10DB
#define CLK_UNSIGNED_INT32 0x10DC
#define CLK_HALF_FLOAT 0x10DD
#define CLK_FLOAT 0x10DE
#define CLK_UNORM_INT24 0x10DF
#define CLK_R 0x10B0
#define CLK_A 0x10B1
#define CLK_RG 0x10B2
#define CLK_RA 0x10B3
#define CLK_RGB 0x10B4
#define CLK_RGBA 0x10B5
#define CLK_BGRA 0x10B6
#define CLK_ARGB 0x10B7
#define CLK_INTENSITY 0x10B8
#define CLK_LUMINANCE 0x10B9
#define CLK_Rx 0x10BA
#define CLK_RGx 0x10BB
#define CLK_RGBx 0x10BC
#define CLK_DEPTH 0x10BD
#define CLK_DEPTH_STENCIL 0x10BE
#define CLK_sRGB 0x10BF
#define CLK_sRGBx 0x10C0
#define CLK_sRGBA 0x10C1
#define CLK_sBGRA 0x10C2
#define CLK_ABGR 0x10C3

// Device-side enqueues: names that clang looks up, though the devices of this package have no such queues

typedef uint kernel_enqueue_flags_t;
typedef uint clk_profiling_info;
#define MAX_WORK_DIM 3
typedef struct {
  uint workDimension;
  size_t globalWorkOffset[MAX_WORK_DIM];
  size_t globalWorkSize[MAX_WORK_DIM];
  size_t localWorkSize[MAX_WORK_DIM];
} ndrange_t;

// Printing

int printf(__constant const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
