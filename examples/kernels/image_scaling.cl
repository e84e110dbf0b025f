// A constant of the program: filtering, addressing, and the centre of a pixel.
constant sampler_t smooth = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
constant float2 middle = (float2)(0.5f, 0.5f);

// Each pixel of the target samples the source at the same relative position; the sampler interpolates between pixels.
kernel void scale(read_only image2d_t source, write_only image2d_t target, uint width, uint height) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 place = (convert_float2(at) + middle) / (float2)(width, height);
    write_imagef(target, at, read_imagef(source, smooth, place));
}

// The same with a sampler argument.
kernel void image_scaling(read_only image2d_t source, write_only image2d_t target, sampler_t sampler) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int2 size = get_image_dim(target);
    float2 place = (convert_float2(at) + 0.5f) / convert_float2(size);
    write_imagef(target, at, read_imagef(source, sampler, place));
}
