// Kernels with one mistake each, on the line whose comment names them; those that are right begin with `right_`.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// Races in local memory

kernel void read_other(global int* a) {
    local int tile[16];
    int own = get_local_id(0);
    tile[own] = a[own];
    a[own] = tile[own ^ 1];  // read_other
}

kernel void read_argument(global int* a, local int* tile) {
    int own = get_local_id(0);
    tile[own] = a[own] + 1;
    a[own] = tile[15 - own];  // read_argument
}

kernel void write_then_write(global int* a) {
    local int tile[16];
    int own = get_local_id(0);
    tile[own] = own;
    tile[(own + 1) % 16] = own + 100;  // write_then_write
    barrier(CLK_LOCAL_MEM_FENCE);
    a[own] = tile[own];
}

kernel void wrong_fence_local(global int* a) {
    local int tile[16];
    int own = get_local_id(0);
    tile[own] = a[own];
    barrier(CLK_GLOBAL_MEM_FENCE);
    a[own] = tile[15 - own];  // wrong_fence_local
}

kernel void halo(global const int* a, global int* b) {
    local int tile[18];
    int own = get_local_id(0), i = get_global_id(0);
    tile[own + 1] = a[i + 1];
    if (own == 0) tile[0] = a[i];
    if (own == 15) tile[17] = a[i + 2];
    b[i] = tile[own] + tile[own + 2];  // halo
}

// Races in global memory

kernel void wrong_fence_global(global int* a) {
    int own = get_local_id(0), i = get_global_id(0);
    a[i] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = a[i ^ 1];  // wrong_fence_global
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    a[i] = other;
}

kernel void histogram_without_atomics(global const int* a, global int* counts) {
    counts[a[get_global_id(0)] & 15]++;  // histogram_without_atomics
}

kernel void whole_and_part(global int4* a, global int* b) {
    int i = get_global_id(0);
    b[i] = i;
    a[i / 4] = (int4)(i, i, i, i + 1);  // whole_and_part
}

kernel void neighbours_group(global int* a) {
    int i = get_global_id(0), n = get_global_size(0);
    int found = a[(i + get_local_size(0)) % n];  // neighbours_group
    barrier(CLK_GLOBAL_MEM_FENCE);
    a[i] = found;
}

// Memory that nobody has written

kernel void decides_by_nothing(global const int* a, global int* b) {
    int i = get_global_id(0);
    if (a[i] > 0)  // decides_by_nothing
        b[i] = 1;
}

kernel void sums_nothing(global int* a) {
    local int sums[16];
    int own = get_local_id(0);
    if (own & 1) sums[own] = a[own];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (own == 0) {
        int total = 0;
        for (int j = 0; j < 16; ++j)
            total += sums[j];  // sums_nothing
        a[0] = total;
    }
}

// Work-items that do not come

kernel void two_barriers(global int* a) {
    int own = get_local_id(0);
    if (a[own] & 1) {
        a[own] = own;
        barrier(CLK_GLOBAL_MEM_FENCE);  // two_barriers
    } else {
        a[own] = -own;
    }
}

kernel void sub_group_of_some(global int* a) {
    int own = get_local_id(0);
    if (a[own] > 5) a[own] = sub_group_reduce_add(a[own]);  // sub_group_of_some
}

// Right ones

kernel void right_transposition(global const int* a, global int* b) {
    local int tile[8][9];
    int x = get_local_id(0), y = get_local_id(1), gx = get_group_id(0), gy = get_group_id(1);
    int width = get_global_size(0), height = get_global_size(1);
    tile[y][x] = a[(8 * gy + y) * width + 8 * gx + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[(8 * gx + y) * height + 8 * gy + x] = tile[x][y];
}

kernel void right_product(global const float* a, global const float* b, global float* c, int n) {
    local float p[8][8], q[8][8];
    int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        p[y][x] = a[row * n + k + x];
        q[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 8; ++j) sum += p[y][j] * q[j][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

kernel void right_sub_groups(global int* a) {
    local int tile[64];
    int own = get_local_id(0);
    tile[own] = a[own];
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    int first = own - get_sub_group_local_id();
    a[own] = tile[first];
}

kernel void right_async(global const int* a, global int* b) {
    local int tile[16];
    int own = get_local_id(0), i = get_global_id(0);
    event_t done = async_work_group_copy(tile, a + 16 * get_group_id(0), 16, 0);
    wait_group_events(1, &done);
    b[i] = tile[15 - own];
}

kernel void right_lock(global int* a, global volatile int* lock) {
    if (get_local_id(0) == 0) {
        while (atomic_cmpxchg(lock, 0, 1) != 0) {}
        a[0] = a[0] + 1;
        atomic_xchg(lock, 0);
    }
}
