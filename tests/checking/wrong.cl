// Kernels with one mistake each, on the line whose comment names them; those that are right begin with `right_`.
#pragma OPENCL EXTENSION cl_khr_local_int32_base_atomics : enable

// Global memory

kernel void one_too_many(global int *a) {
    a[get_global_id(0) + 1] = 1;  // one_too_many
}

kernel void negative_index(global int *a, global int *b) {
    int i = get_global_id(0);
    b[i] = a[i - 1];  // negative_index
}

kernel void vector_over_the_end(global float *a, global float4 *b) {
    size_t i = get_global_id(0);
    b[i] = vload4(0, a + i);  // vector_over_the_end
}

kernel void bytes_over_the_end(global char *a) {
    ((global long *)a)[get_global_id(0)] = 7;  // bytes_over_the_end
}

kernel void index_from_memory(global int *a, global const int *index) {
    size_t i = get_global_id(0);
    a[index[i]] = 1;  // index_from_memory
}

kernel void null_argument(global int *a, global int *b) {
    size_t i = get_global_id(0);
    b[i] = a[i];  // null_argument
}

kernel void small_address(global int *b, ulong address) {
    b[get_global_id(0)] = *(global int *)address;  // small_address
}

kernel void after_free(global int *a, global int *b) {
    b[get_global_id(0)] = a[get_global_id(0)];  // after_free
}

typedef struct {
    int key;
    int values[3];
} item_t;

kernel void behind_the_last_structure(global item_t *items, global int *out) {
    size_t i = get_global_id(0);
    out[i] = items[i].values[2];  // behind_the_last_structure
}

kernel void other_buffer(global int *a, global int *b) {
    a[16 + get_global_id(0)] = b[get_global_id(0)];  // other_buffer
}

// Alignment and constants

kernel void misaligned_read(global char *a, global int *b) {
    b[get_global_id(0)] = *(global int *)(a + 4 * get_global_id(0) + 1);  // misaligned_read
}

kernel void misaligned_atomic(global char *a) {
    atomic_inc((global int *)(a + 2));  // misaligned_atomic
}

constant int table[4] = {1, 2, 3, 4};

kernel void changed_constant(global int *a) {
    *(global int *)(ulong)&table[a[0]] = 5;  // changed_constant
}

kernel void behind_a_constant(global int *a) {
    size_t i = get_global_id(0);
    a[i] = table[i];  // behind_a_constant
}

// Local and private memory

kernel void local_over_the_end(global int *a) {
    local int tile[8];
    int own = get_local_id(0);
    tile[own + 1] = a[own];  // local_over_the_end
    barrier(CLK_LOCAL_MEM_FENCE);
    a[own] = tile[own];
}

kernel void local_before_the_begin(global int *a) {
    local int tile[8];
    int own = get_local_id(0);
    tile[own] = a[own];
    barrier(CLK_LOCAL_MEM_FENCE);
    a[own] = tile[own - 1];  // local_before_the_begin
}

kernel void small_local_argument(global int *a, local int *tile) {
    int own = get_local_id(0);
    tile[own] = a[own];  // small_local_argument
    barrier(CLK_LOCAL_MEM_FENCE);
    if (own < 6)
        a[own] = tile[5 - own];
}

kernel void local_atomic(global int *a) {
    local int bins[4];
    int own = get_local_id(0);
    if (own < 4)
        bins[own] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(&bins[a[own]]);  // local_atomic
    barrier(CLK_LOCAL_MEM_FENCE);
    if (own < 4)
        a[own] = bins[own];
}

kernel void private_over_the_end(global int *a, int n) {
    int own[4] = {1, 2, 3, 4};
    size_t i = get_global_id(0);
    for (int k = 0; k < n; ++k)
        own[k] = a[i];  // private_over_the_end
    a[i] = own[0] + own[3];
}

// Copies of a group

kernel void async_from_too_little(global int *a, global int *b) {
    local int tile[16];
    event_t done = async_work_group_copy(tile, a, 16, 0);  // async_from_too_little
    wait_group_events(1, &done);
    b[get_local_id(0)] = tile[get_local_id(0)];
}

kernel void async_to_too_little(global int *a, global int *b) {
    local int tile[8];
    event_t done = async_work_group_copy(tile, a, 16, 0);  // async_to_too_little
    wait_group_events(1, &done);
    b[get_local_id(0)] = tile[get_local_id(0)];
}

// Images

kernel void column_behind(write_only image2d_t to) {
    write_imageui(to, (int2)(get_global_id(0), get_global_id(1)), (uint4)(1));  // column_behind
}

kernel void row_before(read_only image2d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int2)(x, x - 1));  // row_before
}

constant sampler_t without_mode = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
constant sampler_t clamping = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void no_address_mode(read_only image2d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, without_mode, (float2)(x + 1.5f, 0.5f));  // no_address_mode
}

kernel void slice_behind(write_only image3d_t to) {
    int x = get_global_id(0);
    write_imageui(to, (int4)(x, 0, x, 0), (uint4)(1));  // slice_behind
}

kernel void layer_behind(write_only image2d_array_t to) {
    int x = get_global_id(0);
    write_imageui(to, (int4)(x, 0, x, 0), (uint4)(1));  // layer_behind
}

kernel void texel_of_a_line(read_only image1d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, 2 * x);  // texel_of_a_line
}

kernel void right_clamped(read_only image2d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, clamping, (int2)(x - 1, x + 1));
}

kernel void right_image(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x < get_image_width(from) && at.y < get_image_height(from))
        write_imageui(to, at, read_imageui(from, at));
}
