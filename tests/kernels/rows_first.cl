// Matrices whose rows are numbered by the first id: neighbours along the second one lie side by side.

kernel void add(global float *c, global const float *a, global const float *b, int m, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    if (i < m && j < n)
        c[i * n + j] = a[i * n + j] + b[i * n + j];
}

kernel void product(global int *c, global const int *a, global const int *b, int m, int n, int k) {
    int i = get_global_id(0), j = get_global_id(1), sum = 0;
    if (i >= m || j >= n)
        return;
    for (int at = 0; at < k; at++)
        sum += a[i * k + at] * b[at * n + j];
    c[i * n + j] = sum;
}

kernel void smooth(global int *to, global const int *from, int m, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    if (i < 1 || i >= m - 1)
        return;
    if (j > 0 && j < n - 1)
        to[i * n + j] = from[(i - 1) * n + j] + from[(i + 1) * n + j] + from[i * n + j - 1] + from[i * n + j + 1];
}

// The loop costs most; all that differs is the store.
kernel void escape(global int *count, int m, int n) {
    int i = get_global_id(0), j = get_global_id(1), k = 0;
    float x = 0, y = 0, x0 = 3.0f * j / n - 2, y0 = 2.0f * i / m - 1;
    for (; k < 30 && x * x + y * y < 4; k++) {
        float next = x * x - y * y + x0;
        y = 2 * x * y + y0;
        x = next;
    }
    count[i * n + j] = k;
}

kernel void block(global long *to, ulong rows, ulong columns) {
    size_t i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    to[(i * rows + j) * columns + k] = (long)(10000 * i + 100 * j + k);
}

kernel void sizes(global uint *to) {
    size_t i = get_global_id(0) - get_global_offset(0), j = get_global_id(1) - get_global_offset(1);
    to[i * get_global_size(1) + j] = 1000 * get_global_size(0) + 10 * get_global_size(1) + get_work_dim() + get_global_id(1);
}

kernel void count(global int *counts, global const uchar *values, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    atomic_inc(&counts[values[i * n + j] & 15]);
}

// As it should be: lanes stay along the first dimension.
kernel void usual(global int *to, int n) {
    int j = get_global_id(0), i = get_global_id(1);
    to[i * n + j] = 100 * i + j;
}

kernel void grouped(global int *to, int n) {
    int i = get_global_id(0), j = get_global_id(1);
    to[i * n + j] = 100 * i + j + get_local_id(0);
}
