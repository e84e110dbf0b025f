// Atomic operations, on global and local memory.

#define ALL(NAME, T, SPACE, ADD, SUB, XCHG, INC, DEC, CMPXCHG, MIN, MAX, AND, OR, XOR)                                 \
    void NAME(SPACE volatile T *cells, T x, int i) {                                                                   \
        ADD(&cells[0], x);                                                                                             \
        SUB(&cells[1], x);                                                                                             \
        MIN(&cells[2], x);                                                                                             \
        MAX(&cells[3], x);                                                                                             \
        AND(&cells[4], ~((T)1 << (i % 32)));                                                                           \
        OR(&cells[5], (T)1 << (i % 32));                                                                               \
        XOR(&cells[6], x);                                                                                             \
        INC(&cells[7]);                                                                                                \
        DEC(&cells[8]);                                                                                                \
        CMPXCHG(&cells[9], (T)5, (T)77);                                                                               \
        if (i == 3)                                                                                                    \
            XCHG(&cells[10], x);                                                                                       \
    }

#define OLD(NAME, T, SPACE, P)                                                                                         \
    ALL(NAME, T, SPACE, P##_add, P##_sub, P##_xchg, P##_inc, P##_dec, P##_cmpxchg, P##_min, P##_max, P##_and, P##_or,  \
        P##_xor)

OLD(on_global_int, int, global, atomic)
OLD(on_local_uint, uint, local, atomic)

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
OLD(on_global_long, long, global, atom)
OLD(on_local_ulong, ulong, local, atom)

kernel void global_int(global int *cells, global const int *from) {
    int i = get_global_id(0);
    on_global_int(cells, from[i], i);
}

kernel void global_long(global long *cells, global const long *from) {
    int i = get_global_id(0);
    on_global_long(cells, from[i], i);
}

kernel void local_uint(global uint *cells, global const uint *from) {
    local uint own[11];
    int item = get_local_id(0), i = get_global_id(0);
    if (item < 11)
        own[item] = cells[get_group_id(0) * 11 + item];
    barrier(CLK_LOCAL_MEM_FENCE);
    on_local_uint(own, from[i], item);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 11)
        cells[get_group_id(0) * 11 + item] = own[item];
}

kernel void local_ulong(global ulong *cells, global const ulong *from) {
    local ulong own[11];
    int item = get_local_id(0), i = get_global_id(0);
    if (item < 11)
        own[item] = cells[get_group_id(0) * 11 + item];
    barrier(CLK_LOCAL_MEM_FENCE);
    on_local_ulong(own, from[i], item);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 11)
        cells[get_group_id(0) * 11 + item] = own[item];
}

// Every old value is handed out once, whatever the order.
kernel void tickets(global uint *out, global uint *counter, global uint *taken) {
    uint ticket = atomic_inc(counter);
    out[get_global_id(0)] = 1;
    atomic_inc(&taken[ticket]);
}

// Only some items take part; conflicts within a vector are the rule.
kernel void sparse(global uint *counts, global const uint *from) {
    uint x = from[get_global_id(0)];
    if (x & 1)
        atomic_add(&counts[x % 5], x);
    else if (x % 3 == 0)
        atomic_max(&counts[5 + x % 3], x);
}

void add_float(volatile global float *to, float value) {
    volatile global int *bits = (volatile global int *)to;
    int old, next;
    do {
        old = *bits;
        next = as_int(as_float(old) + value);
    } while (atomic_cmpxchg(bits, old, next) != old);
}

kernel void float_by_exchange(global float *sums, global const float *from) {
    size_t i = get_global_id(0);
    add_float(&sums[i % 3], from[i]);
}

// What one item leaves behind, another finds, or it stays: the steps between add up to the whole way.
#define STEP(K, OLD, NEW)                                                                                              \
    {                                                                                                                  \
        int old = OLD;                                                                                                 \
        atomic_add(&steps[K], (NEW)-old);                                                                              \
    }

kernel void chained(global int *cells, global int *steps, global const int *from) {
    int x = from[get_global_id(0)], even = get_group_id(0) + 2;
    if (x % 5 == 0)
        return;
    STEP(0, atomic_add(&cells[0], x), old + x)
    STEP(1, atomic_sub(&cells[1], x), old - x)
    STEP(2, atomic_min(&cells[2], x), min(old, x))
    STEP(3, atomic_max(&cells[3], x), max(old, x))
    STEP(4, atomic_and(&cells[4], x), old & x)
    STEP(5, atomic_or(&cells[5], x), old | x)
    STEP(6, atomic_xor(&cells[6], x), old ^ x)
    STEP(7, atomic_inc(&cells[7]), old + 1)
    STEP(8, atomic_dec(&cells[8]), old - 1)
    STEP(9, atomic_add(&cells[9], even), old + even)
    STEP(10, atomic_sub(&cells[10], even), old - even)
}

// Each keeps as many places as it wants.
kernel void reserved(global ulong *taken, global ulong *next, global const uint *from) {
    ulong wanted = from[get_global_id(0)] % 4;
    if (wanted == 3)
        return;
    ulong place = atom_add(next, wanted);
    for (ulong k = 0; k < wanted; k++)
        taken[place + k] += 1;
}
