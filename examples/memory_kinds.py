"""Host, device and shared memory, and the two hints for memory that may move."""

import numpy as np

import anyzero as az

with az.device().context() as ctx:
    values = np.arange(1024, dtype=np.float32)

    # Device memory belongs to the device: data travels by copies.
    device = ctx.to_device(values)
    assert np.array_equal(device.copy_to(), values)
    try:
        np.asarray(device)
    except TypeError as error:
        print(f"ok: {error}")
    else:
        raise AssertionError("device memory was looked at from the host")

    # Host and shared memory are reached from both sides, at the same address.
    for kind in ("host", "shared"):
        buffer = ctx.zeros(values.shape, values.dtype, kind=kind)
        array = np.asarray(buffer)
        array[:] = values
        assert array.ctypes.data == buffer.pointer
        assert np.array_equal(buffer.copy_to(), values)
        print(f"ok: {kind} memory: an array of the host and a buffer of the device on the same bytes")

    # Any address inside an allocation leads to the whole of it.
    base, size = device[100:200].address_range
    assert (base, size) == (device.pointer, device.nbytes)
    print("ok: a slice knows the allocation it is a part of")

    shared = ctx.zeros(values.shape, values.dtype, kind="shared")
    with ctx.immediate() as lst:
        lst.prefetch(shared)
        lst.advise(shared, "read_mostly")
    print("ok: prefetch and advice are commands like any other")
