"""Conway's Game of Life: one work-item for each cell, two buffers in turn, and the board in characters.

python game_of_life.py [GENERATIONS]
"""

import sys

import numpy as np

import anyzero as az

HEIGHT, WIDTH = 16, 64
GLIDER = ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2))


@az.kernel
def generation(after: az.array[az.u8, 2], before: az.array[az.u8, 2]) -> None:
    """The next state of a cell. The board is a torus: what leaves on one side enters on the other."""
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    width, height = az.i32(before.shape[1]), az.i32(before.shape[0])
    neighbours = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            if dx != 0 or dy != 0:
                neighbours += before[(y + dy) % height, (x + dx) % width]
    after[y, x] = az.u8(neighbours == 3 or (neighbours == 2 and before[y, x] == 1))


board = np.zeros((HEIGHT, WIDTH), np.uint8)
for row, column in GLIDER:
    board[row, column] = 1
    board[row + 4, column + 30] = 1

# A glider moves one cell down and to the right in four generations.
generations = int(sys.argv[1]) if len(sys.argv) > 1 else 4 * HEIGHT
with az.device().context() as ctx, ctx.immediate() as lst:
    now, after = ctx.to_device(board), ctx.zeros(board.shape, np.uint8)
    for _ in range(generations):
        generation[WIDTH, HEIGHT](after, now, on=lst)
        lst.barrier()
        now, after = after, now
    lst.synchronize(timeout=60)
    found = now.copy_to()

for line in found:
    print("".join(".█"[cell] for cell in line))
moved = np.roll(board, (generations // 4, generations // 4), axis=(0, 1))
assert generations % 4 or np.array_equal(found, moved)
print(f"ok: after {generations} generations the gliders are where they must be")
