// Sparse matrix × vector, compressed rows, one item per row: uneven loops and loads from anywhere.

kernel void spmv(global float *y, global const int *row_starts, global const int *columns, global const float *values,
                 global const float *x, int rows) {
    int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = row_starts[row]; k < row_starts[row + 1]; k++)
        sum += values[k] * x[columns[k]];
    y[row] = sum;
}
