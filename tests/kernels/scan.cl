// Inclusive sums within each group of 256: log2(256) steps, two barriers each.

#define GROUP 256

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void scan_group(global int *sums, global const int *data) {
    local int partial[GROUP];
    int item = get_local_id(0);
    partial[item] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < GROUP; distance *= 2) {
        int left = item >= distance ? partial[item - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        partial[item] += left;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[get_global_id(0)] = partial[item];
}
