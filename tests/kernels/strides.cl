// Loops that work-items go through in steps of a group or of all items, and what they do to memory in them.

#define BINS 16

// Every kind of operation on a table of its own; indices of several widths point into them.
#define TABLES(NAME, T, INDEX, P)                                                                                      \
    kernel void NAME(global T *out, global const INDEX *bins, global const T *from, uint n) {                          \
        local T own[8 * BINS];                                                                                         \
        uint size = get_local_size(0), item = get_local_id(0);                                                         \
        for (uint i = item; i < 8 * BINS; i += size)                                                                   \
            own[i] = 100 + i;                                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {                                              \
            INDEX bin = bins[i];                                                                                       \
            T x = from[i];                                                                                             \
            P##_inc(&own[bin]);                                                                                        \
            P##_add(&own[BINS + bin], x);                                                                              \
            P##_sub(&own[2 * BINS + bin], x);                                                                          \
            P##_min(&own[3 * BINS + bin], x);                                                                          \
            P##_max(&own[4 * BINS + bin], x);                                                                          \
            P##_and(&own[5 * BINS + bin], x);                                                                          \
            P##_or(&own[6 * BINS + bin], x);                                                                           \
            P##_xor(&own[7 * BINS + bin], x);                                                                          \
        }                                                                                                              \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (uint i = item; i < 8 * BINS; i += size)                                                                   \
            out[get_group_id(0) * 8 * BINS + i] = own[i];                                                              \
    }

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
TABLES(tables_uchar, uint, uchar, atomic)
TABLES(tables_ushort, int, ushort, atomic)
TABLES(tables_int, uint, int, atomic)
TABLES(tables_ulong, ulong, ulong, atom)

// What is stored, what is skipped, and what is still known behind the loop.
kernel void stepped(global int *last, global uchar *bytes, global int *numbers, global const uchar *from, int n) {
    int sum = 0, seen = -1, i = get_global_id(0);
    for (; i < n; i += get_global_size(0)) {
        seen = from[i];
        sum += seen;
        bytes[i] = 255 - seen;
        if (seen & 1)
            numbers[i] = sum;
    }
    last[3 * get_global_id(0)] = sum;
    last[3 * get_global_id(0) + 1] = seen;
    last[3 * get_global_id(0) + 2] = i;
}

// Everybody's place among those of the same bin, each place once; and who was the first of all to come.
#define RANKS(NAME, T, P)                                                                                              \
    kernel void NAME(global int *places, global int *firsts, global const uchar *bins, uint n) {                       \
        local T counts[BINS], claimed[BINS];                                                                           \
        uint size = get_local_size(0), item = get_local_id(0), group = get_group_id(0);                                \
        for (uint i = item; i < BINS; i += size)                                                                       \
            counts[i] = claimed[i] = 0;                                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {                                              \
            uchar bin = bins[i];                                                                                       \
            uint place = P##_inc(&counts[bin]);                                                                        \
            places[(group * BINS + bin) * n + place] += 1;                                                             \
            if (P##_cmpxchg(&claimed[bin], 0, 1) == 0)                                                                 \
                firsts[group * BINS + bin] += 1;                                                                       \
        }                                                                                                              \
    }

RANKS(ranks_uint, uint, atomic)
RANKS(ranks_ulong, ulong, atom)
