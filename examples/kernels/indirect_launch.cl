#define GROUP 16

// Compacts the non-negative numbers, in any order, and counts them.
kernel void keep_positive(global const int *in, global int *out, global int *count) {
    int value = in[get_global_id(0)];
    if (value >= 0)
        out[atomic_inc(count)] = value;
}

// Computes the group count for one work-item per number.
kernel void plan(global const int *count, global uint *groups) {
    groups[0] = (*count + GROUP - 1) / GROUP;
    groups[1] = groups[2] = 1;
}

kernel void square(global int *values, global const int *count) {
    size_t i = get_global_id(0);
    if (i < *count)
        values[i] *= values[i];
}
