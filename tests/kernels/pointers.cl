// Generic pointers, constant tables and variables of the program.

int sum(const int *from, int n) {
    int total = 0;
    for (int k = 0; k < n; k++)
        total += from[k];
    return total;
}

__attribute__((noinline)) void add(int *to, int value) { *to += value; }

kernel void any_space(global int *out, global int *from, local int *shared, global const int *kinds) {
    int kind = kinds[get_global_id(0)];
    size_t i = get_global_id(0), item = get_local_id(0);
    int own[3] = {1, 2, (int)i};
    shared[item] = (int)item;
    barrier(CLK_LOCAL_MEM_FENCE);
    int a = sum(from + i, 2), b = sum(shared, (int)item + 1), c = sum(own, 3);
    int *which = kind == 0 ? (int *)(from + i) : kind == 1 ? (int *)(shared + item) : &own[2];
    add(&out[i], a + b * 2 + c * 3 + *which * 5);
    add(&own[1], 7);
    out[i] += own[1];
}

kernel void spaces(global int *out, global int *from, local int *shared, global const int *kinds) {
    int kind = kinds[get_global_id(0)];
    size_t i = get_global_id(0);
    int own = 0;
    int *which = kind == 0 ? (int *)from : kind == 1 ? (int *)shared : &own;
    out[3 * i] = to_global(which) != 0;
    out[3 * i + 1] = to_local(which) != 0;
    out[3 * i + 2] = to_private(which) != 0;
}

constant int table[7] = {3, 1, 4, 1, 5, 9, 2};

typedef struct {
    float weight;
    int links[2];
} Node;

constant Node nodes[3] = {{1.5f, {1, 2}}, {2.5f, {0, 2}}, {4.0f, {1, 0}}};

constant char text[] = "kernels";

kernel void constants(global float *out, constant int *more) {
    size_t i = get_global_id(0);
    int at = table[i % 7] % 3;
    float total = nodes[at].weight;
    at = nodes[at].links[i & 1];
    total += nodes[at].weight * 10.0f;
    out[i] = total + text[i % 7] * 100.0f + more[(i + 3) % 5];
}

global int counter = 5;
global float curve[4] = {1.0f, 2.0f, 4.0f, 8.0f};
global int *global where_to = &counter;
global long untouched[3];

kernel void read_program(global float *out) {
    size_t i = get_global_id(0);
    out[i] = counter + curve[i & 3] + *where_to * 100 + untouched[i % 3];
}

// Launched several times: what a launch leaves in a variable of the program is there for the next.
kernel void count_launches(global int *out) {
    static global int launches = 40;
    if (get_global_id(0) == 0) {
        launches++;
        out[0] = launches;
    }
}
