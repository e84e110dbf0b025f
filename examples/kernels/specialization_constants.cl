// Specialization constants in OpenCL C: their id and default value.
int __attribute__((overloadable)) __spirv_SpecConstant(int number, int otherwise);
float __attribute__((overloadable)) __spirv_SpecConstant(int number, float otherwise);

kernel void polynomial(global float *y, global const float *x) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int term = 0; term < __spirv_SpecConstant(0, 2); ++term)
        sum = sum * x[i] + __spirv_SpecConstant(1, 1.0f);
    y[i] = sum;
}

// Its group size is three of them, too: `build` patches the SPIR-V, because OpenCL C cannot express it.
kernel __attribute__((reqd_work_group_size(8, 4, 1))) void groups(global int4 *out) {
    out[get_global_linear_id()] =
        (int4)(__spirv_SpecConstant(2, 8) * __spirv_SpecConstant(3, 4) * __spirv_SpecConstant(4, 1),
               get_local_size(0), get_local_size(1), get_local_size(2));
}
