"""Global sizes, group sizes and offsets, and the properties of a kernel."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx, ctx.immediate() as lst:
    module = ctx.module(KERNELS / "kernel_launch.spv")
    places, tiles = module["places"], module["tiles"]
    out = ctx.zeros((6, 8, 4), np.int32, kind="shared")

    # Sizes are numbers of work-items, x first: eight columns, six rows.
    places[8, 6](out, group=(4, 2), on=lst).wait(timeout=5)
    x, y, local, group = np.moveaxis(np.asarray(out), -1, 0)
    assert (x == np.arange(8)).all()
    assert (y == np.arange(6)[:, None]).all()
    assert (local == np.arange(8) % 4).all()
    assert (group == np.arange(8) // 4).all()
    print("ok: 8 × 6 work-items in groups of 4 × 2 have the right ids")

    # Without a group size the driver suggests one, which divides the global size.
    launch = places[8, 6]
    assert all(size % part == 0 for size, part in zip(launch.global_size, launch.group_size, strict=True))
    print(f"ok: the driver suggests {launch.group_size}; group sizes are best a multiple of", end=" ")
    print(places.properties.preferred_group_multiple)

    # Ids may begin at an offset.
    lst.launch(places, 8, (out,), group=8, offset=100).wait(timeout=5)
    assert (np.asarray(out)[0, :, 0] == 100 + np.arange(8)).all()
    print("ok: with an offset of 100 the first id is 100")

    # A kernel's source may require a group size.
    assert tiles.properties.required_group_size == (8, 4, 1)
    sizes = ctx.zeros((8, 16), np.int32, kind="shared")
    tiles[16, 8](sizes, on=lst).wait(timeout=5)
    assert (np.asarray(sizes) == 84).all()
    print(f"ok: {tiles.name} has its required groups of 8 × 4")
    try:
        tiles[16, 8](sizes, group=(16, 1), on=lst)
    except az.InvalidArgument as error:
        print(f"ok: {error.detail}")
    else:
        raise AssertionError("another group size was accepted")

    # Attributes: from the source, from the compiler, and set by the program.
    assert tiles.attributes == "reqd_work_group_size(8,4,1)"
    assert places.attributes == ""
    found = places.properties
    print(f"ok: {places.name} takes {found.arguments} argument and {found.private_memory} bytes for each work-item,")
    print(f"    beside {found.spill_memory} that registers have no room for")
    assert places.indirect_access == frozenset()
    places.set_indirect_access("device", "shared")
    assert places.indirect_access == {"device", "shared"}
    print("ok: it may now follow pointers to device and shared memory")

    # An error includes its remedy.
    try:
        places[1000](out, group=64)
    except az.InvalidArgument as error:
        print(f"ok: {error.detail}. {error.remedy}")
    else:
        raise AssertionError("1000 is no multiple of 64")
