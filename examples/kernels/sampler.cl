kernel void look(read_only image2d_t image, sampler_t sampler, global const float2 *places, global float *out) {
    size_t i = get_global_id(0);
    out[i] = read_imagef(image, sampler, places[i]).x;
}
