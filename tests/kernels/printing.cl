// What kernels print.

kernel void numbers(global const int *from) {
    size_t i = get_global_id(0);
    printf("item %d has %5d|%-6u|%x|%#o|%+d\n", (int)i, from[i], (uint)i * 7, from[i] & 0xffff, (uint)i, from[i]);
}

kernel void other_types(global const float *from) {
    size_t i = get_global_id(0);
    if (i == 1)
        printf("%f %.2f %e %g %a\n", from[0], from[1], from[2], from[3], 1.0f);
    if (i == 2)
        printf("%s: %c%c 100%% %ld %lu %hd %hhd\n", "text", 'o', 'k', -5000000000L, 18446744073709551615UL, (short)-7, (char)-8);
    if (i == 3)
        printf("%v4hld|%v2hlf|%.1v3hlf|%v4hhx\n", (int4)(1, -2, 3, -4), (float2)(0.5f, 1.5f), (float3)(1.0f, 2.0f, 3.0f),
               (uchar4)(1, 16, 255, 0));
    if (i == 4)
        printf("%8.3f|%-8.3f|%08.3f|% d|%5s|%.2s\n", 3.14159, 3.14159, -3.14159, 42, "ab", "abcdef");
    if (i == 5)
        printf("no arguments\n");
}

kernel void in_a_loop(int n) {
    for (int k = 0; k < n; k++)
        if ((k + get_global_id(0)) % 3 == 0)
            printf("%d:%d\n", (int)get_global_id(0), k);
}
