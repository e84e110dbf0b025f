// Each pixel of the target takes what lies at the same place of the source, which the sampler makes up between pixels.
kernel void image_scaling(read_only image2d_t source, write_only image2d_t target, sampler_t sampler) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    int2 size = get_image_dim(target);
    float2 place = (convert_float2(at) + 0.5f) / convert_float2(size);
    write_imagef(target, at, read_imagef(source, sampler, place));
}
