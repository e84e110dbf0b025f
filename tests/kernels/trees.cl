// Sums of the first 32 work-items of each group by a tree of constant widths.

#define STEP(width)                                        \
    if (item < width) partial[item] += partial[item + width]; \
    barrier(CLK_LOCAL_MEM_FENCE);

#define TREE                                        \
    local int partial[64];                          \
    int item = get_local_id(0);                     \
    partial[item] = data[get_global_id(0)];         \
    barrier(CLK_LOCAL_MEM_FENCE);                   \
    STEP(16) STEP(8) STEP(4) STEP(2) STEP(1)        \
    if (item == 0) sums[get_group_id(0)] = partial[0];

kernel void tree_any(global int *sums, global const int *data) { TREE }

kernel __attribute__((reqd_work_group_size(32, 1, 1))) void tree_32(global int *sums, global const int *data) { TREE }

// The first and the last work-item of a group exchange what they have; each writes to another place.
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void ends_32(global int *to, global const int *places, global const int *data) {
    local int own[64];
    int item = get_local_id(0);
    own[item] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 || item == 31) own[places[get_global_id(0)]] = item;
    barrier(CLK_LOCAL_MEM_FENCE);
    to[get_global_id(0)] = own[item];
}
