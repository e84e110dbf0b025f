// Indices whose arithmetic wraps or changes sign: neighbours in number that are no neighbours in memory.

kernel void narrow(global uint *out, global const uint *from) {
    size_t i = get_global_id(0);
    uchar at = (uchar)(i + 200);
    out[i] = from[at];
}

kernel void unsigned_wrap(global uint *out, global const uint *from, uint base) {
    uint i = get_global_id(0);
    uint at = i + base;
    out[i] = from[at & 0xff];
    if (at < i)
        out[i] += 1000000;
}

kernel void below_zero(global int *out, global const int *from, int shift) {
    int i = get_global_id(0);
    int at = i - shift;
    out[i] = at >= 0 ? from[at] : -from[-at];
}

kernel void before_the_pointer(global int *out, global const int *from) {
    int i = get_global_id(0);
    global const int *middle = from + get_global_size(0);
    out[i] = middle[-1 - i] + middle[i - (int)get_global_size(0)];
}

kernel void strided(global int *out, global const int *from, int stride) {
    int i = get_global_id(0);
    out[i] = from[i * stride] + from[i * 2 + 1] + from[(i / 4) * 4] + from[i % 3];
}

kernel void wide_product(global ulong *out, uint factor) {
    uint i = get_global_id(0);
    uint narrow = i * factor;
    ulong wide = (ulong)i * factor;
    out[2 * i] = narrow;
    out[2 * i + 1] = wide;
}

kernel void backwards(global int *out, global const int *from, int n) {
    int i = get_global_id(0);
    out[n - 1 - i] = from[i];
}

kernel void two_dimensions(global int *out, global const int *from, int pitch) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * get_global_size(0) + x] = from[y * pitch + x] + from[x * pitch + y];
}

kernel void same_place(global int *out, global const int *from) {
    int i = get_global_id(0);
    int sum = 0;
    for (int k = 0; k < 5; k++)
        sum += from[k * 3] * (i - k);
    out[i] = sum;
    if (i == 7)
        out[get_global_size(0)] = sum;
}

kernel void pointers(global long *out, global int *from, int by) {
    int i = get_global_id(0);
    global int *a = from + i;
    global int *b = i & 1 ? from + by : from + 2 * i;
    out[4 * i] = b - a;
    out[4 * i + 1] = a < b;
    out[4 * i + 2] = a == b;
    out[4 * i + 3] = *(i & 2 ? a : b) + (long)((ulong)a - (ulong)from);
}
