"""A module in the device's own code, kept in a file: the next run needs no compiler."""

import tempfile
from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"


def cached_module(ctx: az.Context, source: Path, cache: Path) -> tuple[az.Module, str]:
    """The module from the cache, or from its source and then in the cache; and which of the two."""
    if cache.exists():
        try:
            return ctx.module(cache), "read"
        except az.BuildError:
            pass  # of another version, or damaged: as good as none
    module = ctx.module(source)
    module.save(cache)
    return module, "compiled"


with az.device().context() as ctx, tempfile.TemporaryDirectory() as folder:
    cache = Path(folder) / "saxpy.native"
    for expected in ("compiled", "read"):
        module, how = cached_module(ctx, KERNELS / "saxpy.spv", cache)
        assert how == expected
        x, y = ctx.full(4, 3, np.float32), ctx.zeros(4, np.float32)
        module["saxpy"][4](y, x, 2.0)
        assert (y.copy_to() == 6).all()
        print(f"ok: the module was {how}, and its kernel works")
    assert module.native == cache.read_bytes()
    print("ok: the file holds Module.native")

    cache.write_bytes(cache.read_bytes()[:-100])
    module, how = cached_module(ctx, KERNELS / "saxpy.spv", cache)
    assert how == "compiled"
    assert "saxpy" in module
    print("ok: a damaged file is noticed, and made anew")
