"""Upload, compute and read back in a pipeline: two engines work at the same time, and events keep the order.

While the compute engine works on one chunk, the copy engine uploads the next and reads the previous one back. Two
buffers are enough: a chunk is uploaded into a buffer when its last result has been read.
"""

import math

import numpy as np

import anyzero as az

CHUNKS, CHUNK = 8, 1 << 16


@az.kernel
def transform(values: az.ptr[az.f32]) -> None:
    i = az.global_id(0)
    values[i] = math.sqrt(values[i]) + 1.0


data = np.arange(CHUNKS * CHUNK, dtype=np.float32).reshape(CHUNKS, CHUNK)
results = np.zeros_like(data)
with az.device().context() as ctx, ctx.immediate(kind="copy") as copies, ctx.immediate() as compute:
    buffers = [ctx.zeros(CHUNK, np.float32) for _ in range(2)]
    transform[CHUNK](buffers[0])  # the first launch compiles the kernel
    uploaded, computed, read = (ctx.events(CHUNKS, timing=True) for _ in range(3))

    def read_back(chunk: int) -> None:
        copies.copy(results[chunk], buffers[chunk % 2], wait=computed[chunk], signal=read[chunk])

    for chunk in range(CHUNKS):
        memory = buffers[chunk % 2]
        # An engine runs its commands in order, so this upload follows the read of the chunk two before.
        copies.copy(memory, data[chunk], signal=uploaded[chunk])
        transform[CHUNK](memory, on=compute, wait=uploaded[chunk], signal=computed[chunk])
        if chunk > 0:
            read_back(chunk - 1)
    read_back(CHUNKS - 1)
    read[-1].wait(timeout=60)

    assert np.allclose(results, np.sqrt(data) + 1, rtol=1e-5)
    print(f"ok: {CHUNKS} chunks went through two buffers and two engines")
    for chunk in range(CHUNKS):
        assert uploaded[chunk].timestamps.end <= computed[chunk].timestamps.start
        assert computed[chunk].timestamps.end <= read[chunk].timestamps.start
    print("ok: each chunk was uploaded, then computed, then read")
    busy = sum(event.kernel_ns for event in (*uploaded, *computed, *read))
    whole = (read[-1].timestamps.end - uploaded[0].timestamps.start) * ctx.device.timer_resolution
    print(f"ok: commands ran for {busy / 1e6:.2f} ms in all, within {whole / 1e6:.2f} ms")
