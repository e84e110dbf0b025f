"""A module in the device's own code, kept in a file: the next run needs no compiler."""

import tempfile
from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"


def cached_module(ctx: az.Context, source: Path, cache: Path) -> az.Module:
    """The module from the cache, or from its source and then in the cache."""
    if cache.exists():
        try:
            return ctx.module(cache)
        except az.BuildError:
            pass  # of another version, or damaged: as good as none
    module = ctx.module(source)
    module.save(cache)
    return module


with az.device().context() as ctx, tempfile.TemporaryDirectory() as folder:
    cache = Path(folder) / "saxpy.native"
    for what in ("compiled", "read"):
        module = cached_module(ctx, KERNELS / "saxpy.spv", cache)
        x, y = ctx.full(4, 3, np.float32), ctx.zeros(4, np.float32)
        module["saxpy"][4](y, x, 2.0)
        assert (y.copy_to() == 6).all()
        print(f"ok: the module was {what}, and its kernel works")
    assert module.native == cache.read_bytes()
    print("ok: the file holds Module.native")

    cache.write_bytes(cache.read_bytes()[:-100])
    cached_module(ctx, KERNELS / "saxpy.spv", cache)["saxpy"]
    print("ok: a damaged file is noticed, and made anew")
