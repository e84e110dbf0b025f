// The tree in local memory: half of the items drop out at each step, with a barrier between.

kernel void reduce_int(global float *sums, global const float *data, local float *scratch, int n) {
    int item = get_local_id(0);
    int i = get_global_id(0);
    scratch[item] = i < n ? data[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = get_local_size(0) / 2; width > 0; width /= 2) {
        if (item < width)
            scratch[item] += scratch[item + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        sums[get_group_id(0)] = scratch[0];
}

kernel void reduce_size_t(global float *sums, global const float *data, local float *scratch, ulong n) {
    size_t item = get_local_id(0);
    size_t i = get_global_id(0);
    scratch[item] = i < n ? data[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {
        if (item < width)
            scratch[item] += scratch[item + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        sums[get_group_id(0)] = scratch[0];
}
