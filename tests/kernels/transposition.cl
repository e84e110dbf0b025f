// Through a tile in local memory, so that both sides of the copy run along rows; one column of padding keeps banks apart.

#define TILE 16

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
transpose(global float *to, global const float *from, int width, int height) {
    local float tile[TILE][TILE + 1];
    int x = get_global_id(0);
    int y = get_global_id(1);
    if (x < width && y < height)
        tile[get_local_id(1)][get_local_id(0)] = from[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    int column = get_group_id(1) * TILE + get_local_id(0);
    int row = get_group_id(0) * TILE + get_local_id(1);
    if (column < height && row < width)
        to[row * height + column] = tile[get_local_id(0)][get_local_id(1)];
}
