// Arrays that belong to one item, indexed by what is only known at run time.

kernel void sorted(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int own[8];
    for (int k = 0; k < 8; k++)
        own[k] = from[i * 8 + k];
    for (int k = 1; k < 8; k++) {
        int value = own[k];
        int at = k;
        while (at > 0 && own[at - 1] > value) {
            own[at] = own[at - 1];
            at--;
        }
        own[at] = value;
    }
    for (int k = 0; k < 8; k++)
        out[i * 8 + k] = own[k];
}

kernel void looked_up(global float *out, global const int *which) {
    float table[5] = {1.0f, -2.0f, 4.5f, 8.0f, 0.25f};
    size_t i = get_global_id(0);
    int k = which[i] % 5;
    table[k] += i;
    out[i] = table[(k + 1) % 5] + table[k];
}

kernel void two_dimensions(global int *out, global const int *which) {
    size_t i = get_global_id(0);
    int grid[4][3];
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 3; column++)
            grid[row][column] = row * 10 + column + (int)i;
    int at = which[i];
    grid[at & 3][at % 3] = -1;
    int sum = 0;
    for (int row = 0; row < 4; row++)
        sum = sum * 3 + grid[row][(at + row) % 3];
    out[i] = sum;
}

kernel void pointer_to_one_of(global int *out, global const int *which) {
    size_t i = get_global_id(0);
    int even[2] = {10, 20};
    int odd[2] = {30, 40};
    int *chosen = which[i] & 1 ? odd : even;
    chosen[which[i] >> 1 & 1] += (int)i;
    out[i] = even[0] + 2 * even[1] + 3 * odd[0] + 4 * odd[1];
}

kernel void bytes_of(global uint *out, global const uint *from) {
    size_t i = get_global_id(0);
    uchar bytes[8];
    *(uint *)bytes = from[i];
    *(uint *)(bytes + 4) = ~from[i];
    uchar swap = bytes[i & 7];
    bytes[i & 7] = bytes[7 - (i & 7)];
    bytes[7 - (i & 7)] = swap;
    out[2 * i] = *(uint *)bytes;
    out[2 * i + 1] = *(uint *)(bytes + 4);
}
