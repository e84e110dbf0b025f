// Who am I: every question an item can ask about its place.

kernel void places(global ulong *out, uint which) {
    size_t at = ((get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) - get_global_offset(1))
        * get_global_size(0) + get_global_id(0) - get_global_offset(0);
    global ulong *own = out + at * 28;
    for (uint d = 0; d < 3; d++) {
        own[d * 8] = get_global_id(d);
        own[d * 8 + 1] = get_local_id(d);
        own[d * 8 + 2] = get_group_id(d);
        own[d * 8 + 3] = get_global_size(d);
        own[d * 8 + 4] = get_local_size(d);
        own[d * 8 + 5] = get_num_groups(d);
        own[d * 8 + 6] = get_global_offset(d);
        own[d * 8 + 7] = get_enqueued_local_size(d);
    }
    own[24] = get_work_dim();
    own[25] = get_global_linear_id();
    own[26] = get_local_linear_id();
    // A dimension that is only known at run time.
    own[27] = get_global_size(which) * 100 + get_local_id(which);
}

kernel __attribute__((reqd_work_group_size(5, 2, 1))) void required(global uint *out) {
    out[get_global_linear_id()] = get_local_linear_id() * 100 + get_local_size(0) * 10 + get_local_size(1);
}
