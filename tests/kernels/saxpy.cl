// The two streaming kernels that memory bandwidth bounds. `int` indices are what most people write, and what keeps most
// compilers from seeing that neighbouring items touch neighbouring elements.

kernel void saxpy(global float *y, global const float *x, float a, ulong n) {
    size_t i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

kernel void saxpy_int(global float *y, global const float *x, float a, int n) {
    int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// Without the check, nothing says that `i` stays positive.
kernel void saxpy_unchecked(global float *y, global const float *x, float a) {
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

kernel void triad(global float *restrict a, global const float *restrict b, global const float *restrict c, float s) {
    size_t i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}
