// Images of every shape: read with and without a sampler, written, asked about themselves.

#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable

// Every pixel once, as four components.
kernel void read_floats(global float4 *out, read_only image2d_t from) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[get_global_linear_id()] = read_imagef(from, at);
}

kernel void read_signed(global int4 *out, read_only image2d_t from) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[get_global_linear_id()] = read_imagei(from, at);
}

kernel void read_unsigned(global uint4 *out, read_only image2d_t from) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[get_global_linear_id()] = read_imageui(from, at);
}

kernel void write_floats(write_only image2d_t to, global const float4 *from) {
    write_imagef(to, (int2)(get_global_id(0), get_global_id(1)), from[get_global_linear_id()]);
}

kernel void write_signed(write_only image2d_t to, global const int4 *from) {
    write_imagei(to, (int2)(get_global_id(0), get_global_id(1)), from[get_global_linear_id()]);
}

kernel void write_unsigned(write_only image2d_t to, global const uint4 *from) {
    write_imageui(to, (int2)(get_global_id(0), get_global_id(1)), from[get_global_linear_id()]);
}

kernel void sample(global float4 *out, read_only image2d_t from, sampler_t sampler, global const float2 *at) {
    out[get_global_id(0)] = read_imagef(from, sampler, at[get_global_id(0)]);
}

kernel void sample_whole(global int4 *out, read_only image2d_t from, sampler_t sampler, global const int2 *at) {
    out[get_global_id(0)] = read_imagei(from, sampler, at[get_global_id(0)]);
}

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
constant sampler_t smooth = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

// Two samplers of the program, and a choice between them that differs from item to item.
kernel void own_samplers(global float4 *out, read_only image2d_t from, global const float2 *at) {
    size_t i = get_global_id(0);
    float4 a = read_imagef(from, nearest, at[i]);
    if (i & 1)
        a += read_imagef(from, smooth, at[i]);
    out[i] = a;
}

kernel void one_dimension(global float4 *out, read_only image1d_t from, write_only image1d_t to) {
    int i = get_global_id(0);
    float4 pixel = read_imagef(from, nearest, i);
    out[i] = pixel;
    write_imagef(to, (int)get_global_size(0) - 1 - i, pixel * 2.0f);
}

kernel void on_a_buffer(write_only image1d_buffer_t to, read_only image1d_buffer_t from) {
    int i = get_global_id(0);
    write_imagei(to, i, read_imagei(from, (int)get_global_size(0) - 1 - i) + 1);
}

kernel void three_dimensions(global float4 *out, read_only image3d_t from, write_only image3d_t to) {
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    float4 pixel = read_imagef(from, nearest, at);
    out[get_global_linear_id()] = pixel;
    write_imagef(to, (int4)(get_global_size(0) - 1 - at.x, at.y, at.z, 0), -pixel);
}

kernel void layers(global uint4 *out, read_only image2d_array_t from, write_only image2d_array_t to) {
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    uint4 pixel = read_imageui(from, at);
    out[get_global_linear_id()] = pixel;
    write_imageui(to, (int4)(at.x, at.y, get_global_size(2) - 1 - at.z, 0), pixel + 1);
}

kernel void rows_of_layers(global uint4 *out, read_only image1d_array_t from) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    out[get_global_linear_id()] = read_imageui(from, at);
}

kernel void sample_volume(global float4 *out, read_only image3d_t from, sampler_t sampler, global const float4 *at) {
    out[get_global_id(0)] = read_imagef(from, sampler, at[get_global_id(0)]);
}

kernel void read_and_write(read_write image2d_t image) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    uint4 pixel = read_imageui(image, at);
    atomic_work_item_fence(CLK_IMAGE_MEM_FENCE, memory_order_acq_rel, memory_scope_work_item);
    write_imageui(image, at, pixel * 2 + (uint4)(at.x, at.y, 0, 1));
}

kernel void questions(global int *out, read_only image2d_t flat, read_only image3d_t deep, read_only image2d_array_t many,
                      read_only image1d_t line) {
    out[0] = get_image_width(flat);
    out[1] = get_image_height(flat);
    out[2] = get_image_channel_data_type(flat) == CLK_UNORM_INT8;
    out[3] = get_image_channel_order(flat) == CLK_RGBA;
    vstore2(get_image_dim(flat), 2, out);
    vstore4(get_image_dim(deep), 1, out + 2);
    out[10] = get_image_depth(deep);
    out[11] = get_image_channel_data_type(deep) == CLK_FLOAT;
    out[12] = (int)get_image_array_size(many);
    out[13] = get_image_width(many);
    out[14] = get_image_width(line);
    out[15] = get_image_channel_order(line) == CLK_R;
}

// Only some items read or write.
kernel void divergent(write_only image2d_t to, read_only image2d_t from) {
    int x = get_global_id(0), y = get_global_id(1);
    if ((x ^ y) & 1)
        return;
    float4 pixel = (float4)(0.25f);
    for (int k = 0; k < x; k++)
        pixel = max(pixel, read_imagef(from, (int2)(k, y)));
    write_imagef(to, (int2)(x, y), pixel);
}
