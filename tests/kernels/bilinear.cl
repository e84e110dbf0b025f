// Scaling an image with bilinear interpolation, pixels' centres at halves, edges clamped: on buffers of both usual pixel
// types, and with image objects whose sampler does the arithmetic.

kernel void bilinear_uchar4(global uchar4 *to, global const uchar4 *from, int width, int height) {
    int x = get_global_id(0);
    int y = get_global_id(1);
    float u = (x + 0.5f) * width / get_global_size(0) - 0.5f;
    float v = (y + 0.5f) * height / get_global_size(1) - 0.5f;
    float left = floor(u), top = floor(v);
    float a = u - left, b = v - top;
    int x0 = clamp((int)left, 0, width - 1), x1 = clamp((int)left + 1, 0, width - 1);
    int y0 = clamp((int)top, 0, height - 1), y1 = clamp((int)top + 1, 0, height - 1);
    float4 upper = mix(convert_float4(from[y0 * width + x0]), convert_float4(from[y0 * width + x1]), a);
    float4 lower = mix(convert_float4(from[y1 * width + x0]), convert_float4(from[y1 * width + x1]), a);
    to[y * get_global_size(0) + x] = convert_uchar4_sat_rte(mix(upper, lower, b));
}

kernel void bilinear_float4(global float4 *to, global const float4 *from, int width, int height) {
    int x = get_global_id(0);
    int y = get_global_id(1);
    float u = (x + 0.5f) * width / get_global_size(0) - 0.5f;
    float v = (y + 0.5f) * height / get_global_size(1) - 0.5f;
    float left = floor(u), top = floor(v);
    float a = u - left, b = v - top;
    int x0 = clamp((int)left, 0, width - 1), x1 = clamp((int)left + 1, 0, width - 1);
    int y0 = clamp((int)top, 0, height - 1), y1 = clamp((int)top + 1, 0, height - 1);
    float4 upper = mix(from[y0 * width + x0], from[y0 * width + x1], a);
    float4 lower = mix(from[y1 * width + x0], from[y1 * width + x1], a);
    to[y * get_global_size(0) + x] = mix(upper, lower, b);
}

constant sampler_t smooth = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void bilinear_image(write_only image2d_t to, read_only image2d_t from) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 where = (convert_float2(at) + 0.5f) / convert_float2(get_image_dim(to));
    write_imagef(to, at, read_imagef(from, smooth, where));
}
