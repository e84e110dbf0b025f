// Every group sums its part, waits for all others, and then reads the total sum: no second launch is needed.
kernel void share(global float *values, global float *sums, volatile global int *arrived) {
    size_t group = get_group_id(0), first = group * get_local_size(0);
    if (get_local_id(0) == 0) {
        float sum = 0;
        for (size_t i = 0; i < get_local_size(0); ++i)
            sum += values[first + i];
        sums[group] = sum;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_inc(arrived);
        while (atomic_or(arrived, 0) < get_num_groups(0))
            ;
        mem_fence(CLK_GLOBAL_MEM_FENCE);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    float whole = 0;
    for (size_t i = 0; i < get_num_groups(0); ++i)
        whole += sums[i];
    values[get_global_id(0)] /= whole;
}
