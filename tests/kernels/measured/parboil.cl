// Kernels after the descriptions of the Parboil suite (Stratton et al., 2012), with its group sizes.

// Stencil: seven points, one work-item for each.
kernel void stencil(float centre, float around, global const float *from, global float *to, int nx, int ny, int nz) {
    int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1;
    if (x >= nx - 1 || y >= ny - 1)
        return;
    int at = x + nx * (y + ny * z), layer = nx * ny;
    to[at] = around * (from[at + 1] + from[at - 1] + from[at + nx] + from[at - nx] + from[at + layer] + from[at - layer]) -
             centre * from[at];
}

// SGEMM: sixteen columns of a row for each work-item in registers, a tile of the second matrix in local memory.
#define COLUMNS 16
#define DEPTH 8
#define ROWS (COLUMNS * DEPTH)

kernel void sgemm(global const float *a, int lda, global const float *b, int ldb, global float *c, int ldc, int k, float alpha,
                  float beta) {
    local float tile[DEPTH][COLUMNS];
    float sums[COLUMNS];
    int lx = get_local_id(0), ly = get_local_id(1);
    int row = get_group_id(0) * ROWS + ly * COLUMNS + lx, column = get_group_id(1) * COLUMNS;
    for (int i = 0; i < COLUMNS; i++)
        sums[i] = 0.0f;
    for (int begin = 0; begin < k; begin += DEPTH) {
        tile[ly][lx] = b[column + lx + (begin + ly) * ldb];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < DEPTH; j++) {
            float left = a[row + (begin + j) * lda];
            for (int i = 0; i < COLUMNS; i++)
                sums[i] += left * tile[j][i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < COLUMNS; i++) {
        int at = row + (column + i) * ldc;
        c[at] = c[at] * beta + alpha * sums[i];
    }
}

// MRI-Q: for each voxel a sum over all samples.
kernel void mri_q(global const float *x, global const float *y, global const float *z, global float *real, global float *imaginary,
                  constant float4 *samples, int count) {
    int i = get_global_id(0);
    float px = x[i], py = y[i], pz = z[i], re = real[i], im = imaginary[i];
    for (int k = 0; k < count; k++) {
        float4 sample = samples[k];
        float angle = 6.2831853071795864769f * (sample.x * px + sample.y * py + sample.z * pz);
        re += sample.w * cos(angle);
        im += sample.w * sin(angle);
    }
    real[i] = re;
    imaginary[i] = im;
}

// SAD: how far a block of 16×16 pixels is from every place of a window around it.
#define BLOCK 16

kernel void sad(global const uchar *frame, global const uchar *reference, global uint *sums, int width, int reach, int across) {
    int side = 2 * reach + 1, place = get_global_id(0), block = get_global_id(1);
    if (place >= side * side)
        return;
    int x = block % across * BLOCK, y = block / across * BLOCK;
    // The reference has a margin as wide as the window reaches.
    int wide = width + 2 * reach;
    global const uchar *own = frame + y * width + x;
    global const uchar *other = reference + (y + place / side) * wide + x + place % side;
    uint sum = 0;
    for (int row = 0; row < BLOCK; row++)
        for (int column = 0; column < BLOCK; column++)
            sum += abs_diff((int)own[row * width + column], (int)other[row * wide + column]);
    sums[block * side * side + place] = sum;
}

// TPACF: a histogram of the angles between all pairs of points, the bin by binary search.
#define BINS 32

kernel void tpacf(global const float *x, global const float *y, global const float *z, constant float *bounds, global uint *bins,
                  int points) {
    local uint own[BINS];
    int t = get_local_id(0), i = get_group_id(0);
    if (t < BINS)
        own[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = i + 1 + t; j < points; j += get_local_size(0)) {
        float cosine = x[i] * x[j] + y[i] * y[j] + z[i] * z[j];
        int low = 0, high = BINS;
        while (high > low + 1) {
            int middle = (low + high) / 2;
            if (cosine >= bounds[middle])
                high = middle;
            else
                low = middle;
        }
        atomic_inc(&own[low]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < BINS && own[t])
        atomic_add(&bins[t], own[t]);
}
