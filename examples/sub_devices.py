"""A device of three tiles: take memory from sub-device 2 alone, and run a queue on it."""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu:tiles=3,memory=96M")

import anyzero as az

device = az.device()
assert len(device.tiles) >= 3, f"{device.name} has {len(device.tiles)} tiles; unset ANYZERO_DEVICES"
tile = device.tiles[2]
assert tile.is_tile
assert tile.root == device
assert tile == az.device("0.2")
assert len({device.uuid, *(each.uuid for each in device.tiles)}) == 1 + len(device.tiles)
print(f"ok: {tile} is a part of {device}, with its own UUID")
print(
    f"ok: it has {tile.memory_total >> 20} of {device.memory_total >> 20} MiB and {len(tile.queue_groups)} queue groups"
)

with tile.context() as ctx, ctx.queue() as queue:
    free = tile.memory_free
    memory = ctx.buffer(1 << 20)
    assert tile.memory_free <= free - memory.nbytes
    print("ok: memory allocated on the sub-device is charged to it")

    with ctx.command_list() as cl:
        cl.fill(memory, 2)
    queue.submit(cl).wait()
    assert (memory.copy_to() == 2).all()
    print("ok: a queue on sub-device 2 filled its memory")

    # The memory of other sub-devices is not used, unless the allocation is on the whole device.
    most = tile.memory_total * 3 // 4
    held = ctx.buffer(most)
    try:
        ctx.buffer(most)
    except az.OutOfDeviceMemory as error:
        print(f"ok: {error.detail}")
    else:
        raise AssertionError("the sub-device has not so much memory")
    with device.context() as whole:
        whole.buffer(most)
    print("ok: the whole device has more")
