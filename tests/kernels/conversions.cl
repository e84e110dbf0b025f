// Conversions between all types, with saturation and in every rounding mode. Whole numbers come out as `long`.

#define ROW(k) out[(k) * get_global_size(0) + get_global_id(0)]

#define FROM_INTEGER(S)                                                                                                \
    kernel void from_##S(global long *out, global const S *from) {                                                     \
        S x = from[get_global_id(0)];                                                                                  \
        ROW(0) = convert_char(x);                                                                                      \
        ROW(1) = convert_uchar(x);                                                                                     \
        ROW(2) = convert_short(x);                                                                                     \
        ROW(3) = convert_ushort(x);                                                                                    \
        ROW(4) = convert_int(x);                                                                                       \
        ROW(5) = convert_uint(x);                                                                                      \
        ROW(6) = convert_long(x);                                                                                      \
        ROW(7) = (long)convert_ulong(x);                                                                               \
        ROW(8) = convert_char_sat(x);                                                                                  \
        ROW(9) = convert_uchar_sat(x);                                                                                 \
        ROW(10) = convert_short_sat(x);                                                                                \
        ROW(11) = convert_ushort_sat(x);                                                                               \
        ROW(12) = convert_int_sat(x);                                                                                  \
        ROW(13) = convert_uint_sat(x);                                                                                 \
        ROW(14) = convert_long_sat(x);                                                                                 \
        ROW(15) = (long)convert_ulong_sat(x);                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    kernel void float_from_##S(global float *out, global const S *from) {                                              \
        S x = from[get_global_id(0)];                                                                                  \
        ROW(0) = (float)x;                                                                                             \
        ROW(1) = convert_float_rte(x);                                                                                 \
        ROW(2) = convert_float_rtz(x);                                                                                 \
        ROW(3) = convert_float_rtp(x);                                                                                 \
        ROW(4) = convert_float_rtn(x);                                                                                 \
    }                                                                                                                  \
                                                                                                                       \
    kernel void double_from_##S(global double *out, global const S *from) {                                            \
        S x = from[get_global_id(0)];                                                                                  \
        ROW(0) = (double)x;                                                                                            \
        ROW(1) = convert_double_rte(x);                                                                                \
        ROW(2) = convert_double_rtz(x);                                                                                \
        ROW(3) = convert_double_rtp(x);                                                                                \
        ROW(4) = convert_double_rtn(x);                                                                                \
    }

FROM_INTEGER(char)
FROM_INTEGER(uchar)
FROM_INTEGER(short)
FROM_INTEGER(ushort)
FROM_INTEGER(int)
FROM_INTEGER(uint)
FROM_INTEGER(long)
FROM_INTEGER(ulong)

#define ROUNDED(K, D, x)                                                                                               \
    ROW(K) = (long)convert_##D##_sat(x);                                                                               \
    ROW(K + 1) = (long)convert_##D##_sat_rte(x);                                                                       \
    ROW(K + 2) = (long)convert_##D##_sat_rtz(x);                                                                       \
    ROW(K + 3) = (long)convert_##D##_sat_rtp(x);                                                                       \
    ROW(K + 4) = (long)convert_##D##_sat_rtn(x);

#define FROM_REAL(S)                                                                                                   \
    kernel void from_##S(global long *out, global const S *from) {                                                     \
        S x = from[get_global_id(0)];                                                                                  \
        ROUNDED(0, char, x)                                                                                            \
        ROUNDED(5, uchar, x)                                                                                           \
        ROUNDED(10, short, x)                                                                                          \
        ROUNDED(15, ushort, x)                                                                                         \
        ROUNDED(20, int, x)                                                                                            \
        ROUNDED(25, uint, x)                                                                                           \
        ROUNDED(30, long, x)                                                                                           \
        ROUNDED(35, ulong, x)                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    kernel void small_from_##S(global long *out, global const S *from) {                                               \
        S x = from[get_global_id(0)];                                                                                  \
        ROW(0) = (char)x;                                                                                              \
        ROW(1) = (short)x;                                                                                             \
        ROW(2) = (int)x;                                                                                               \
        ROW(3) = (long)x;                                                                                              \
        ROW(4) = convert_int_rte(x);                                                                                   \
        ROW(5) = convert_int_rtp(x);                                                                                   \
        ROW(6) = convert_int_rtn(x);                                                                                   \
        ROW(7) = (uchar)fabs(x);                                                                                       \
        ROW(8) = (uint)fabs(x);                                                                                        \
        ROW(9) = (long)(ulong)fabs(x);                                                                                 \
    }

FROM_REAL(float)
FROM_REAL(double)

kernel void float_from_double(global float *out, global const double *from) {
    double x = from[get_global_id(0)];
    ROW(0) = (float)x;
    ROW(1) = convert_float_rte(x);
    ROW(2) = convert_float_rtz(x);
    ROW(3) = convert_float_rtp(x);
    ROW(4) = convert_float_rtn(x);
}

kernel void double_from_float(global double *out, global const float *from) {
    float x = from[get_global_id(0)];
    ROW(0) = x;
    ROW(1) = convert_double_rtz(x);
}

kernel void vectors(global uchar *out, global const float *from) {
    size_t i = get_global_id(0);
    float16 x = vload16(i, from);
    vstore16(convert_uchar16_sat_rte(x), i, out);
}
