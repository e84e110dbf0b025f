// Kernels after the descriptions of the Rodinia suite (Che et al., 2009), with its group sizes.

#define TILE 16

// HotSpot: heat in a chip, several steps in a tile whose margin shrinks by one with each.
kernel void hotspot(int steps, global const float *power, global const float *before, global float *after, int columns,
                    int rows, float pace, float rx, float ry, float rz) {
    local float now[TILE][TILE], source[TILE][TILE], next[TILE][TILE];
    const float ambient = 80.0f;
    int tx = get_local_id(0), ty = get_local_id(1), inner = TILE - 2 * steps;
    int x = inner * (int)get_group_id(0) - steps + tx, y = inner * (int)get_group_id(1) - steps + ty;
    bool inside = x >= 0 && x < columns && y >= 0 && y < rows;
    if (inside) {
        now[ty][tx] = before[y * columns + x];
        source[ty][tx] = power[y * columns + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int west = x > 0 ? tx - 1 : tx, east = x < columns - 1 ? tx + 1 : tx;
    int north = y > 0 ? ty - 1 : ty, south = y < rows - 1 ? ty + 1 : ty;
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = inside && tx > i && tx < TILE - 1 - i && ty > i && ty < TILE - 1 - i;
        if (computed) {
            float here = now[ty][tx];
            next[ty][tx] = here + pace * (source[ty][tx] + (now[south][tx] + now[north][tx] - 2.0f * here) / ry +
                                          (now[ty][east] + now[ty][west] - 2.0f * here) / rx + (ambient - here) / rz);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (computed)
            now[ty][tx] = next[ty][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed)
        after[y * columns + x] = now[ty][tx];
}

// HotSpot3D: each work-item walks through the layers.
kernel void hotspot3d(global const float *power, global const float *before, global float *after, float pace, int columns,
                      int rows, int layers, float across, float down, float through, float centre) {
    const float ambient = 80.0f;
    int x = get_global_id(0), y = get_global_id(1);
    int at = y * columns + x, layer = columns * rows;
    int west = x == 0 ? at : at - 1, east = x == columns - 1 ? at : at + 1;
    int north = y == 0 ? at : at - columns, south = y == rows - 1 ? at : at + columns;
    float below = before[at], here = before[at];
    for (int z = 0; z < layers; z++) {
        float above = z < layers - 1 ? before[at + layer] : here;
        after[at] = centre * here + across * (before[west] + before[east]) + down * (before[north] + before[south]) +
                    through * (below + above) + pace * power[at] + through * ambient;
        below = here;
        here = above;
        at += layer;
        west += layer;
        east += layer;
        north += layer;
        south += layer;
    }
}

// PathFinder: the cheapest way through a grid, row by row, several rows in a group's local memory.
#define LINE 256

kernel void pathfinder(int steps, global const int *wall, global int *costs, int columns, int first, int from) {
    local int previous[LINE], result[LINE];
    int t = get_local_id(0), inner = LINE - 2 * steps;
    int x = inner * (int)get_group_id(0) - steps + t;
    bool inside = x >= 0 && x < columns;
    int left = x > 0 ? t - 1 : t, right = x < columns - 1 ? t + 1 : t;
    if (inside)
        previous[t] = costs[from + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = inside && t > i && t < LINE - 1 - i;
        if (computed)
            result[t] = min(min(previous[left], previous[right]), previous[t]) + wall[(first + i) * columns + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (computed)
            previous[t] = result[t];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed)
        costs[columns - from + x] = previous[t];
}

// SRAD: the diffusion coefficients of an image stored by columns, neighbours by index lists.
kernel void srad(int rows, int columns, global const int *north, global const int *south, global const int *west,
                 global const int *east, global float *dn, global float *ds, global float *dw, global float *de, float q0,
                 global float *coefficient, global const float *image) {
    int at = get_global_id(0);
    if (at >= rows * columns)
        return;
    int row = at % rows, column = at / rows;
    float here = image[at];
    float n = image[north[row] + rows * column] - here, s = image[south[row] + rows * column] - here;
    float w = image[row + rows * west[column]] - here, e = image[row + rows * east[column]] - here;
    float gradient = (n * n + s * s + w * w + e * e) / (here * here), laplace = (n + s + w + e) / here;
    float over = 0.5f * gradient - laplace * laplace / 16.0f, under = 1.0f + 0.25f * laplace;
    float q = over / (under * under);
    float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
    dn[at] = n;
    ds[at] = s;
    dw[at] = w;
    de[at] = e;
    coefficient[at] = clamp(c, 0.0f, 1.0f);
}

// k-means: the nearest of some centres for each point; features are stored one after the other.
kernel void kmeans(global const float *features, global const float *centres, global int *membership, int points, int clusters,
                   int dimensions) {
    int point = get_global_id(0);
    if (point >= points)
        return;
    int index = 0;
    float least = FLT_MAX;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int f = 0; f < dimensions; f++) {
            float apart = features[f * points + point] - centres[c * dimensions + f];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            index = c;
        }
    }
    membership[point] = index;
}

// Back propagation: partial sums of a layer, 16 inputs a group, by a tree in local memory.
kernel void backprop(global const float *input, global const float *weights, global float *partial, local float *node,
                     local float *matrix, int hidden) {
    int tx = get_local_id(0), ty = get_local_id(1), by = get_group_id(1);
    int index = (hidden + 1) * (TILE * by + ty + 1) + tx + 1;
    if (tx == 0)
        node[ty] = input[TILE * by + ty + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    matrix[ty * TILE + tx] = weights[index] * node[ty];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int apart = 1; apart < TILE; apart *= 2) {
        if (ty % (2 * apart) == 0)
            matrix[ty * TILE + tx] += matrix[(ty + apart) * TILE + tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tx == 0)
        partial[by * hidden + ty] = matrix[ty];
}

// Gaussian elimination: one column a launch; the first dimension goes down the rows.
kernel void gaussian(global float *a, global float *b, int n, int t) {
    int i = get_global_id(0) + t + 1, j = get_global_id(1) + t + 1;
    if (i >= n || j > n)
        return;
    float factor = a[i * n + t] / a[t * n + t];
    if (j < n)
        a[i * n + j] -= factor * a[t * n + j];
    else
        b[i] -= factor * b[t];
}

// Needleman-Wunsch: blocks of 16×16 along a diagonal, each by 16 work-items.
kernel void needleman(global int *score, global const int *similarity, int n, int penalty, int diagonal) {
    local int cell[TILE + 1][TILE + 1], gain[TILE][TILE];
    int blocks = n / TILE, group = get_group_id(0), t = get_local_id(0), wide = n + 1;
    if (group > min(diagonal, 2 * blocks - 2 - diagonal))
        return;
    int bx = max(0, diagonal - blocks + 1) + group, by = diagonal - bx;
    int corner = by * TILE * wide + bx * TILE;
    for (int y = 0; y < TILE; y++)
        gain[y][t] = similarity[(by * TILE + y) * n + bx * TILE + t];
    cell[0][t + 1] = score[corner + t + 1];
    cell[t + 1][0] = score[corner + (t + 1) * wide];
    if (t == 0)
        cell[0][0] = score[corner];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int front = 0; front < 2 * TILE - 1; front++) {
        int y = front - t;
        if (y >= 0 && y < TILE)
            cell[y + 1][t + 1] = max(cell[y][t] + gain[y][t], max(cell[y + 1][t], cell[y][t + 1]) - penalty);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int y = 0; y < TILE; y++)
        score[corner + (y + 1) * wide + t + 1] = cell[y + 1][t + 1];
}

// Breadth-first search: one level a launch.
kernel void bfs(global const int *starts, global const int *edges, global int *distance, int nodes, int level) {
    int node = get_global_id(0);
    if (node >= nodes || distance[node] != level)
        return;
    for (int k = starts[node]; k < starts[node + 1]; k++) {
        int next = edges[k];
        if (distance[next] < 0)
            distance[next] = level + 1;
    }
}

// CFD: the flux of the Euler equations through the four faces of a cell.
#define GAMMA 1.4f
#define WALL -1
#define FAR -2

typedef struct {
    float density, energy, pressure, sound, speed;
    float3 momentum, velocity;
} cell_state;

static cell_state derived(float density, float3 momentum, float energy) {
    cell_state s;
    s.density = density;
    s.momentum = momentum;
    s.energy = energy;
    s.velocity = momentum / density;
    float square = dot(s.velocity, s.velocity);
    s.speed = sqrt(square);
    s.pressure = (GAMMA - 1.0f) * (energy - 0.5f * density * square);
    s.sound = sqrt(GAMMA * s.pressure / density);
    return s;
}

static cell_state loaded(global const float *v, int i, int n) {
    return derived(v[i], (float3)(v[i + n], v[i + 2 * n], v[i + 3 * n]), v[i + 4 * n]);
}

kernel void cfd(int cells, global const int *neighbours, global const float *normals, global const float *variables,
                constant float *far, global float *fluxes) {
    const float smoothing = 0.2f;
    int i = get_global_id(0);
    cell_state here = loaded(variables, i, cells);
    cell_state away = derived(far[0], (float3)(far[1], far[2], far[3]), far[4]);
    float mass = 0.0f, energy = 0.0f;
    float3 momentum = (float3)(0.0f);
    for (int k = 0; k < 4; k++) {
        int other = neighbours[k * cells + i];
        float3 normal = (float3)(normals[(3 * k) * cells + i], normals[(3 * k + 1) * cells + i], normals[(3 * k + 2) * cells + i]);
        if (other == WALL) {
            momentum += normal * here.pressure;
            continue;
        }
        cell_state there = away;
        if (other >= 0) {
            there = loaded(variables, other, cells);
            float factor = -sqrt(dot(normal, normal)) * smoothing * 0.5f * (here.speed + there.speed + here.sound + there.sound);
            mass += factor * (here.density - there.density);
            energy += factor * (here.energy - there.energy);
            momentum += factor * (here.momentum - there.momentum);
        }
        float3 half_normal = 0.5f * normal;
        float in = dot(half_normal, here.velocity), out = dot(half_normal, there.velocity);
        mass += dot(half_normal, here.momentum + there.momentum);
        energy += in * (here.energy + here.pressure) + out * (there.energy + there.pressure);
        momentum += in * here.momentum + out * there.momentum + half_normal * (here.pressure + there.pressure);
    }
    fluxes[i] = mass;
    fluxes[i + cells] = momentum.x;
    fluxes[i + 2 * cells] = momentum.y;
    fluxes[i + 3 * cells] = momentum.z;
    fluxes[i + 4 * cells] = energy;
}

// LavaMD: particles act on those of their own box and of the boxes around it; a group for each box.
#define PARTICLES 100
#define CROWD 128

kernel void lavamd(float decay, global const int *counts, global const int *lists, global const float4 *positions,
                   global const float *charges, global float4 *forces) {
    local float4 mine[PARTICLES], theirs[PARTICLES];
    local float charge[PARTICLES];
    int box = get_group_id(0), t = get_local_id(0);
    if (t < PARTICLES)
        mine[t] = positions[box * PARTICLES + t];
    float4 sum = (float4)(0.0f);
    for (int k = 0; k < counts[box]; k++) {
        int other = lists[27 * box + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < PARTICLES) {
            theirs[t] = positions[other * PARTICLES + t];
            charge[t] = charges[other * PARTICLES + t];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < PARTICLES)
            for (int j = 0; j < PARTICLES; j++) {
                float3 apart = mine[t].xyz - theirs[j].xyz;
                float potential = exp(-decay * dot(apart, apart));
                sum.w += charge[j] * potential;
                sum.xyz += charge[j] * 2.0f * potential * apart;
            }
    }
    if (t < PARTICLES)
        forces[box * PARTICLES + t] = sum;
}
