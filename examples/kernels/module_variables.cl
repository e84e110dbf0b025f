global int launches = 0;
global float table[4] = {1, 10, 100, 1000};

kernel void look_up(global float *values) {
    size_t i = get_global_id(0);
    values[i] *= table[i % 4];
    if (i == 0)
        launches++;
}
