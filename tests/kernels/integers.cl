// Integer arithmetic of every width. Row k of `out` holds the results of the k-th operation.

#define ROW(k) out[(k) * get_global_size(0) + get_global_id(0)]

#define INTEGERS(T, BITS)                                                                                              \
    kernel void wrapping_##T(global T *out, global const T *left, global const T *right) {                             \
        T a = left[get_global_id(0)], b = right[get_global_id(0)];                                                     \
        ROW(0) = a + b;                                                                                                \
        ROW(1) = a - b;                                                                                                \
        ROW(2) = a * b;                                                                                                \
        ROW(3) = -a;                                                                                                   \
        ROW(4) = a * b + a;                                                                                            \
        T c = a;                                                                                                       \
        c += b;                                                                                                        \
        c -= 3;                                                                                                        \
        c++;                                                                                                           \
        ROW(5) = c;                                                                                                    \
    }                                                                                                                  \
                                                                                                                       \
    kernel void whole_##T(global T *out, global const T *left, global const T *right) {                                \
        T a = left[get_global_id(0)], b = right[get_global_id(0)];                                                     \
        ROW(0) = a / b;                                                                                                \
        ROW(1) = a % 7;                                                                                                \
        ROW(2) = a & b;                                                                                                \
        ROW(3) = a | b;                                                                                                \
        ROW(4) = a ^ b;                                                                                                \
        ROW(5) = ~a;                                                                                                   \
        ROW(6) = a << (b & (BITS - 1));                                                                                \
        ROW(7) = a >> (b & (BITS - 1));                                                                                \
        ROW(8) = a < b;                                                                                                \
        ROW(9) = a <= b;                                                                                               \
        ROW(10) = a == b;                                                                                              \
        ROW(11) = a > b ? a : b;                                                                                       \
        ROW(12) = !a;                                                                                                  \
        ROW(13) = a != b;                                                                                              \
        ROW(14) = a >= b;                                                                                              \
        ROW(15) = a && (b & 1);                                                                                        \
    }                                                                                                                  \
                                                                                                                       \
    kernel void divided_##T(global T *out, global const T *left, global const T *right) {                              \
        T a = left[get_global_id(0)], b = right[get_global_id(0)];                                                     \
        ROW(0) = a % b;                                                                                                \
        ROW(1) = a / 7;                                                                                                \
    }

INTEGERS(char, 8)
INTEGERS(uchar, 8)
INTEGERS(short, 16)
INTEGERS(ushort, 16)
INTEGERS(int, 32)
INTEGERS(uint, 32)
INTEGERS(long, 64)
INTEGERS(ulong, 64)

// The same bits seen through other types.
kernel void reinterpret(global ulong *out, global const uint *words) {
    uint w = words[get_global_id(0)];
    uchar4 bytes = as_uchar4(w);
    short2 halves = as_short2(w);
    ROW(0) = (ulong)(long)(char)w;
    ROW(1) = (ulong)(long)(short)w;
    ROW(2) = (uchar)w;
    ROW(3) = (ushort)(w >> 8);
    ROW(4) = bytes.x | bytes.w << 8;
    ROW(5) = (ulong)(long)(halves.x - halves.y);
    ROW(6) = as_ulong((uint2)(w, ~w));
    ROW(7) = (bool)w;
    ROW(8) = (ulong)(long)as_int(w) << 3;
    ROW(9) = as_uint(as_float(w & 0x7f7fffffu));
}
