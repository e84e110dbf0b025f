"""Heat spreads over two devices. Each has half of the plate, and a halo: one row of its neighbour's half.

After each step the devices copy their edge rows into each other's halo. Events make a device wait for the copy that it
needs, and for nothing else; the host waits once, at the end.
"""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu,cpu")

import numpy as np

import anyzero as az

ROWS, COLUMNS, STEPS = 64, 96, 50
HALF = ROWS // 2


@az.kernel
def spread(after: az.array[az.f32, 2], before: az.array[az.f32, 2]) -> None:
    """Every inner cell becomes the mean of its neighbours; rows 0 and HALF + 1 are halo."""
    x, y = az.global_id(0) + 1, az.global_id(1) + 1
    if x < before.shape[1] - 1:
        after[y, x] = 0.25 * (before[y - 1, x] + before[y + 1, x] + before[y, x - 1] + before[y, x + 1])


plate = np.zeros((ROWS + 2, COLUMNS), np.float32)
plate[0] = 100.0  # the upper edge is hot, and stays so
expected = plate.copy()
for _ in range(STEPS):
    inner = expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:]
    expected[1:-1, 1:-1] = 0.25 * inner

devices = az.devices()[:2]
assert len(devices) == 2, "this takes two devices; unset ANYZERO_DEVICES"
with az.Context(*devices) as ctx:
    parts = [plate[: HALF + 2], plate[HALF:]]
    # Two buffers for each device, in turn: a step reads one and writes the other.
    memory = [[ctx.to_device(part, device=each) for _ in range(2)] for part, each in zip(parts, devices, strict=True)]
    lists = [ctx.immediate(device=each) for each in devices]
    arrived: list[az.Event | az.Completion | None] = [None, None]
    for step in range(STEPS):
        now, after = step % 2, 1 - step % 2
        sent = []
        for own, lst in enumerate(lists):
            wait = [arrived[own]] if arrived[own] else []
            done = spread[COLUMNS, HALF](memory[own][after], memory[own][now], on=lst, wait=wait)
            other = memory[1 - own][after]
            # The last inner row of the upper half is the first halo row of the lower half, and the reverse.
            edge, halo = (HALF, 0) if own == 0 else (1, HALF + 1)
            sent.append(lst.copy(other[halo : halo + 1], memory[own][after][edge : edge + 1], wait=done))
        arrived = [sent[1], sent[0]]
    for each in filter(None, arrived):
        each.wait(timeout=60)
    found = np.concatenate([memory[0][STEPS % 2].copy_to()[:-1], memory[1][STEPS % 2].copy_to()[1:]])
    for lst in lists:
        lst.close()

assert np.allclose(found, expected, atol=1e-3), np.abs(found - expected).max()
print(f"ok: {STEPS} steps on {len(devices)} devices give what one array gives")
