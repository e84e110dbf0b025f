// Vectors at addresses that only suit their components, and half-precision numbers in memory alone.

#define COPY(T, LENGTH)                                                                                                \
    kernel void copy_##T##LENGTH(global T *out, global const T *from) {                                                \
        size_t i = get_global_id(0);                                                                                   \
        T##LENGTH v = vload##LENGTH(i, from + 1);                                                                      \
        vstore##LENGTH(v, i, out + 1);                                                                                 \
    }

COPY(char, 2)
COPY(uchar, 3)
COPY(short, 4)
COPY(int, 8)
COPY(float, 3)
COPY(float, 16)
COPY(long, 2)
COPY(double, 4)

kernel void from_local_and_private(global int *out, global const int *from) {
    local int shared[128];
    int own[4];
    size_t i = get_global_id(0), item = get_local_id(0);
    vstore2(vload2(i, from), item, shared);
    barrier(CLK_LOCAL_MEM_FENCE);
    vstore4(vload4(get_local_size(0) / 2 - 1 - item / 2, shared), 0, own);
    vstore2((int2)(own[item & 3], own[3]), i, out);
}

kernel void halves(global half *out, global const half *from) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float x = vload_half(i, from);
    vstore_half(x * 1.1f, i, out);
    vstore_half_rte(x * 1.1f, n + i, out);
    vstore_half_rtz(x * 1.1f, 2 * n + i, out);
    vstore_half_rtp(x * 1.1f, 3 * n + i, out);
    vstore_half_rtn(x * 1.1f, 4 * n + i, out);
    vstore_half((double)x * 0.3, 5 * n + i, out);
}

kernel void half_vectors(global half *out, global const half *from) {
    size_t i = get_global_id(0);
    float4 x = vload_half4(i, from);
    vstore_half4(x.wzyx + 1.0f, i, out);
    float8 y = vload_half8(i, from);
    vstore_half8_rtz(y * 0.7f, i, out + 4 * get_global_size(0));
}

kernel void aligned_halves(global half *out, global const half *from) {
    size_t i = get_global_id(0);
    float3 x = vloada_half3(i, from);
    vstorea_half3(x.zyx, i, out);
}
