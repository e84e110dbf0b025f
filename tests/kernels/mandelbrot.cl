// A loop that every item leaves at another time.

kernel void mandelbrot(global uint *counts, float left, float top, float step, uint limit) {
    size_t column = get_global_id(0);
    size_t row = get_global_id(1);
    float re = left + step * column;
    float im = top + step * row;
    float x = 0.0f, y = 0.0f;
    uint count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        count++;
    }
    counts[row * get_global_size(0) + column] = count;
}
