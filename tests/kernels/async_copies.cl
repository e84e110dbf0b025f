// Copies that a group makes together, between global and local memory, dense and with a stride.

kernel void there_and_back(global int *out, global const int *from, local int *shared) {
    size_t size = get_local_size(0), base = get_group_id(0) * size;
    event_t arrived = async_work_group_copy(shared, from + base, size, 0);
    prefetch(from + base, size);
    wait_group_events(1, &arrived);
    int x = shared[size - 1 - get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[get_local_id(0)] = x * 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t left = async_work_group_copy(out + base, shared, size, 0);
    wait_group_events(1, &left);
}

kernel void several(global float4 *out, global const float4 *a, global const float4 *b) {
    local float4 first[32], second[32];
    size_t size = get_local_size(0), base = get_group_id(0) * size;
    event_t both[2];
    both[0] = async_work_group_copy(first, a + base, size, 0);
    both[1] = async_work_group_copy(second, b + base, size, both[0]);
    wait_group_events(2, both);
    size_t item = get_local_id(0);
    out[base + item] = first[size - 1 - item] + second[(item + 1) % size];
}

kernel void strided(global short *out, global const short *from) {
    local short own[32];
    size_t size = get_local_size(0), base = get_group_id(0) * size;
    event_t arrived = async_work_group_strided_copy(own, from + base * 3, size, 3, 0);
    wait_group_events(1, &arrived);
    own[get_local_id(0)] += 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t left = async_work_group_strided_copy(out + base * 2, own, size, 2, 0);
    wait_group_events(1, &left);
}
