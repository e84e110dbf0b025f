// Arithmetic and comparisons in the three floating-point types, each operation rounded by itself.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF

#define ROW(k) out[(k) * get_global_size(0) + get_global_id(0)]

#define FLOATS(T)                                                                                                      \
    kernel void exact_##T(global T *out, global const T *left, global const T *right) {                                \
        T a = left[get_global_id(0)], b = right[get_global_id(0)];                                                     \
        ROW(0) = a + b;                                                                                                \
        ROW(1) = a - b;                                                                                                \
        ROW(2) = a * b;                                                                                                \
        ROW(3) = -a;                                                                                                   \
        ROW(4) = a * b + a;                                                                                            \
        ROW(5) = fabs(a) - fabs(b);                                                                                    \
        ROW(6) = fma(a, b, a);                                                                                         \
        ROW(7) = fmin(a, b);                                                                                           \
        ROW(8) = fmax(a, b);                                                                                           \
        ROW(9) = copysign(a, b);                                                                                       \
    }                                                                                                                  \
                                                                                                                       \
    kernel void quotient_##T(global T *out, global const T *left, global const T *right) {                             \
        T a = left[get_global_id(0)], b = right[get_global_id(0)];                                                     \
        ROW(0) = a / b;                                                                                                \
        ROW(1) = 1 / b;                                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    kernel void compare_##T(global int *out, global const T *left, global const T *right) {                            \
        T a = left[get_global_id(0)], b = right[get_global_id(0)];                                                     \
        ROW(0) = a < b;                                                                                                \
        ROW(1) = a <= b;                                                                                               \
        ROW(2) = a > b;                                                                                                \
        ROW(3) = a >= b;                                                                                               \
        ROW(4) = a == b;                                                                                               \
        ROW(5) = a != b;                                                                                               \
        ROW(6) = !(a < b);                                                                                             \
        ROW(7) = a < b || b < a;                                                                                       \
        ROW(8) = isequal(a, b);                                                                                        \
        ROW(9) = isnotequal(a, b);                                                                                     \
        ROW(10) = isgreater(a, b);                                                                                     \
        ROW(11) = islessequal(a, b);                                                                                   \
        ROW(12) = islessgreater(a, b);                                                                                 \
        ROW(13) = isordered(a, b);                                                                                     \
        ROW(14) = isunordered(a, b);                                                                                   \
        ROW(15) = isfinite(a);                                                                                         \
        ROW(16) = isinf(a);                                                                                            \
        ROW(17) = isnan(a);                                                                                            \
        ROW(18) = isnormal(a);                                                                                         \
        ROW(19) = signbit(a);                                                                                          \
        ROW(20) = a < 0 ? 1 : 2;                                                                                       \
    }

FLOATS(float)
FLOATS(double)
FLOATS(half)

kernel void half_vectors(global half *out, global const half *left, global const half *right) {
    size_t i = get_global_id(0);
    half4 a = vload4(i, left), b = vload4(i, right);
    vstore4(a * b - a.wzyx, i, out);
}

kernel void through_float(global half *out, global const half *from, float scale) {
    size_t i = get_global_id(0);
    float x = from[i];
    double y = from[i];
    ROW(0) = (half)(x * scale);
    ROW(1) = (half)(y * 0.5);
    ROW(2) = convert_half_rtz(x * scale);
    ROW(3) = (half)(int)i;
    ROW(4) = as_half((ushort)(as_ushort(from[i]) ^ 0x8000));
}
