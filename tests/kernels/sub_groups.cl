// What a sub-group computes together. How many items it has is the device's choice, so each item computes what it expects
// from the values of the others, which it finds in local memory, and reports a bit for each answer that differs.

#define SLOTS 256

#define SETUP(T)                                                                                                       \
    local T values[SLOTS];                                                                                             \
    uint lane = get_sub_group_local_id(), size = get_sub_group_size();                                                 \
    local T *own = values + get_sub_group_id() * get_max_sub_group_size();                                             \
    T x = from[get_global_id(0)];                                                                                      \
    own[lane] = x;                                                                                                     \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                      \
    uint wrong = 0

#define EXPECT(bit, answer, wanted) wrong |= (uint)((answer) != (wanted)) << bit

// Nothing that can be checked without knowing the size, except that everything adds up.
kernel void sizes(global uint *out) {
    local uint items, firsts;
    if (get_local_linear_id() == 0)
        items = firsts = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint wrong = 0;
    if (get_sub_group_local_id() == 0) {
        atomic_add(&items, get_sub_group_size());
        atomic_inc(&firsts);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EXPECT(0, items, (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)));
    EXPECT(1, firsts, get_num_sub_groups());
    EXPECT(2, get_sub_group_local_id() < get_sub_group_size(), true);
    EXPECT(3, get_sub_group_size() <= get_max_sub_group_size(), true);
    EXPECT(4, get_sub_group_id() < get_num_sub_groups(), true);
    EXPECT(5, get_enqueued_num_sub_groups(), get_num_sub_groups());
    // Full but for the last one.
    EXPECT(6, get_sub_group_size() == get_max_sub_group_size() || get_sub_group_id() == get_num_sub_groups() - 1, true);
    out[get_global_linear_id()] = wrong;
}

#define UNIFORM(NAME, T, LOWEST, HIGHEST)                                                                              \
    kernel void NAME(global uint *out, global const T *from) {                                                         \
        SETUP(T);                                                                                                      \
        T sum = 0, low = HIGHEST, high = LOWEST, before = 0, low_before = HIGHEST, high_before = LOWEST;               \
        for (uint k = 0; k < size; k++) {                                                                              \
            if (k == lane)                                                                                             \
                before = sum, low_before = low, high_before = high;                                                    \
            sum += own[k];                                                                                             \
            low = min(low, own[k]);                                                                                    \
            high = max(high, own[k]);                                                                                  \
        }                                                                                                              \
        EXPECT(0, sub_group_reduce_add(x), sum);                                                                       \
        EXPECT(1, sub_group_reduce_min(x), low);                                                                       \
        EXPECT(2, sub_group_reduce_max(x), high);                                                                      \
        EXPECT(3, sub_group_scan_exclusive_add(x), before);                                                            \
        EXPECT(4, sub_group_scan_inclusive_add(x), (T)(before + x));                                                   \
        EXPECT(5, sub_group_scan_exclusive_min(x), low_before);                                                        \
        EXPECT(6, sub_group_scan_inclusive_min(x), min(low_before, x));                                                \
        EXPECT(7, sub_group_scan_exclusive_max(x), high_before);                                                       \
        EXPECT(8, sub_group_scan_inclusive_max(x), max(high_before, x));                                               \
        EXPECT(9, sub_group_broadcast(x, size / 2), own[size / 2]);                                                    \
        out[get_global_id(0)] = wrong;                                                                                 \
    }

UNIFORM(uniform_int, int, INT_MIN, INT_MAX)
UNIFORM(uniform_ulong, ulong, 0, ULONG_MAX)
UNIFORM(uniform_float, float, -INFINITY, INFINITY)

kernel void votes(global uint *out, global const int *from) {
    SETUP(int);
    bool every = true, some = false, rare = false;
    for (uint k = 0; k < size; k++) {
        every &= own[k] > -90;
        some |= own[k] > 90;
        rare |= own[k] > 1000;
    }
    EXPECT(0, sub_group_all(x > -90) != 0, every);
    EXPECT(1, sub_group_any(x > 90) != 0, some);
    EXPECT(2, sub_group_any(x > 1000) != 0, rare);
    EXPECT(3, sub_group_all(1) != 0, true);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = wrong;
}

kernel void shuffles(global uint *out, global const int *from) {
    SETUP(int);
    uint turned = (lane * 3 + 1) % size;
    EXPECT(0, sub_group_shuffle(x, turned), own[turned]);
    EXPECT(1, sub_group_shuffle(x, size - 1 - lane), own[size - 1 - lane]);
    int other = sub_group_shuffle_xor(x, 1);
    if ((lane ^ 1) < size)
        EXPECT(2, other, own[lane ^ 1]);
    int up = sub_group_shuffle_up(x, 2), down = sub_group_shuffle_down(x, 3);
    if (lane >= 2)
        EXPECT(3, up, own[lane - 2]);
    if (lane + 3 < size)
        EXPECT(4, down, own[lane + 3]);
    double wide = sub_group_shuffle((double)x, turned);
    EXPECT(5, wide, (double)own[turned]);
    EXPECT(6, sub_group_shuffle((char)x, turned), (char)own[turned]);
    out[get_global_id(0)] = wrong;
}

