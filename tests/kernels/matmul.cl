// C = A × B, all square and row-major: one item per element of C.

kernel void matmul_int(global float *c, global const float *a, global const float *b, int n) {
    int column = get_global_id(0);
    int row = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

kernel void matmul_size_t(global float *c, global const float *a, global const float *b, ulong n) {
    size_t column = get_global_id(0);
    size_t row = get_global_id(1);
    float sum = 0.0f;
    for (size_t k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

#define TILE 16

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
matmul_tiled(global float *c, global const float *a, global const float *b, int n) {
    local float left[TILE][TILE];
    local float right[TILE][TILE];
    int x = get_local_id(0);
    int y = get_local_id(1);
    int column = get_group_id(0) * TILE + x;
    int row = get_group_id(1) * TILE + y;
    float sum = 0.0f;
    for (int tile = 0; tile < n; tile += TILE) {
        left[y][x] = a[row * n + tile + x];
        right[y][x] = b[(tile + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += left[y][k] * right[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
