// Reads the other device's memory, and leaves something there.
kernel void exchange(global uint *near, global uint *far) {
    size_t i = get_global_id(0);
    near[i] = far[i];
    far[i] += 1000;
}

// Whoever runs it counts in the same few places.
kernel void count(volatile global uint *places) { atomic_inc(&places[get_global_id(0) % 4]); }
