// Loops whose turns read far apart, in the ways that people write them.

kernel void bounded(global int *c, global const int *a, global const int *b, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= n)
        return;
    int sum = 0;
    for (int k = 0; k < m; k++)
        sum += a[y * m + k] * b[k * n + x];
    c[y * n + x] = sum;
}

kernel void backwards(global int *c, global const int *a, global const int *b, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < n && y < n) {
        int sum = x;
        for (int k = m - 1; k >= 0; k -= 3)
            sum = sum * 3 + a[y * m + k] * b[k * n + x];
        c[y * n + x] = sum;
    }
}

// Two loops, one of which has a branch that all work-items take together, and values that live through both.
kernel void two_loops(global int *c, global const int *a, global const int *b, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    int first = 0, second = y;
    for (int k = 0; k < m; k++)
        first += a[y * m + k] ^ b[k * n + x];
    for (int k = 1; k < m; k++) {
        if (b[k * n] & 1)
            second += b[k * n + x] * first;
        else
            second -= a[y * m + k];
    }
    c[y * n + x] = first - second;
}

// Left at different turns by different work-items, and so not to be cut.
kernel void early(global int *c, global const int *a, global const int *b, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    int k = 0, sum = 0;
    while (k < m && sum < a[y * m]) {
        sum += b[k * n + x] & 7;
        k++;
    }
    c[y * n + x] = sum * 1000 + k;
}

kernel void in_depth(global int *c, global const int *a, global const int *b, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int sum = z;
    for (int k = 0; k < m; k++)
        sum += a[(z * n + y) * m + k] * b[k * n + x];
    c[(z * n + y) * n + x] = sum;
}

// A sum of 32 bits that begins below zero and is far apart from turn to turn.
kernel void below(global int *c, global const int *a, global const int *b, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    int sum = 0;
    for (int k = -m; k < 0; k++)
        sum += a[(y + 1) * m + k] - b[m * n + k * n + x];
    c[y * n + x] = sum;
}

// A step of 2^31 bytes and one of -2^31 end in the same place.
kernel void bytes(global uint *c, global const uchar *a, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    uint sum = 0;
    for (int k = 0; k < m; k++)
        sum = sum * 3 + a[y + k * n + x];
    c[y * n + x] = sum;
}

// A step that is zero modulo 2^32: every turn reads the same.
kernel void wraps(global int *c, global const int *a, uint n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    int sum = 0;
    for (int k = 0; k < m; k += 4)
        sum = sum * 3 + a[(int)(k * n) + x];
    c[y * 64 + x] = sum;
}
