// Structures: nested, packed, in arrays, as values of kernels and functions, and unions.

typedef struct {
    char tag;
    int count;
    float values[3];
    short2 pair;
} Inner;

typedef struct {
    uchar kind;
    double weight;
    Inner inner[2];
    float3 axis;
} Outer;

typedef struct __attribute__((packed)) {
    uchar kind;
    int number;
    ushort small;
} Packed;

typedef union {
    float real;
    uint bits;
    uchar bytes[4];
} Word;

kernel void nested(global Outer *out, global const Outer *from) {
    size_t i = get_global_id(0);
    Outer one = from[i];
    one.kind += 1;
    one.weight *= 2.0;
    Inner first = one.inner[0];
    one.inner[0] = one.inner[1];
    one.inner[1] = first;
    one.inner[i & 1].values[i % 3] += 10.0f;
    one.inner[0].pair = one.inner[0].pair.yx;
    one.axis = one.axis.yzx;
    out[i] = one;
}

kernel void packed(global Packed *out, global const Packed *from) {
    size_t i = get_global_id(0);
    out[i].kind = from[i].kind ^ 0xff;
    out[i].number = from[i].number + from[i].small;
    out[i].small = (ushort)from[i].number;
}

kernel void by_value(global int *out, Inner given, Packed squeezed) {
    size_t i = get_global_id(0);
    given.count += i;
    out[i] = given.tag + given.count + (int)given.values[i % 3] + given.pair.y + squeezed.number * squeezed.kind;
}

__attribute__((noinline)) Inner changed(Inner one, int by) {
    one.count += by;
    one.values[1] = by;
    return one;
}

kernel void through_functions(global Inner *out, global const Inner *from) {
    size_t i = get_global_id(0);
    Inner one = changed(from[i], (int)i);
    if (i & 1)
        one = changed(one, 100);
    out[i] = one;
}

kernel void unions(global uint *out, global const float *from) {
    size_t i = get_global_id(0);
    Word word;
    word.real = from[i];
    word.bytes[3] ^= 0x80;
    out[i] = word.bits;
}
