// The functions on integers, for every width. Row k of `out` holds the results of the k-th function.

#define ROW(k) out[(k) * get_global_size(0) + get_global_id(0)]

#define BUILTINS(T, U)                                                                                                 \
    kernel void builtins_##T(global T *out, global const T *first, global const T *second, global const T *third) {    \
        size_t i = get_global_id(0);                                                                                   \
        T a = first[i], b = second[i], c = third[i];                                                                   \
        ROW(0) = (T)abs(a);                                                                                            \
        ROW(1) = (T)abs_diff(a, b);                                                                                    \
        ROW(2) = add_sat(a, b);                                                                                        \
        ROW(3) = sub_sat(a, b);                                                                                        \
        ROW(4) = hadd(a, b);                                                                                           \
        ROW(5) = rhadd(a, b);                                                                                          \
        ROW(6) = clamp(a, min(b, c), max(b, c));                                                                       \
        ROW(7) = clz(a);                                                                                               \
        ROW(8) = ctz(a);                                                                                               \
        ROW(9) = popcount(a);                                                                                          \
        ROW(10) = mul_hi(a, b);                                                                                        \
        ROW(11) = (T)((U)mul_hi(a, b) + (U)c);                                                                         \
        ROW(12) = mad_sat(a, b, c);                                                                                    \
        ROW(13) = max(a, b);                                                                                           \
        ROW(14) = min(a, b);                                                                                           \
        ROW(15) = rotate(a, b);                                                                                        \
        ROW(16) = bitselect(a, b, c);                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    kernel void builtins_##T##4(global T *out, global const T *first, global const T *second, global const T *third) { \
        size_t i = get_global_id(0);                                                                                   \
        T##4 a = vload4(i, first), b = vload4(i, second), c = vload4(i, third);                                        \
        size_t n = get_global_size(0);                                                                                 \
        vstore4(add_sat(a, b), i, out);                                                                                \
        vstore4(rhadd(a, b), n + i, out);                                                                              \
        vstore4(clz(a), 2 * n + i, out);                                                                               \
        vstore4(mad_sat(a, b, c), 3 * n + i, out);                                                                     \
        vstore4(rotate(a, b), 4 * n + i, out);                                                                         \
        vstore4(max(a, b.x), 5 * n + i, out);                                                                          \
    }

BUILTINS(char, uchar)
BUILTINS(uchar, uchar)
BUILTINS(short, ushort)
BUILTINS(ushort, ushort)
BUILTINS(int, uint)
BUILTINS(uint, uint)
BUILTINS(long, ulong)
BUILTINS(ulong, ulong)

kernel void narrow_and_wide(global long *out, global const int *first, global const int *second) {
    size_t i = get_global_id(0);
    int a = first[i], b = second[i];
    ROW(0) = upsample((char)a, (uchar)b);
    ROW(1) = upsample((uchar)a, (uchar)b);
    ROW(2) = upsample((short)a, (ushort)b);
    ROW(3) = upsample((ushort)a, (ushort)b);
    ROW(4) = upsample(a, (uint)b);
    ROW(5) = (long)upsample((uint)a, (uint)b);
    // Only 24 bits of the factors are used; others have no meaning.
    int low = a << 8 >> 8, other = b << 8 >> 8;
    ROW(6) = mul24(low >> 12, other >> 12);
    ROW(7) = mad24(low >> 12, other >> 12, a >> 8);
    ROW(8) = mul24((uint)low & 0xffffu, (uint)other & 0xffffu);
    ROW(9) = mad24((uint)low & 0xffffu, (uint)other & 0xffffu, (uint)b);
    ROW(10) = mad_hi(a, b, 5);
}
