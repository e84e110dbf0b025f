// Items of a group that wait for one another, with values that live across the wait.

kernel void neighbours(global int *out, global const int *from, local int *shared) {
    int item = get_local_id(0), size = get_local_size(0);
    int own = from[get_global_id(0)];
    shared[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    int left = shared[(item + size - 1) % size];
    int right = shared[(item + 1) % size];
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[item] = left * right;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = own + left - right + shared[size - 1 - item];
}

kernel void in_a_loop(global int *out, global const int *from, int rounds) {
    local int a[64], b[64];
    int item = get_local_id(0), size = get_local_size(0);
    int kept = item * 3;
    a[item] = from[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < rounds; k++) {
        b[item] = a[(item + k) % size] + kept;
        barrier(CLK_LOCAL_MEM_FENCE);
        kept += b[(item + 1) % size] & 7;
        a[item] = b[size - 1 - item];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = a[item] + kept;
}

// Whether there is a barrier depends on what all items of the group agree on.
kernel void in_an_if(global int *out, global const int *from, global const int *modes) {
    local int shared[64];
    int item = get_local_id(0), size = get_local_size(0);
    int mode = modes[get_group_id(0)];
    int x = from[get_global_id(0)];
    shared[item] = x;
    if (mode == 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        x = shared[size - 1 - item];
    } else if (mode == 2) {
        x += 1000;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < get_group_id(0) + 1; k++) {
            int y = shared[(item + 1) % size];
            barrier(CLK_LOCAL_MEM_FENCE);
            shared[item] = y + 1;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        x += shared[item];
    }
    out[get_global_id(0)] = x;
}

// Items that go separate ways between two barriers, and an item that leaves the loop of the others alone.
kernel void around_divergence(global int *out, global const int *from) {
    local int shared[64];
    int item = get_local_id(0), size = get_local_size(0);
    int x = from[get_global_id(0)];
    int steps = 0;
    while (x > 3) {
        x = x & 1 ? x - 3 : x / 2;
        steps++;
    }
    shared[item] = steps;
    barrier(CLK_LOCAL_MEM_FENCE);
    int best = 0;
    for (int k = 0; k < size; k++) {
        if (shared[k] > steps)
            break;
        best = max(best, shared[k]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item % 3 == 0)
        shared[item] = best + x;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[item / 3 * 3] + best;
}

kernel void three_dimensions(global int *out, global const int *from) {
    local int shared[4][4][4];
    int x = get_local_id(0), y = get_local_id(1), z = get_local_id(2);
    size_t at = get_global_linear_id();
    shared[z][y][x] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    int turned = shared[(z + 1) % get_local_size(2)][get_local_size(1) - 1 - y][(x + 1) % get_local_size(0)];
    out[at] = turned * 2 + shared[z][y][x];
}

// Global memory is seen by the group behind a barrier, too.
kernel void through_global(global int *out, global int *scratch, global const int *from) {
    size_t base = get_group_id(0) * get_local_size(0);
    int item = get_local_id(0), size = get_local_size(0);
    scratch[base + item] = from[base + item] * 2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[base + item] = scratch[base + (item + 5) % size] + scratch[base + (item + 1) % size];
}

__attribute__((noinline)) int exchanged(local int *shared, int value, int partner) {
    shared[get_local_id(0)] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = shared[partner];
    barrier(CLK_LOCAL_MEM_FENCE);
    return other;
}

kernel void in_a_function(global int *out, global const int *from, local int *shared) {
    int item = get_local_id(0), size = get_local_size(0);
    int x = from[get_global_id(0)];
    int a = exchanged(shared, x, (item + 1) % size);
    int b = exchanged(shared, a + x, size - 1 - item);
    out[get_global_id(0)] = a * 1000 + b;
}

// A private array and a structure that live across barriers.
kernel void kept_arrays(global int *out, global const int *from) {
    local int shared[64];
    int item = get_local_id(0), size = get_local_size(0);
    int own[4];
    for (int k = 0; k < 4; k++)
        own[k] = from[get_global_id(0)] + k * item;
    for (int k = 0; k < 4; k++) {
        shared[item] = own[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        own[(k + item) & 3] += shared[(item + 1) % size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = own[0] + 2 * own[1] + 3 * own[2] + 4 * own[3];
}

// Two local arguments of different types, and one in the program: none may overlap.
kernel void several_locals(global float *out, local float *a, local char *b, local double *c) {
    local int d[3];
    int item = get_local_id(0), size = get_local_size(0);
    a[item] = item;
    b[item] = item + 1;
    c[item] = item + 2;
    if (item < 3)
        d[item] = 1000 * item;
    barrier(CLK_LOCAL_MEM_FENCE);
    int other = size - 1 - item;
    out[get_global_id(0)] = a[other] + b[other] * 100.0f + (float)c[other] * 10000.0f + d[item % 3];
}
