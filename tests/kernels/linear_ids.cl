// Kernels that number the elements of a matrix, or of an image with channels, by one id, and divide it.

kernel void product(global int *c, global const int *a, global const int *b, int m, int n, int k) {
    int i = get_global_id(0);
    if (i >= m * n)
        return;
    int row = i / n, column = i % n, sum = 0;
    for (int j = 0; j < k; j++)
        sum += a[row * k + j] * b[j * n + column];
    c[i] = sum;
}

kernel void transpose(global int *to, global const int *from, int width, int height) {
    int i = get_global_id(0);
    to[i % width * height + i / width] = from[i];
}

kernel void gather_columns(global int *to, global const int *from, int width, int height, int n) {
    int i = get_global_id(0);
    if (i < n)
        to[i] = from[i % height * width + i / height];
}

kernel void add_bias(global int *y, global const int *bias, int channels, int area, int n) {
    int i = get_global_id(0);
    if (i < n)
        y[i] += bias[i / area % channels];
}

kernel void convolve(global int *to, global const int *from, global const int *weights, int width, int height, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    int x = i % width, y = i / width % height, layer = i / (height * width), sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width)
                sum += weights[layer * 9 + dy * 3 + dx + 4] * from[(layer * height + y + dy) * width + x + dx];
    to[i] = sum;
}

kernel void differences(global long *to, global const int *from, ulong width, ulong height) {
    size_t i = get_global_id(0), row = i / width, column = i % width;
    to[i] = row + 1 < height ? from[i + width] - from[i] + (long)column : -1;
}

kernel void enlarge(global int *to, global const int *from, int width, int scale, uint n) {
    uint i = get_global_id(0);
    uint wide = (uint)width * (uint)scale;
    if (i < n)
        to[i] = from[i / wide / scale * width + i % wide / scale];
}

kernel void count_columns(global int *counts, global const uchar *data, int width, int n) {
    int i = get_global_id(0);
    if (i < n && data[i] > 99)
        atomic_add(&counts[i % width], data[i]);
}

// The bound comes behind an effect: every work-item counts.
kernel void late_bound(global int *to, global const int *from, int width, int n) {
    int i = get_global_id(0);
    to[i] = from[i] * 2 + i / width;
    if (i < n)
        to[i] += i % width;
}

// Two lengths, of which rows can have only one.
kernel void two_lengths(global int *to, global const int *a, global const int *b, int one, int other) {
    int i = get_global_id(0);
    to[i] = a[i % one] + b[i / one] + 3 * a[i % other];
}

// What it knows of the launch shows its dimensions.
kernel void knows_size(global int *to, int width) {
    int i = get_global_id(0);
    to[i] = i % width + (int)get_global_size(0) + (int)get_work_dim();
}

// Grid-stride loops: they have one iteration where there are as many work-items as elements.
kernel void strided_product(int count, global int *c, global const int *a, global const int *b, int n, int k) {
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        int row = i / n, column = i % n, sum = 0;
        for (int j = 0; j < k; j++)
            sum += a[row * k + j] * b[j * n + column];
        c[i] = sum;
    }
}

kernel void strided_bias(int count, global int *y, global const int *bias, int channels, int area) {
    for (int i = get_group_id(0) * get_local_size(0) + get_local_id(0); i < count; i += get_local_size(0) * get_num_groups(0))
        y[i] += bias[i / area % channels];
}

// A work-item reads in its second iteration what it has written in its first one.
kernel void strided_chain(int count, global int *y, int width, int step) {
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        y[i] += i >= step ? y[i - step] + i % width : i / width;
}

// Lengths that are constants, as in generated code, of several levels and in the forms that compilers give them.
kernel void fixed_levels(global int *to, global const int *from) {
    int i = get_global_id(0);
    if (i < 40 * 36 * 3)
        to[i] = from[i % 40 + i % (40 * 36) / 40 * 50] + 7 * (i / (40 * 36));
}

kernel void fixed_product(global int *c, global const int *a, global const int *b) {
    int i = get_global_id(0), sum = 0;
    for (int j = 0; j < 16; j++)
        sum += a[i / 64 * 16 + j] * b[j * 64 + i % 64];
    c[i] = sum;
}

kernel void fixed_transpose(global int *to, global const int *from) {
    int i = get_global_id(0);
    to[i] = from[i % 64 * 64 + i / 64];
}

kernel void fixed_channels(global int *to, global const int *from) {
    ulong i = get_global_id(0);
    to[i] = from[i % 3 * 500 + i / 3 % 50 * 4 + i / 150];
}

kernel void fixed_bytes(global int *to, global const int *from) {
    uint i = get_global_id(0);
    to[i] = from[(uchar)i] - from[i >> 8] + (int)(i & 960);
}

// Sums as lengths, also of members of a structure.
struct Frame {
    short unused;
    int width, pad, layers;
};

kernel void padded(global int *to, global const int *from, int width, int pad, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    int x = i % (width + 2 * pad) - pad, y = i / (width + 2 * pad) - pad;
    to[i] = x >= 0 && x < width && y >= 0 ? from[y * width + x] : -7;
}

kernel void framed(global int *to, global const int *from, struct Frame frame) {
    int i = get_global_id(0), layers = frame.layers;
    int wide = frame.width + 2 * frame.pad, rest = i % (wide * layers);
    to[i] = from[rest / wide * frame.width + rest % wide] + i / (wide * layers);
}

// An element of memory is updated in a loop.
kernel void updated(global int *c, global const int *a, global const int *b, int n, int k) {
    int i = get_global_id(0);
    for (int j = 0; j < k; j++)
        c[i] += a[i] * b[j * n + i % n] + i / n;
}
