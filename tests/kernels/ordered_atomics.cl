// The newer atomic operations, which name the order and the scope that they ask for, and take generic pointers.

kernel void newer(global atomic_int *cells, global const int *from) {
    int i = get_global_id(0);
    int x = from[i];
    atomic_fetch_add(&cells[0], x);
    atomic_fetch_sub_explicit(&cells[1], x, memory_order_relaxed);
    atomic_fetch_min_explicit(&cells[2], x, memory_order_relaxed, memory_scope_device);
    atomic_fetch_max_explicit(&cells[3], x, memory_order_acq_rel, memory_scope_device);
    atomic_fetch_and_explicit(&cells[4], ~(1 << (i % 32)), memory_order_relaxed, memory_scope_all_svm_devices);
    atomic_fetch_or(&cells[5], 1 << (i % 32));
    atomic_fetch_xor(&cells[6], x);
    int wanted = 5;
    bool swapped = atomic_compare_exchange_strong(&cells[9], &wanted, 77);
    if (swapped)
        atomic_store(&cells[7], wanted);
    else if (wanted != 77)
        atomic_store(&cells[8], 1);
    if (i == 3)
        atomic_exchange_explicit(&cells[10], x, memory_order_seq_cst);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_work_group);
}

kernel void newer_local(global int *out, global const int *from) {
    local atomic_uint sum;
    local atomic_flag once;
    local int winners;
    int item = get_local_id(0);
    if (item == 0) {
        atomic_init(&sum, 10u);
        atomic_flag_clear(&once);
        winners = 0;
    }
    work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
    atomic_fetch_add_explicit(&sum, (uint)from[get_global_id(0)], memory_order_relaxed, memory_scope_work_group);
    if (!atomic_flag_test_and_set(&once))
        atomic_inc((volatile local int *)&winners);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = (int)atomic_load_explicit(&sum, memory_order_relaxed, memory_scope_work_group) * 10 + winners;
}
