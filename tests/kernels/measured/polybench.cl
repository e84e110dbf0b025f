// Kernels after the descriptions of PolyBench/GPU (Grauer-Gray et al., 2012), with its group sizes.

kernel void syrk(global const float *a, global float *c, float alpha, float beta, int m, int n) {
    int j = get_global_id(0), i = get_global_id(1);
    if (i >= n || j >= n)
        return;
    c[i * n + j] *= beta;
    for (int k = 0; k < m; k++)
        c[i * n + j] += alpha * a[i * m + k] * a[j * m + k];
}

kernel void gesummv(global const float *a, global const float *b, global const float *x, global float *y, global float *partial,
                    float alpha, float beta, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    y[i] = 0.0f;
    partial[i] = 0.0f;
    for (int j = 0; j < n; j++) {
        partial[i] += a[i * n + j] * x[j];
        y[i] += b[i * n + j] * x[j];
    }
    y[i] = alpha * partial[i] + beta * y[i];
}

kernel void bicg(global const float *a, global const float *r, global float *s, int nx, int ny) {
    int j = get_global_id(0);
    if (j >= ny)
        return;
    s[j] = 0.0f;
    for (int i = 0; i < nx; i++)
        s[j] += a[i * ny + j] * r[i];
}

kernel void covariance(global float *matrix, global const float *data, int m, int n) {
    int first = get_global_id(0);
    if (first >= m)
        return;
    for (int second = first; second < m; second++) {
        matrix[first * m + second] = 0.0f;
        for (int i = 0; i < n; i++)
            matrix[first * m + second] += data[i * m + first] * data[i * m + second];
        matrix[second * m + first] = matrix[first * m + second];
    }
}

kernel void jacobi2d(global const float *a, global float *b, int n) {
    int i = get_global_id(1), j = get_global_id(0);
    if (i >= 1 && i < n - 1 && j >= 1 && j < n - 1)
        b[i * n + j] = 0.2f * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1] + a[(i + 1) * n + j] + a[(i - 1) * n + j]);
}
