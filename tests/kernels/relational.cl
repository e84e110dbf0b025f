// Comparisons of vectors, and the functions that choose by them. A true component has all bits set.

#define N get_global_size(0)

kernel void vectors_float(global int *out, global const float *left, global const float *right) {
    size_t i = get_global_id(0);
    float4 a = vload4(i, left), b = vload4(i, right);
    vstore4(a < b, i, out);
    vstore4(a == b, N + i, out);
    vstore4(a != b, 2 * N + i, out);
    vstore4(isnan(a), 3 * N + i, out);
    vstore4(isfinite(a), 4 * N + i, out);
    vstore4(signbit(a), 5 * N + i, out);
    vstore4(isunordered(a, b), 6 * N + i, out);
    vstore4(as_int4(select(a, b, a < b)), 7 * N + i, out);
    vstore4(as_int4(a < b ? a : b), 8 * N + i, out);
    vstore4(as_int4(bitselect(a, b, as_float4((int4)(0x0000ffff)))), 9 * N + i, out);
    vstore4((int4)(any(a < b), all(a < b), any(isnan(a)), all(a <= a)), 10 * N + i, out);
    vstore4(!(a < b), 11 * N + i, out);
    vstore4((a < b) && (b < 1.0f), 12 * N + i, out);
}

kernel void vectors_double(global long *out, global const double *left, global const double *right) {
    size_t i = get_global_id(0);
    double2 a = vload2(i, left), b = vload2(i, right);
    vstore2(a < b, i, out);
    vstore2(isnotequal(a, b), N + i, out);
    vstore2(as_long2(select(a, b, isless(a, b))), 2 * N + i, out);
}

kernel void vectors_short(global short *out, global const short *left, global const short *right) {
    size_t i = get_global_id(0);
    short8 a = vload8(i, left), b = vload8(i, right);
    vstore8(a < b, i, out);
    vstore8(select(a, b, a > b), N + i, out);
    vstore8(select(a, b, convert_ushort8(b)), 2 * N + i, out);
    vstore8((short8)(any(a), all(a), any(a > b), all(a > b), 1, 2, 3, 4), 3 * N + i, out);
    vstore8(a && b, 4 * N + i, out);
    vstore8(-a % (short8)(5), 5 * N + i, out);
}

kernel void scalars(global int *out, global const int *left, global const float *right) {
    size_t i = get_global_id(0);
    int a = left[i];
    float b = right[i];
    out[i] = select(a, 7, a > 3);
    out[N + i] = select(a, 9, (uint)0x40000000);
    out[2 * N + i] = as_int(select(b, 2.0f, a));
    out[3 * N + i] = any(a) | all(a) << 1;
}
