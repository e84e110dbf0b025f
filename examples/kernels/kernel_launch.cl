// Writes the ids of the work-item.
kernel void places(global int4 *out) {
    size_t at = get_global_linear_id();
    out[at] = (int4)(get_global_id(0), get_global_id(1), get_local_id(0), get_group_id(0));
}

kernel __attribute__((reqd_work_group_size(8, 4, 1))) void tiles(global int *out) {
    out[get_global_linear_id()] = get_local_size(0) * 10 + get_local_size(1);
}
