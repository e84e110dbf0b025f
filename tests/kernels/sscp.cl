// Kernels as AdaptiveCpp's generic compiler (SSCP) hands them to a driver: local accessors are parts of one array in
// local memory that begins with zeros (`build` makes it so), and extensions are declared for what may turn up in
// optimised code, integers of odd widths above all.

typedef struct { uchar red, green, blue; } pixel;

// A reduction: the accessor behind the first 80 bytes of the array belongs to somebody else.
kernel void sscp_reduction(global int *sums, global const int *data) {
    local int memory[40];
    local int *scratch = memory + 20;
    size_t item = get_local_id(0);
    scratch[item] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t width = get_local_size(0); width > 1;) {
        size_t half_ = (width + 1) / 2;
        if (item + half_ < width)
            scratch[item] += scratch[item + half_];
        barrier(CLK_LOCAL_MEM_FENCE);
        width = half_;
    }
    if (item == 0)
        sums[get_group_id(0)] = scratch[0] + memory[0];
}

// Counts into local memory that nobody has cleared, in every group anew.
kernel void sscp_histogram(global int *counts, global const int *data) {
    local int bins[8];
    atomic_inc(&bins[data[get_global_id(0)] & 7]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) < 8)
        counts[get_group_id(0) * 8 + get_local_id(0)] = bins[get_local_id(0)];
}

// A structure of three bytes as one integer.
kernel void sscp_pixels(global uint *out, global const pixel *in) {
    size_t i = get_global_id(0);
    pixel p = in[i];
    unsigned _BitInt(24) packed = p.red | (uint)p.green << 8 | (uint)p.blue << 16;
    unsigned _BitInt(24) turned = (packed << 5) | (packed >> 19);
    out[i] = turned;
}

// Widths on both sides of a register, with signs.
kernel void sscp_widths(global long *out, global const int *in) {
    size_t i = get_global_id(0);
    _BitInt(40) narrow = (_BitInt(40))in[i] * 1000003;
    _BitInt(96) wide = ((_BitInt(96))in[i] << 60) * in[i];
    out[i] = (long)(narrow / 7) + (long)(wide >> 58) + (narrow < (_BitInt(40))0);
}
