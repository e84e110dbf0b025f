// Functions that look at a vector as a whole.

#define GEOMETRIC(T)                                                                                                   \
    kernel void products_##T(global T *out, global const T *left, global const T *right) {                             \
        size_t i = get_global_id(0), n = get_global_size(0);                                                           \
        T##4 a = vload4(i, left), b = vload4(i, right);                                                                \
        vstore4(cross(a, b), i, out);                                                                                  \
        vstore4((T##4)(cross(a.xyz, b.xyz), 7), n + i, out);                                                           \
        vstore4((T##4)(dot(a, b), dot(a.xyz, b.xyz), dot(a.xy, b.xy), dot(a.x, b.x)), 2 * n + i, out);                 \
        vstore4((T##4)(length(a), length(a.xyz), length(a.xy), length(a.x)), 3 * n + i, out);                          \
        vstore4((T##4)(distance(a, b), distance(a.xyz, b.xyz), distance(a.xy, b.xy), distance(a.x, b.x)), 4 * n + i,   \
                out);                                                                                                  \
        vstore4(normalize(a), 5 * n + i, out);                                                                         \
        vstore4((T##4)(normalize(a.xyz), normalize(a.w)), 6 * n + i, out);                                             \
    }

GEOMETRIC(float)
GEOMETRIC(double)

kernel void fast(global float *out, global const float *left, global const float *right) {
    size_t i = get_global_id(0), n = get_global_size(0);
    float4 a = vload4(i, left), b = vload4(i, right);
    vstore4((float4)(fast_length(a), fast_length(a.xyz), fast_distance(a, b), fast_distance(a.xy, b.xy)), i, out);
    vstore4(fast_normalize(a), n + i, out);
}
