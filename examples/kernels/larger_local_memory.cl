// Reverses the values of each group through local memory.
kernel void reverse(global int *values, local int *shared) {
    size_t l = get_local_id(0), n = get_local_size(0);
    shared[l] = values[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    values[get_global_id(0)] = shared[n - 1 - l];
}
