// Items of one group that go different ways.

kernel void nested_ifs(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int x = from[i];
    int y = 0;
    if (x & 1) {
        y = x * 3;
        if (x & 2) {
            y += 100;
            if (x & 4)
                y = -y;
        } else if (x & 8) {
            y -= 7;
        }
    } else {
        if (x > 50)
            out[i + get_global_size(0)] = x;
        else
            y = 5;
    }
    out[i] = y;
}

kernel void early_returns(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int x = from[i];
    if (x < 10)
        return;
    out[i] = 1;
    if (x < 50) {
        out[i] = 2;
        if (x & 1)
            return;
        out[i] = 3;
    }
    out[i] += 10;
}

kernel void collatz(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    uint x = from[i];
    int steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    out[i] = steps;
}

kernel void break_and_continue(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int limit = from[i];
    int sum = 0;
    for (int k = 0; k < 40; k++) {
        if (k % 3 == limit % 3)
            continue;
        if (k > limit)
            break;
        sum += k;
        if (sum > 200) {
            sum = -sum;
            break;
        }
    }
    out[i] = sum;
}

kernel void nested_loops(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int n = from[i] % 7;
    int count = 0;
    for (int a = 0; a < n; a++) {
        for (int b = a; b < n; b++) {
            if (a * b == 6)
                goto found;
            count += b - a;
        }
        int c = n;
        do {
            count++;
            c -= 2;
        } while (c > a);
    }
    out[i] = count;
    return;
found:
    out[i] = 1000 + count;
}

kernel void switches(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int y = 0;
    switch (from[i] % 12) {
    case 0:
        y = 10;
        break;
    case 1:
        y = 20;
        // falls through
    case 2:
        y += 3;
        break;
    case 5:
    case 6:
        y = 56;
        break;
    case 7:
        for (int k = 0; k < 5; k++) {
            switch (k) {
            case 1:
                continue;
            case 3:
                y += 100;
                break;
            default:
                y++;
            }
        }
        break;
    case -3:
        y = -3;
        break;
    default:
        y = -1;
    }
    out[i] = y;
}

kernel void wide_switch(global int *out, global const long *from) {
    size_t i = get_global_id(0);
    switch (from[i]) {
    case 0x100000000L: out[i] = 1; break;
    case -1L: out[i] = 2; break;
    case 7L: out[i] = 3; break;
    default: out[i] = 4;
    }
}

// Two ways into a loop: no structured form has this.
kernel void into_the_middle(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int x = from[i];
    int count = 0;
    if (x & 1)
        goto middle;
top:
    count += 1;
    x -= 3;
    if (x < 0)
        goto end;
middle:
    count += 100;
    x -= 2;
    if (x > 0)
        goto top;
end:
    out[i] = count * 1000 + x;
}

kernel void state_machine(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int x = from[i];
    int trace = 0;
a:
    trace = trace * 4 + 1;
    if (x > 60) {
        x -= 25;
        goto b;
    }
    if (x & 1)
        goto c;
    goto end;
b:
    trace = trace * 4 + 2;
    x -= 10;
    if (x & 2)
        goto a;
c:
    trace = trace * 4 + 3;
    x /= 2;
    if (x > 3)
        goto a;
end:
    out[i] = trace;
}

// Conditions that every item of the launch agrees on.
kernel void uniform_branches(global int *out, global const int *from, int mode) {
    size_t i = get_global_id(0);
    int x = from[i];
    if (mode > 3) {
        x *= mode;
        for (int k = 0; k < mode; k++)
            x ^= k;
    } else {
        x = -x;
    }
    if (get_group_id(0) == 1)
        x += 1000;
    out[i] = x;
}

__attribute__((noinline)) int twice(int x) { return x * 2; }

__attribute__((noinline)) int classify(int x) {
    if (x < 20)
        return 1;
    for (int k = 2; k < 10; k++)
        if (x % k == 0)
            return k;
    return twice(x);
}

__attribute__((noinline)) void store_if(global int *to, int value, int condition) {
    if (condition)
        *to = value;
}

kernel void calls(global int *out, global const int *from) {
    size_t i = get_global_id(0);
    int x = from[i];
    int y = 0;
    if (x & 1)
        y = classify(x);
    while (y < 30)
        y = twice(y) + 1;
    store_if(out + i, y, x % 5);
}

// Nothing is stored where an item does not go, however near a neighbour is that does.
kernel void guarded(global int *out, global const int *from, global const int *table, int entries) {
    size_t i = get_global_id(0);
    int at = from[i];
    if (at < entries) {
        int divisor = table[at];
        if (divisor != 0)
            out[i] = 1000 / divisor;
    }
}

kernel void logic(global int *out, global const int *from, global const int *table, int entries) {
    size_t i = get_global_id(0);
    int at = from[i];
    bool found = at < entries && table[at] != 0 && table[table[at]] > 3;
    bool odd = at & 1;
    out[i] = found | odd << 1 | (found != odd) << 2 | (found && !odd ? at & 15 : 3) << 4;
}

// The results of a loop's iterations that an item does not take part in must not be seen.
kernel void last_values(global float *out, global const float *from) {
    size_t i = get_global_id(0);
    float x = from[i];
    float previous = 0.0f;
    int k = 0;
    while (x > 1.0f) {
        previous = x;
        x *= 0.5f;
        k++;
        if (k == 6)
            break;
    }
    out[3 * i] = x;
    out[3 * i + 1] = previous;
    out[3 * i + 2] = k;
}
