// What a whole group computes together.

#define ROW(k) out[(k) * get_global_size(0) + get_global_id(0)]

kernel void collectives_int(global int *out, global const int *from) {
    int x = from[get_global_id(0)];
    ROW(0) = work_group_reduce_add(x);
    ROW(1) = work_group_reduce_min(x);
    ROW(2) = work_group_reduce_max(x);
    ROW(3) = work_group_scan_inclusive_add(x);
    ROW(4) = work_group_scan_exclusive_add(x);
    ROW(5) = work_group_scan_inclusive_min(x);
    ROW(6) = work_group_scan_exclusive_min(x);
    ROW(7) = work_group_scan_inclusive_max(x);
    ROW(8) = work_group_scan_exclusive_max(x);
    ROW(9) = work_group_broadcast(x, 3);
    ROW(10) = work_group_all(x > -90);
    ROW(11) = work_group_any(x > 95);
}

kernel void collectives_ulong(global ulong *out, global const ulong *from) {
    ulong x = from[get_global_id(0)];
    ROW(0) = work_group_reduce_add(x);
    ROW(1) = work_group_reduce_min(x);
    ROW(2) = work_group_scan_inclusive_max(x);
    ROW(3) = work_group_scan_exclusive_max(x);
    ROW(4) = work_group_scan_exclusive_min(x);
    ROW(5) = work_group_broadcast(x, get_group_id(0));
}

kernel void collectives_float(global float *out, global const float *from) {
    float x = from[get_global_id(0)];
    ROW(0) = work_group_reduce_add(x);
    ROW(1) = work_group_reduce_min(x);
    ROW(2) = work_group_reduce_max(x);
    ROW(3) = work_group_scan_inclusive_add(x);
    ROW(4) = work_group_scan_exclusive_add(x);
    ROW(5) = work_group_scan_exclusive_max(x);
}

kernel void in_a_loop(global int *out, global const int *from) {
    int x = from[get_global_id(0)];
    int total = 0;
    for (int k = 0; k < 4; k++) {
        total += work_group_reduce_max((x + k * 7) % 13);
        x += work_group_scan_exclusive_add(1);
    }
    out[get_global_id(0)] = total * 100 + x;
}

kernel void broadcast_two_dimensions(global int *out, global const int *from) {
    size_t at = get_global_linear_id();
    out[at] = from[at] + work_group_broadcast(from[at], 1, 2);
}
