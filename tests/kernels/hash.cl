// Integer arithmetic only: multiplications, shifts and exclusive ors that depend on one another.

kernel void hash(global uint *to, global const uint *from, uint rounds) {
    size_t i = get_global_id(0);
    uint h = from[i];
    for (uint round = 0; round < rounds; round++) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        h += round;
    }
    to[i] = h;
}
