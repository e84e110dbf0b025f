// Reads and writes the other device's memory.
kernel void exchange(global uint *near, global uint *far) {
    size_t i = get_global_id(0);
    near[i] = far[i];
    far[i] += 1000;
}

// All devices count in the same few counters.
kernel void count(volatile global uint *places) { atomic_inc(&places[get_global_id(0) % 4]); }
