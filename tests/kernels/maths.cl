// The mathematical functions, by kinship and in both precisions. Row k of `out` holds the k-th one's results.

#define ROW(k) out[(k) * get_global_size(0) + get_global_id(0)]

#define MATHS(T)                                                                                                       \
    kernel void exponential_##T(global T *out, global const T *any, global const T *positive, global const int *n) {   \
        size_t i = get_global_id(0);                                                                                   \
        T x = any[i], p = positive[i];                                                                                 \
        ROW(0) = exp(x);                                                                                               \
        ROW(1) = exp2(x);                                                                                              \
        ROW(2) = exp10(x);                                                                                             \
        ROW(3) = expm1(x);                                                                                             \
        ROW(4) = log(p);                                                                                               \
        ROW(5) = log2(p);                                                                                              \
        ROW(6) = log10(p);                                                                                             \
        ROW(7) = log1p(p);                                                                                             \
        ROW(8) = pow(p, x);                                                                                            \
        ROW(9) = powr(p, x);                                                                                           \
        ROW(10) = pown(x, n[i]);                                                                                       \
        ROW(11) = rootn(p, n[i]);                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    kernel void trigonometric_##T(global T *out, global const T *any, global const T *unit, global const T *other) {   \
        size_t i = get_global_id(0);                                                                                   \
        T x = any[i], u = unit[i], y = other[i], c;                                                                    \
        ROW(0) = sin(x);                                                                                               \
        ROW(1) = cos(x);                                                                                               \
        ROW(2) = tan(x);                                                                                               \
        ROW(3) = sincos(x, &c);                                                                                        \
        ROW(4) = c;                                                                                                    \
        ROW(5) = asin(u);                                                                                              \
        ROW(6) = acos(u);                                                                                              \
        ROW(7) = atan(x);                                                                                              \
        ROW(8) = atan2(x, y);                                                                                          \
        ROW(9) = sinpi(x);                                                                                             \
        ROW(10) = cospi(x);                                                                                            \
        ROW(11) = tanpi(x);                                                                                            \
        ROW(12) = asinpi(u);                                                                                           \
        ROW(13) = acospi(u);                                                                                           \
        ROW(14) = atanpi(x);                                                                                           \
        ROW(15) = atan2pi(x, y);                                                                                       \
    }                                                                                                                  \
                                                                                                                       \
    kernel void hyperbolic_##T(global T *out, global const T *any, global const T *unit, global const T *positive) {   \
        size_t i = get_global_id(0);                                                                                   \
        ROW(0) = sinh(any[i]);                                                                                         \
        ROW(1) = cosh(any[i]);                                                                                         \
        ROW(2) = tanh(any[i]);                                                                                         \
        ROW(3) = asinh(any[i]);                                                                                        \
        ROW(4) = acosh(1 + positive[i]);                                                                               \
        ROW(5) = atanh(unit[i]);                                                                                       \
    }                                                                                                                  \
                                                                                                                       \
    kernel void roots_##T(global T *out, global const T *any, global const T *positive) {                              \
        size_t i = get_global_id(0);                                                                                   \
        ROW(0) = sqrt(positive[i]);                                                                                    \
        ROW(1) = rsqrt(positive[i]);                                                                                   \
        ROW(2) = cbrt(any[i]);                                                                                         \
        ROW(3) = hypot(any[i], positive[i]);                                                                           \
    }                                                                                                                  \
                                                                                                                       \
    kernel void rounding_##T(global T *out, global const T *any) {                                                     \
        T x = any[get_global_id(0)];                                                                                   \
        ROW(0) = ceil(x);                                                                                              \
        ROW(1) = floor(x);                                                                                             \
        ROW(2) = rint(x);                                                                                              \
        ROW(3) = round(x);                                                                                             \
        ROW(4) = trunc(x);                                                                                             \
    }                                                                                                                  \
                                                                                                                       \
    kernel void pieces_##T(global T *out, global const T *any, global const T *other) {                                \
        size_t i = get_global_id(0);                                                                                   \
        T x = any[i], y = other[i], whole;                                                                             \
        int number;                                                                                                    \
        ROW(0) = frexp(x, &number);                                                                                    \
        ROW(1) = number;                                                                                               \
        ROW(2) = ldexp(x, (int)(i % 40) - 20);                                                                         \
        ROW(3) = ilogb(x);                                                                                             \
        ROW(4) = logb(x);                                                                                              \
        ROW(5) = modf(x, &whole);                                                                                      \
        ROW(6) = whole;                                                                                                \
        ROW(7) = fract(x, &whole);                                                                                     \
        ROW(8) = whole;                                                                                                \
        ROW(9) = fmod(x, y);                                                                                           \
        ROW(10) = remainder(x, y);                                                                                     \
        ROW(11) = remquo(x, y, &number);                                                                               \
        ROW(12) = abs(number) & 127;                                                                                   \
        ROW(13) = fdim(x, y);                                                                                          \
        ROW(14) = nextafter(x, y);                                                                                     \
        ROW(15) = maxmag(x, y);                                                                                        \
        ROW(16) = minmag(x, y);                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    kernel void statistical_##T(global T *out, global const T *any, global const T *positive) {                        \
        size_t i = get_global_id(0);                                                                                   \
        int sign;                                                                                                      \
        ROW(0) = erf(any[i]);                                                                                          \
        ROW(1) = erfc(any[i]);                                                                                         \
        ROW(2) = tgamma(positive[i]);                                                                                  \
        ROW(3) = lgamma(positive[i]);                                                                                  \
        ROW(4) = lgamma_r(any[i], &sign);                                                                              \
        ROW(5) = sign;                                                                                                 \
    }                                                                                                                  \
                                                                                                                       \
    kernel void common_##T(global T *out, global const T *any, global const T *other) {                                \
        size_t i = get_global_id(0);                                                                                   \
        T x = any[i], y = other[i];                                                                                    \
        ROW(0) = clamp(x, (T)-1, (T)2);                                                                                \
        ROW(1) = max(x, y);                                                                                            \
        ROW(2) = min(x, y);                                                                                            \
        ROW(3) = mix(x, y, (T)0.25);                                                                                   \
        ROW(4) = step(x, y);                                                                                           \
        ROW(5) = smoothstep((T)-2, (T)3, x);                                                                           \
        ROW(6) = sign(x);                                                                                              \
        ROW(7) = degrees(x);                                                                                           \
        ROW(8) = radians(x);                                                                                           \
        ROW(9) = mad(x, y, x);                                                                                         \
    }

