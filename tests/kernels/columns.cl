// Lanes far apart, rows side by side: what a work-item reads or writes lies beside that of the row below.

kernel void store_column(global float *to, global const float *from, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        to[x * height + y] = from[y * width + x];
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
