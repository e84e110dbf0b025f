// Groups that take long: of a kernel that does not know them, and of one that asks how large and how many they are.

uint churn(uint h, uint rounds) {
    for (uint round = 0; round < rounds; round++)
        h = (h ^ (h >> 15)) * 0x2c1b3c6du + round;
    return h;
}

kernel void unaware(global uint *to, uint rounds) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    to[i] += churn((uint)i, rounds);
}

kernel void aware(global uint *to, uint rounds) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    to[i] += churn((uint)i, rounds) + (uint)(get_local_size(0) * 1000 + get_num_groups(0));
}