MATHS(float)
MATHS(double)

// As fast as the device can, and as precise as it likes.
kernel void rough(global float *out, global const float *any, global const float *positive) {
    size_t i = get_global_id(0);
    float x = any[i], p = positive[i];
    ROW(0) = native_exp(x);
    ROW(1) = native_exp2(x);
    ROW(2) = native_log(p);
    ROW(3) = native_log2(p);
    ROW(4) = native_sin(x);
    ROW(5) = native_cos(x);
    ROW(6) = native_sqrt(p);
    ROW(7) = native_rsqrt(p);
    ROW(8) = native_recip(p);
    ROW(9) = native_divide(x, p);
    ROW(10) = native_powr(p, x);
    ROW(11) = half_exp(x);
    ROW(12) = half_log(p);
    ROW(13) = half_sin(x);
    ROW(14) = half_sqrt(p);
    ROW(15) = half_powr(p, x);
    ROW(16) = half_divide(x, p);
    ROW(17) = half_tan(x);
}

kernel void vectors(global float *out, global const float *any, global const float *positive) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float4 x = vload4(i, any), p = vload4(i, positive), c;
    vstore4(exp(x), i, out);
    vstore4(log(p), n + i, out);
    vstore4(sincos(x, &c), 2 * n + i, out);
    vstore4(c, 3 * n + i, out);
    vstore4(pow(p, x), 4 * n + i, out);
    vstore4(fmax(x, 0.5f), 5 * n + i, out);
    vstore4(fma(x, p, x.yxwz), 6 * n + i, out);
    int4 exponents;
    vstore4(frexp(p, &exponents), 7 * n + i, out);
    vstore4(convert_float4(exponents), 8 * n + i, out);
}

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void halves(global half *out, global const half *any, global const half *positive) {
    size_t i = get_global_id(0);
    ROW(0) = exp(any[i]);
    ROW(1) = log(positive[i]);
    ROW(2) = sin(any[i]);
    ROW(3) = sqrt(positive[i]);
    ROW(4) = rsqrt(positive[i]);
    ROW(5) = floor(any[i]);
    ROW(6) = fma(any[i], positive[i], any[i]);
}
