// A 5×5 stencil whose coordinates are clamped everywhere although only the edge needs it.

#define REACH 2

kernel void convolve(global float *to, global const float *from, constant float *weights, int width, int height) {
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = -REACH; dy <= REACH; dy++)
        for (int dx = -REACH; dx <= REACH; dx++) {
            int column = clamp(x + dx, 0, width - 1);
            int row = clamp(y + dy, 0, height - 1);
            sum += weights[(dy + REACH) * (2 * REACH + 1) + dx + REACH] * from[row * width + column];
        }
    to[y * width + x] = sum;
}
