// Loops that update elements of memory, and stores between loads: arguments that lead to the same memory change the results.
// A work-item has 16 elements of its own.

kernel void accumulate(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++)
        to[i] += from[i + k];
}

kernel void product(global int *c, global const int *a, global const int *b, int n) {
    int i = get_global_id(1), j = get_global_id(0);
    c[i * n + j] *= 3;
    for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}

kernel void some(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++)
        if (from[i + k] & 1)
            to[i] += from[i + k];
}

kernel void some_of_a_stored_one(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    to[i] = 7;
    for (int k = 0; k < n; k++)
        if (from[i + k] & 1)
            to[i] += from[i + k];
}

kernel void until(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++) {
        to[i] += from[i + k];
        if (to[i] > 100)
            break;
    }
    to[i + 1] = n;
}

kernel void nested(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    to[i] = 0;
    for (int k = 0; k < n; k++)
        for (int l = 0; l < (from[i + k] & 3); l++)
            to[i] += from[i + l] + k;
}

kernel void two(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++) {
        to[i] += from[i + k];
        to[i + 1] ^= from[i + k] + to[i];
    }
}

kernel void neighbours(global int *to, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++) {
        to[i] += from[i + k];
        to[i + (k & 3)] += 5;
    }
}

kernel void components(global int4 *to, global const int4 *from, int n) {
    int i = 4 * get_global_id(0);
    for (int k = 0; k < (n & 3); k++)
        to[i] += from[i + k];
}

kernel void squares(global int *c, global const int *a, global const int *b) {
    int at = 16 * get_global_id(0);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[at + 4 * i + k] * b[at + 4 * k + j];
            c[at + 4 * i + j] = sum;
        }
}

kernel void pixels(global int *to, global const int *from) {
    int i = get_global_id(0);
    for (int k = 0; k < 4; k++)
        to[16 * i + k] = from[16 * i + k] * 2 + k;
}

kernel void both(global int *to, global int *other, global const int *from) {
    int i = 16 * get_global_id(0);
    to[i] = from[i] + from[i + 1];
    other[i] = from[i] - from[i + 1];
    to[i + 1] = other[i] * from[i];
    other[i + 1] = to[i] + from[i + 1];
}

kernel void sparse(global int *to, global const int *values, global const int *columns, global const int *from, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++)
        to[i] += values[i + k] * from[i + (columns[i + k] & 7)];
}

kernel void optional(global int *to, global const int *from, global const int *more, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++)
        to[i] += from[i + k] + (more ? more[i + k] : 0);
}

kernel void either(global int *to, global const int *from, global const int *more, int n) {
    int i = 16 * get_global_id(0);
    for (int k = 0; k < n; k++) {
        global const int *chosen = from[i] & 1 ? from : more;
        to[i] += chosen[i + k];
    }
}

kernel void rows_first(global int *c, global const int *a, int m, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + j] + k;
}

kernel __attribute__((reqd_work_group_size(16, 1, 1)))
void staged(global int *to, global const int *from, local int *tile, int n) {
    int i = 16 * get_global_id(0), local_ = get_local_id(0);
    for (int step = 0; step < n; step++) {
        tile[local_] = from[i + step];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            to[i] += tile[k] * (k + step);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
