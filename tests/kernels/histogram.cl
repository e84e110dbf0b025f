// Each group counts in local memory, several elements per item, and adds its counts to the global ones.

#define BINS 256

kernel void histogram(global uint *counts, global const uchar *data, uint n, uint per_group) {
    local uint own[BINS];
    for (uint bin = get_local_id(0); bin < BINS; bin += get_local_size(0))
        own[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint begin = get_group_id(0) * per_group;
    uint end = min(begin + per_group, n);
    for (uint i = begin + get_local_id(0); i < end; i += get_local_size(0))
        atomic_inc(&own[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = get_local_id(0); bin < BINS; bin += get_local_size(0))
        if (own[bin])
            atomic_add(&counts[bin], own[bin]);
}
