// Short vectors in the program itself: all lengths, swizzles, shuffles, components chosen at run time.

#define ARITHMETIC(T, LENGTH)                                                                                          \
    kernel void arithmetic_##T##LENGTH(global T *out, global const T *left, global const T *right) {                   \
        size_t i = get_global_id(0);                                                                                   \
        T##LENGTH a = vload##LENGTH(i, left), b = vload##LENGTH(i, right);                                             \
        T##LENGTH c = a * b + (T)3;                                                                                    \
        c -= a;                                                                                                        \
        vstore##LENGTH(c, i, out);                                                                                     \
    }

ARITHMETIC(int, 2)
ARITHMETIC(int, 3)
ARITHMETIC(int, 4)
ARITHMETIC(int, 8)
ARITHMETIC(int, 16)
ARITHMETIC(uchar, 3)
ARITHMETIC(uchar, 16)
ARITHMETIC(ushort, 8)
ARITHMETIC(long, 4)
ARITHMETIC(float, 3)
ARITHMETIC(float, 4)
ARITHMETIC(float, 16)
ARITHMETIC(double, 2)
ARITHMETIC(double, 8)

kernel void swizzles(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int4 v = vload4(i, from);
    size_t n = get_global_size(0);
    vstore4(v.wzyx, i, out);
    vstore4(v.xxyy, n + i, out);
    vstore4((int4)(v.lo, v.hi.yx), 2 * n + i, out);
    vstore4((int4)(v.even, v.odd), 3 * n + i, out);
    int4 w = v;
    w.yz = v.xw;
    w.s3 = 100;
    vstore4(w, 4 * n + i, out);
    int8 wide = (int8)(v, v + 10);
    vstore4(wide.s0246 + wide.s7531, 5 * n + i, out);
    int16 widest = (int16)(wide, -wide);
    vstore4(widest.s37bf, 6 * n + i, out);
    vstore4((int4)(v.xyz, 5), 7 * n + i, out);
    int3 three = v.yzw;
    vstore4(three.zyxx, 8 * n + i, out);
}

kernel void shuffles(global int *out, global const int *from, global const uint *masks) {
    size_t i = get_global_id(0);
    size_t n = get_global_size(0);
    int4 v = vload4(i, from);
    uint4 mask = vload4(i, masks);
    vstore4(shuffle(v, mask), i, out);
    vstore4(shuffle2(v, v + 100, mask), n + i, out);
    int8 wide = shuffle(v, (uint8)(mask, mask.wzyx));
    vstore4(wide.lo - wide.hi, 2 * n + i, out);
}

kernel void chosen_component(global float *out, global const float *from, global const int *which) {
    size_t i = get_global_id(0);
    float4 v = vload4(i, from);
    int k = which[i] & 3;
    float8 wide = (float8)(v, v * 2.0f);
    out[2 * i] = v[k];
    wide[k + 3] = -1.0f;
    out[2 * i + 1] = wide.s0 + wide.s3 + wide.s4 + wide.s5 + wide.s6;
}

// A vector of three takes the room of four in memory.
kernel void three_in_memory(global float3 *out, global const float3 *from, float scale) {
    size_t i = get_global_id(0);
    out[i] = from[i].zxy * scale;
}

kernel void mixed(global float4 *out, global const char4 *from, float4 scale, char2 shift) {
    size_t i = get_global_id(0);
    float4 v = convert_float4(from[i]);
    v.xy += convert_float2(shift);
    out[i] = v * scale;
}
