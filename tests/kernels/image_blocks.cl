// Sub-groups move blocks of an image as they lie: a lane has a place in the row, a component a row.
#define BLOCKS __attribute__((intel_reqd_sub_group_size(16))) kernel void

// Of Intel's extensions, which clang has no declarations of.
#define DECLARE(type, suffix)                                                                                 \
    type __attribute__((overloadable, convergent)) intel_sub_group_block_read##suffix(read_only image2d_t, int2); \
    void __attribute__((overloadable, convergent)) intel_sub_group_block_write##suffix(write_only image2d_t, int2, type);
DECLARE(uint, )
DECLARE(uint4, 4)
DECLARE(ushort2, _us2)

BLOCKS move_block(read_only image2d_t from, write_only image2d_t to, int2 source, int2 target) {
    int2 step = (int2)((int)(get_global_id(0) / 16) * 16 * 4, 0);
    intel_sub_group_block_write(to, target + step, intel_sub_group_block_read(from, source + step));
}

BLOCKS move_rows(read_only image2d_t from, write_only image2d_t to, int2 source, int2 target) {
    int2 step = (int2)((int)(get_global_id(0) / 16) * 16 * 4, 0);
    intel_sub_group_block_write4(to, target + step, intel_sub_group_block_read4(from, source + step));
}

BLOCKS move_shorts(read_only image2d_t from, write_only image2d_t to, int2 source, int2 target) {
    int2 step = (int2)((int)(get_global_id(0) / 16) * 16 * 2, 0);
    intel_sub_group_block_write_us2(to, target + step, intel_sub_group_block_read_us2(from, source + step));
}
