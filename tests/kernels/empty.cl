// What a launch costs when nothing is to be done.

kernel void empty(void) {}

kernel void empty_one_argument(global int *unused) {}
