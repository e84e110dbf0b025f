typedef struct {
    float scale;
    int shift;
} transform;

// One argument of every kind except images: memory, an optional pointer, local memory, a number, a vector, a structure.
kernel void every_sort(global float4 *out, global const float *weights, local float4 *row, int first, float4 base,
                       transform t) {
    size_t i = get_global_id(0), l = get_local_id(0);
    row[l] = base * t.scale + (float)(first + t.shift + (int)i);
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 neighbour = row[get_local_size(0) - 1 - l];
    out[i] = weights ? neighbour * weights[i] : neighbour;
}
