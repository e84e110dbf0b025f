// Kernels for any size and any group, as people write them: the launch is rounded up to whole groups, and a bound leaves out
// the work-items beyond the end.

kernel void multiply(global float *c, global const float *a, global const float *b, int n) {
    int column = get_global_id(0);
    int row = get_global_id(1);
    if (row >= n || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// The same with ids as CUDA programs write them.
kernel void multiply_by_groups(global float *c, global const float *a, global const float *b, int n) {
    int column = get_group_id(0) * get_local_size(0) + get_local_id(0);
    int row = get_group_id(1) * get_local_size(1) + get_local_id(1);
    if (row >= n || column >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

kernel void escape_times(global uint *counts, float left, float top, float step, uint limit, int n) {
    int column = get_global_id(0);
    int row = get_global_id(1);
    if (column >= n || row >= n)
        return;
    float re = left + step * column, im = top + step * row;
    float x = 0.0f, y = 0.0f;
    uint count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        count++;
    }
    counts[row * n + column] = count;
}

kernel void turn(global float *to, global const float *from, int n) {
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < n && y < n)
        to[x * n + y] = from[y * n + x];
}

// Seven points of a cube; the outermost layer stays.
kernel void diffuse(global float *restrict to, global const float *restrict from, float rate, int n) {
    int x = get_global_id(0);
    int y = get_global_id(1);
    int z = get_global_id(2);
    if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1)
        return;
    int row = n, layer = n * n, at = z * layer + y * row + x;
    float around = from[at - 1] + from[at + 1] + from[at - row] + from[at + row] + from[at - layer] + from[at + layer];
    to[at] = from[at] + rate * (around - 6.0f * from[at]);
}

// The mean of nine, through a tile with a margin in local memory: a kernel that knows its group, whatever its size is.
kernel void smooth(global float *to, global const float *from, local float *tile, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    int lx = get_local_id(0), ly = get_local_id(1);
    int wide = get_local_size(0) + 2, high = get_local_size(1) + 2;
    int left = get_group_id(0) * get_local_size(0) - 1, top = get_group_id(1) * get_local_size(1) - 1;
    for (int row = ly; row < high; row += get_local_size(1))
        for (int column = lx; column < wide; column += get_local_size(0))
            tile[row * wide + column] = from[clamp(top + row, 0, n - 1) * n + clamp(left + column, 0, n - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= n || y >= n)
        return;
    float sum = 0.0f;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += tile[(ly + dy) * wide + lx + dx];
    to[y * n + x] = sum / 9.0f;
}
