// Lanes far apart, rows side by side: what a work-item reads or writes lies beside that of the row below.

kernel void store_column(global float *to, global const float *from, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        to[x * height + y] = from[y * width + x];
}

kernel void store_both(global float *to, global float *copy, global const float *from, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) {
        to[x * height + y] = from[y * width + x];
        copy[y * width + x] = from[y * width + x];
    }
}

kernel void load_column(global double *to, global const double *from, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        to[y * width + x] = from[x * height + y] * 2.0;
}

kernel void both_columns(global uint *to, global const uint *from, long height) {
    size_t x = get_global_id(0), y = get_global_id(1);
    to[x * height + y] = from[x * height + y] + (uint)(7 * x + y);
}

// The same from iteration to iteration: each work-item goes along a row.

kernel void row_sums(global int *sums, global const int *a, global const int *x, int n) {
    int row = get_global_id(0), sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * x[k];
    sums[row] = sum;
}

kernel void long_sums(global long *sums, global const long *a, ulong n) {
    size_t row = get_global_id(0);
    long sum = row;
    for (ulong k = 0; k != n; k++)
        sum = sum * 3 + a[row * n + k];
    sums[row] = sum;
}

kernel void pair_sums(global int *sums, global const int2 *a, uint n) {
    uint row = get_global_id(0);
    int2 sum = 0;
    if (row % 3)
        for (uint k = 0; n > k; k += 1)
            sum += a[row * n + k];
    sums[row] = sum.x - 2 * sum.y;
}

kernel void fixed_sums(global int *sums, global const int *a, int n) {
    int row = get_global_id(0), sum = 0;
    for (int k = 0; k < n; k++)
        sum = 5 * sum + a[row * 48 + k];
    sums[row] = sum;
}

kernel void pointer_sums(global int *sums, global const int *a, int n) {
    int row = get_global_id(0), sum = 0;
    global const int *from = a + row * n;
    for (int k = 0; k < n; k++)
        sum = 5 * sum + from[k];
    sums[row] = sum;
}

// The same with counters that count down, and pointers that move along.

kernel void downward_sums(global int *sums, global const int *a, int n) {
    int row = get_global_id(0), sum = 0;
    global const int *from = a + row * n;
    while (n-- > 0)
        sum = 5 * sum + *from++;
    sums[row] = sum;
}

kernel void downward_pairs(global int *sums, global const int *a, int n) {
    int row = get_global_id(0), sum = 0;
    global const int *from = a + row * n;
    for (int left = 2 * n; left > 0; left -= 2)
        sum = 5 * sum + *from++;
    sums[row] = sum;
}

kernel void downward_longs(global long *sums, global const long *a, ulong n) {
    size_t row = get_global_id(0);
    long sum = row;
    global const long *from = a + row * n;
    for (ulong left = n; left; left--)
        sum = sum * 3 + *from++;
    sums[row] = sum;
}
