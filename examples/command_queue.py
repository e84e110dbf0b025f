"""Query the queue groups of a device, then create a queue of each."""

import anyzero as az

device = az.device()
with device.context() as ctx:
    for group in device.queue_groups:
        with ctx.queue(kind=group, mode="asynchronous", priority="normal", index=0) as queue:
            assert queue.group == group
        print(f"ok: group {group.ordinal}: {group.kind}, {group.queues} physical queue(s)")

    try:
        ctx.queue(index=1000)
    except az.InvalidArgument as error:
        print(f"ok: a queue that does not exist is refused: {error.detail}")
    else:
        raise AssertionError("queue 1000 exists")
