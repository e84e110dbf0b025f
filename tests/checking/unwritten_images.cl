// Kernels that read texels which nothing has written, each on the line whose comment names it; those that are right begin with
// `right_`.
#define BLOCKS __attribute__((intel_reqd_sub_group_size(16))) kernel void

// Of Intel's extensions, which clang has no declarations of.
uint2 __attribute__((overloadable, convergent)) intel_sub_group_block_read2(read_only image2d_t, int2);
void __attribute__((overloadable, convergent)) intel_sub_group_block_write2(write_only image2d_t, int2, uint2);

constant sampler_t near = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
constant sampler_t bordered = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
constant sampler_t wrapping = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;

kernel void of_a_new_image(read_only image2d_t from, global float4 *out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.x + 4 * at.y] = read_imagef(from, at) * 2.0f;  // of_a_new_image
}

kernel void of_the_lower_rows(read_only image2d_t from, global float4 *out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.x + 4 * at.y] = read_imagef(from, near, at) + 1.0f;  // of_the_lower_rows
}

kernel void of_the_other_kernel(read_only image2d_t from, global int *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int2)(x, 1)).x > 3;  // of_the_other_kernel
}

kernel void decides_a_branch(read_only image2d_t from, global int *out) {
    int x = get_global_id(0);
    if (read_imagef(from, (int2)(x, 0)).x > 0)  // decides_a_branch
        out[x] = 1;
}

kernel void is_an_index(read_only image2d_t from, global int *out) {
    int x = get_global_id(0);
    out[read_imageui(from, (int2)(x, 0)).x & 15] = x;  // is_an_index
}

kernel void of_a_layer(read_only image2d_array_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int4)(x, 1, 2, 0)) + 1;  // of_a_layer
}

kernel void of_a_slice(read_only image3d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int4)(x, 2, 1, 0)) + 1;  // of_a_slice
}

kernel void of_a_line(read_only image1d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, x) + 1;  // of_a_line
}

kernel void of_a_line_of_many(read_only image1d_array_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int2)(x, 1)) + 1;  // of_a_line_of_many
}

kernel void of_a_buffer(read_only image1d_buffer_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, x) + 1;  // of_a_buffer
}

kernel void blends_rows(read_only image2d_t from, global float4 *out) {
    int x = get_global_id(0);
    out[x] = read_imagef(from, bordered, (float2)(x + 0.5f, 1.75f));  // blends_rows
}

kernel void wraps_around(read_only image2d_t from, global float4 *out) {
    int x = get_global_id(0);
    out[x] = read_imagef(from, wrapping, (float2)((x + 0.5f) / 4, 0.0f));  // wraps_around
}

kernel void through_a_view(read_only image2d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int2)(x, 2)) + 1;  // through_a_view
}

kernel void over_a_buffer(read_only image2d_t from, global uint4 *out) {
    int x = get_global_id(0);
    out[x] = read_imageui(from, (int2)(x, 1)) + 1;  // over_a_buffer
}

BLOCKS of_a_block(read_only image2d_t from, global uint2 *out) {
    out[get_global_id(0)] = intel_sub_group_block_read2(from, (int2)(0, 1)) + 1;  // of_a_block
}

// Right ones

kernel void right_write(write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, (uint4)(at.x, at.y, 0, 1));
}

kernel void right_read(read_only image2d_t from, global uint4 *out) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[at.x + 4 * at.y] = read_imageui(from, at) * 2;
}

kernel void right_copy(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, read_imageui(from, at));
}

kernel void right_in_place(read_write image2d_t image) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(image, at, (uint4)(at.x));
    atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_work_item);
    write_imageui(image, at, read_imageui(image, at) * 2);
}

// Of an image whose two upper rows are written: centres of texels, the border, and beyond the edge.
kernel void right_sampling(read_only image2d_t from, global float4 *out) {
    int x = get_global_id(0);
    float4 sum = read_imagef(from, bordered, (float2)(x + 0.5f, 1.5f));
    sum += read_imagef(from, bordered, (float2)(x - 0.25f, 0.1f));
    sum += read_imagef(from, bordered, (float2)(x + 0.5f, 1.5f + 0x1p-10f));
    sum += read_imagef(from, near, (float2)(x + 9.0f, -3.0f));
    out[x] = sum + 1.0f;
}

BLOCKS right_write_block(write_only image2d_t to) {
    intel_sub_group_block_write2(to, (int2)(0, 0), (uint2)(get_global_id(0), 7));
}

BLOCKS right_read_block(read_only image2d_t from, global uint2 *out) {
    out[get_global_id(0)] = intel_sub_group_block_read2(from, (int2)(0, 0)) + 1;
}

BLOCKS right_move_block(read_only image2d_t from, write_only image2d_t to) {
    intel_sub_group_block_write2(to, (int2)(0, 2), intel_sub_group_block_read2(from, (int2)(0, 2)));
}
