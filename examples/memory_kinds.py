"""Host, device and shared memory: access, limits, and hints for memory that may migrate."""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu:memory=64M")

import numpy as np

import anyzero as az

processor = az.device()
with processor.context() as ctx:
    values = np.arange(1024, dtype=np.float32)

    # Only the device accesses device memory: the host copies data.
    device = ctx.to_device(values)
    assert np.array_equal(device.copy_to(), values)
    try:
        np.asarray(device)
    except TypeError as error:
        print(f"ok: {error}")
    else:
        raise AssertionError("device memory was looked at from the host")

    # Host and device access host and shared memory at the same address.
    for kind in ("host", "shared"):
        buffer = ctx.zeros(values.shape, values.dtype, kind=kind)
        array = np.asarray(buffer)
        array[:] = values
        assert array.ctypes.data == buffer.pointer
        assert np.array_equal(buffer.copy_to(), values)
        print(f"ok: {kind} memory: an array of the host and a buffer of the device on the same bytes")

    # Any address inside an allocation identifies it.
    base, size = device[100:200].address_range
    assert (base, size) == (device.pointer, device.nbytes)
    print("ok: a slice knows the allocation it is a part of")

    # Shared memory may exceed the memory of its device: the excess is on the host until it is used.
    half = processor.memory_total // 2
    shared = [ctx.buffer(half, np.uint8, kind="shared") for _ in range(3)]
    for number, buffer in enumerate(shared):
        np.asarray(buffer)[-1] = number
    assert [int(buffer.copy_to()[-1]) for buffer in shared] == [0, 1, 2]
    print(f"ok: {3 * half >> 20} MiB of shared memory on a device with {processor.memory_total >> 20} MiB")

    # Two hints set its location. They are ordinary commands.
    moving = shared[0]
    before = processor.memory_free
    with ctx.immediate() as lst:
        lst.advise(moving, "preferred_on_host").wait()
        assert processor.memory_free == before + moving.nbytes
        print("ok: memory that prefers the host makes room on the device")
        lst.prefetch(moving).wait()
        assert processor.memory_free == before
        print("ok: a prefetch brings it back before it is used")
