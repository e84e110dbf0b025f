// Kernels after programs of the HeCBench collection (Jin and Vetter, 2023), with the group sizes that those use.

// A block cipher by tables, as fast versions of AES are: four tables in local memory, ten rounds.
#define ROUNDS 10

kernel void table_cipher(global const uint4 *from, global uint4 *to, global const uint *tables, constant uint *keys) {
    local uint own[4][256];
    int t = get_local_id(0);
    for (int k = 0; k < 4; k++)
        own[k][t] = tables[k * 256 + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint4 s = from[get_global_id(0)];
    for (int round = 0; round < ROUNDS; round++) {
        uint4 next;
        next.x = own[0][s.x >> 24] ^ own[1][(s.y >> 16) & 255] ^ own[2][(s.z >> 8) & 255] ^ own[3][s.w & 255];
        next.y = own[0][s.y >> 24] ^ own[1][(s.z >> 16) & 255] ^ own[2][(s.w >> 8) & 255] ^ own[3][s.x & 255];
        next.z = own[0][s.z >> 24] ^ own[1][(s.w >> 16) & 255] ^ own[2][(s.x >> 8) & 255] ^ own[3][s.y & 255];
        next.w = own[0][s.w >> 24] ^ own[1][(s.x >> 16) & 255] ^ own[2][(s.y >> 8) & 255] ^ own[3][s.z & 255];
        s = next ^ (uint4)(keys[4 * round], keys[4 * round + 1], keys[4 * round + 2], keys[4 * round + 3]);
    }
    to[get_global_id(0)] = s;
}

// The middle one of nine neighbours, by exchanges.
#define ORDER(a, b)                                                                                                            \
    {                                                                                                                          \
        uchar lesser = min(a, b);                                                                                              \
        b = max(a, b);                                                                                                         \
        a = lesser;                                                                                                            \
    }

kernel void median_filter(global const uchar *from, global uchar *to, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uchar p[9];
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            p[dy * 3 + dx] = from[clamp(y + dy - 1, 0, height - 1) * width + clamp(x + dx - 1, 0, width - 1)];
    // Rows in order; then the largest of the least, the middle of the middle and the least of the largest.
    for (int row = 0; row < 9; row += 3) {
        ORDER(p[row], p[row + 1]);
        ORDER(p[row + 1], p[row + 2]);
        ORDER(p[row], p[row + 1]);
    }
    uchar low = max(max(p[0], p[3]), p[6]), high = min(min(p[2], p[5]), p[8]);
    ORDER(p[1], p[4]);
    ORDER(p[4], p[7]);
    ORDER(p[1], p[4]);
    uchar middle = p[4];
    ORDER(low, middle);
    ORDER(middle, high);
    ORDER(low, middle);
    to[y * width + x] = middle;
}

// Floyd and Warshall's shortest ways: one node more a launch.
kernel void floyd_warshall(global uint *distance, int n, int k) {
    int x = get_global_id(0), y = get_global_id(1);
    uint through = distance[y * n + k] + distance[k * n + x];
    if (through < distance[y * n + x])
        distance[y * n + x] = through;
}

// Softmax: a work-item for each row.
kernel void softmax(global const float *from, global float *to, int rows, int columns) {
    int row = get_global_id(0);
    if (row >= rows)
        return;
    global const float *own = from + row * columns;
    float most = own[0];
    for (int j = 1; j < columns; j++)
        most = fmax(most, own[j]);
    float sum = 0.0f;
    for (int j = 0; j < columns; j++)
        sum += exp(own[j] - most);
    for (int j = 0; j < columns; j++)
        to[row * columns + j] = exp(own[j] - most) / sum;
}

// Layer normalization: a group for each row, sums by a tree.
#define GROUP 256

static float total(local float *parts, int t, float value) {
    parts[t] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int apart = GROUP / 2; apart > 0; apart /= 2) {
        if (t < apart)
            parts[t] += parts[t + apart];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float found = parts[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return found;
}

kernel void layer_norm(global const float *from, global float *to, global const float *weight, global const float *bias, int columns) {
    local float parts[GROUP];
    int row = get_group_id(0), t = get_local_id(0);
    global const float *own = from + row * columns;
    float sum = 0.0f;
    for (int j = t; j < columns; j += GROUP)
        sum += own[j];
    float mean = total(parts, t, sum) / columns;
    float squares = 0.0f;
    for (int j = t; j < columns; j += GROUP)
        squares += (own[j] - mean) * (own[j] - mean);
    float scale = rsqrt(total(parts, t, squares) / columns + 1e-5f);
    for (int j = t; j < columns; j += GROUP)
        to[row * columns + j] = (own[j] - mean) * scale * weight[j] + bias[j];
}

// Attention: a group for each query; its weights of all keys stand in local memory.
kernel void attention(global const float *queries, global const float *keys, global const float *values, global float *to,
                      local float *weights, int count, int width) {
    local float parts[GROUP];
    int query = get_group_id(0), t = get_local_id(0);
    float most = -FLT_MAX;
    for (int k = t; k < count; k += GROUP) {
        float product = 0.0f;
        for (int j = 0; j < width; j++)
            product += queries[query * width + j] * keys[k * width + j];
        weights[k] = product * rsqrt((float)width);
        most = fmax(most, weights[k]);
    }
    parts[t] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int apart = GROUP / 2; apart > 0; apart /= 2) {
        if (t < apart)
            parts[t] = fmax(parts[t], parts[t + apart]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    most = parts[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int k = t; k < count; k += GROUP) {
        weights[k] = exp(weights[k] - most);
        sum += weights[k];
    }
    sum = total(parts, t, sum);
    for (int j = t; j < width; j += GROUP) {
        float result = 0.0f;
        for (int k = 0; k < count; k++)
            result += weights[k] * values[k * width + j];
        to[query * width + j] = result / sum;
    }
}

// Pi by chance: a generator of random numbers for each work-item.
kernel void monte_carlo(global const uint *seeds, global uint *hits, int draws) {
    uint state = seeds[get_global_id(0)], inside = 0;
    for (int i = 0; i < draws; i++) {
        float point[2];
        for (int k = 0; k < 2; k++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            point[k] = (state >> 8) * 0x1p-24f;
        }
        if (point[0] * point[0] + point[1] * point[1] < 1.0f)
            inside++;
    }
    hits[get_global_id(0)] = inside;
}
