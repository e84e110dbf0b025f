struct node {
    global struct node *next;
    ulong value;
};

// Only the first node is an argument. The others are reached through the links.
kernel void add_up(global const struct node *first, global ulong *sum) {
    ulong found = 0;
    for (global const struct node *at = first; at; at = at->next)
        found += at->value;
    *sum = found;
}
