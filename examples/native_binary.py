"""A module as a native binary, cached in a file: the next run needs no compiler."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"


def entry_of(source: Path, folder: Path) -> Path:
    """The cache file for this code; other code has another file."""
    return folder / f"{hashlib.sha256(source.read_bytes()).hexdigest()}.native"


def cached_module(ctx: az.Context, source: Path, folder: Path) -> tuple[az.Module, str]:
    """The module, loaded from the cache or built and cached; and which of the two."""
    entry = entry_of(source, folder)
    if entry.exists():
        try:
            return ctx.module(entry), "read"
        except az.BuildError:
            pass  # of another version, or damaged: a cache miss
    module = ctx.module(source)
    module.save(entry)
    return module, "compiled"


with az.device().context() as ctx, tempfile.TemporaryDirectory() as name:
    folder, source = Path(name), KERNELS / "saxpy.spv"
    for expected in ("compiled", "read"):
        module, how = cached_module(ctx, source, folder)
        assert how == expected
        x, y = ctx.full(4, 3, np.float32), ctx.zeros(4, np.float32)
        module["saxpy"][4](y, x, 2.0)
        assert (y.copy_to() == 6).all()
        print(f"ok: the module was {how}, and its kernel works")
    entry = entry_of(source, folder)
    assert module.native == entry.read_bytes()
    print("ok: the file contains Module.native")

    assert cached_module(ctx, KERNELS / "sampler.spv", folder)[1] == "compiled"
    print("ok: other code has a separate cache entry")

    entry.write_bytes(entry.read_bytes()[:-100])
    module, how = cached_module(ctx, source, folder)
    assert how == "compiled"
    assert "saxpy" in module
    print("ok: a damaged file is detected and rebuilt")