kernel void ballots(global uint *out, global const int *from) {
    SETUP(int);
    uint4 expected = 0;
    uint count = 0, below = 0, lowest = size, highest = 0;
    for (uint k = 0; k < size; k++) {
        if (!(own[k] & 1))
            continue;
        expected[k / 32] |= 1u << (k % 32);
        if (k < lane)
            below++;
        lowest = min(lowest, k);
        highest = k;
        count++;
    }
    uint4 ballot = sub_group_ballot(x & 1);
    EXPECT(0, any(ballot != expected), 0);
    EXPECT(1, sub_group_ballot_bit_count(ballot), count);
    EXPECT(2, sub_group_ballot_exclusive_scan(ballot), below);
    EXPECT(3, sub_group_ballot_inclusive_scan(ballot), below + (x & 1));
    EXPECT(4, sub_group_ballot_bit_extract(ballot, lane) != 0, (x & 1) != 0);
    EXPECT(5, sub_group_inverse_ballot(ballot) != 0, (x & 1) != 0);
    if (count) {
        EXPECT(6, sub_group_ballot_find_lsb(ballot), lowest);
        EXPECT(7, sub_group_ballot_find_msb(ballot), highest);
    }
    EXPECT(8, sub_group_broadcast_first(x), own[0]);
    EXPECT(9, sub_group_non_uniform_broadcast(x, 0), own[0]);
    uint4 lower = get_sub_group_lt_mask();
    EXPECT(10, popcount(lower.x) + popcount(lower.y) + popcount(lower.z) + popcount(lower.w), lane);
    uint4 equal = get_sub_group_eq_mask();
    EXPECT(11, equal[lane / 32], 1u << (lane % 32));
    out[get_global_id(0)] = wrong;
}

// Only the items that are there take part.
kernel void some_of_them(global uint *out, global const int *from) {
    SETUP(int);
    if (x & 1) {
        int sum = 0, before = 0, product = 1, low = INT_MAX;
        uint count = 0, first = size;
        bool every = true;
        for (uint k = 0; k < size; k++) {
            if (!(own[k] & 1))
                continue;
            first = min(first, k);
            if (k < lane)
                before += own[k];
            sum += own[k];
            product = (int)((uint)product * (uint)own[k]);
            low = min(low, own[k]);
            every &= own[k] > -50;
            count++;
        }
        EXPECT(0, sub_group_non_uniform_reduce_add(x), sum);
        EXPECT(1, sub_group_non_uniform_reduce_min(x), low);
        EXPECT(2, sub_group_non_uniform_scan_exclusive_add(x), before);
        EXPECT(3, sub_group_non_uniform_scan_inclusive_add(x), before + x);
        EXPECT(4, sub_group_non_uniform_all(x > -50) != 0, every);
        EXPECT(5, (sub_group_elect() != 0), lane == first);
        EXPECT(6, sub_group_broadcast_first(x), own[first]);
        EXPECT(7, sub_group_non_uniform_all_equal(7) != 0, true);
        EXPECT(8, sub_group_non_uniform_all_equal(lane) != 0, count == 1);
        uint4 ballot = sub_group_ballot(1);
        EXPECT(9, sub_group_ballot_bit_count(ballot), count);
        EXPECT(10, sub_group_non_uniform_reduce_mul(x), product);
    } else {
        int bits = 0, ones = -1;
        for (uint k = 0; k < size; k++)
            if (!(own[k] & 1)) {
                bits ^= own[k];
                ones &= own[k];
            }
        EXPECT(11, sub_group_non_uniform_reduce_xor(x), bits);
        EXPECT(12, sub_group_non_uniform_reduce_and(x), ones);
    }
    out[get_global_id(0)] = wrong;
}

kernel void clusters(global uint *out, global const int *from) {
    SETUP(int);
    int sum = 0, high = INT_MIN;
    uint first = lane / 4 * 4;
    for (uint k = first; k < first + 4 && k < size; k++) {
        sum += own[k];
        high = max(high, own[k]);
    }
    int added = sub_group_clustered_reduce_add(x, 4), largest = sub_group_clustered_reduce_max(x, 4);
    // A cluster that the sub-group cuts short may be seen otherwise.
    if (first + 4 <= size) {
        EXPECT(0, added, sum);
        EXPECT(1, largest, high);
    }
    out[get_global_id(0)] = wrong;
}
