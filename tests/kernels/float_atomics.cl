// Addition, minimum and maximum of floating-point numbers in one atomic step.

kernel void float_add(global atomic_float *cells, global const float *from) {
    size_t i = get_global_id(0);
    atomic_fetch_add_explicit(&cells[i % 3], from[i], memory_order_relaxed, memory_scope_device);
}

kernel void float_min_max(global atomic_float *cells, global const float *from) {
    size_t i = get_global_id(0);
    atomic_fetch_min_explicit(&cells[0], from[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&cells[1], from[i], memory_order_relaxed, memory_scope_device);
}

kernel void double_add(global atomic_double *cells, global const double *from) {
    size_t i = get_global_id(0);
    atomic_fetch_add_explicit(&cells[i % 3], from[i], memory_order_relaxed, memory_scope_device);
}
