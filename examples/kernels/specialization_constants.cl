// How OpenCL C names specialization constants: their number and the value they have unless told otherwise.
int __attribute__((overloadable)) __spirv_SpecConstant(int number, int otherwise);
float __attribute__((overloadable)) __spirv_SpecConstant(int number, float otherwise);

kernel void polynomial(global float *y, global const float *x) {
    size_t i = get_global_id(0);
    float sum = 0;
    for (int term = 0; term < __spirv_SpecConstant(0, 2); ++term)
        sum = sum * x[i] + __spirv_SpecConstant(1, 1.0f);
    y[i] = sum;
}
