"""`anyzero demo`: a guided tour. Every step checks its result and says what it showed; some draw pictures."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import anyzero as az
from anyzero.api import library
from anyzero.tools.gallery import Gallery, Wrong, require
from anyzero.tools.info import device_table
from anyzero.tools.picture import in_blocks
from anyzero.tools.sizes import size
from anyzero.tools.terminal import HELP_WIDTH, coloured, progress, width, wrapped

__all__ = ["run"]

SAXPY = Path(__file__).with_name("saxpy.spv")
LARGE = 64 << 20
ROUND_TRIPS = 2000
REPLAYS = 200


def run(selector: str | None = None, output: str | os.PathLike[str] | None = None) -> int:
    print(device_table())
    device = az.device(selector)
    print(f"\nUsing {device.name} (ANYZERO_DEVICE selects another).\n")
    gallery = Gallery(_folder(output))
    steps = (
        *(fill_and_copy, region, events, immediate, replay, host_function, image, kernel, launches),
        *(gallery.fractal, gallery.before_and_after, gallery.timeline),
    )
    began = time.perf_counter()
    skipped = 0
    with device.context() as ctx:
        for step in steps:
            try:
                with progress(step.__name__.replace("_", " ")):
                    said = step(ctx)
            except az.UnsupportedFeature as error:
                # Another driver behind a loader, or an NPU, may lack a feature; our compute devices have all of them.
                if library.OURS and device.max_group_size:
                    raise
                skipped += 1
                print(wrapped(f"  – {step.__name__.replace('_', ' ')}: {str(error).splitlines()[0]}", "    "))
                continue
            print(wrapped(f"  ✓ {said}", "    ").replace("✓", coloured("✓", "green"), 1))
    done = f"{len(steps) - skipped} of {len(steps)}" if skipped else f"All {len(steps)}"
    taken = time.perf_counter() - began
    _show(gallery)
    print(f"\n{done} steps were checked, in {taken:.2f} s.")
    if gallery.written:
        print(f"Pictures in {gallery.folder}: {', '.join(path.name for path in gallery.written)}")
    return 0


def _folder(named: str | os.PathLike[str] | None) -> Path:
    """The folder for pictures; a new one among the system's temporary files unless given."""
    try:
        if named is None:
            return Path(tempfile.mkdtemp(prefix="anyzero-demo-"))
        Path(named).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise az.InvalidArgument(
            f"pictures cannot be written to {named or tempfile.gettempdir()}: {error.strerror}",
            remedy="Name another folder with --output.",
        ) from error
    return Path(named)


def _show(gallery: Gallery) -> None:
    columns = min(width(), HELP_WIDTH)
    if gallery.shown is not None:
        print(f"\n{in_blocks(gallery.shown, columns)}")
    if rows := gallery.rows(columns):
        print("\n" + "\n".join(rows) + "\n(u upload, K kernel, r readback, · idle)")


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The best of several runs: the others were disturbed."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def fill_and_copy(ctx: az.Context) -> str:
    here = np.arange(LARGE // 4, dtype=np.uint32)
    x = ctx.buffer(here.shape, here.dtype)
    y = ctx.buffer(here.shape, here.dtype, kind="shared")
    x.fill(0xC0FFEE)
    require((x.copy_to() == 0xC0FFEE).all(), "a fill left other values")
    filled = seconds(lambda: x.fill(7))
    x.copy_from(here)
    y.copy_from(x)
    require(np.array_equal(np.asarray(y), here), "a copy changed its values")
    copied = seconds(lambda: y.copy_from(x))
    return (
        f"{size(LARGE)} went host → device → shared memory unchanged: copy {_rate(copied)}, fill {_rate(filled)}; "
        "numpy read the shared memory in place"
    )


def _rate(duration: float) -> str:
    return f"{LARGE / duration / 1e9:.1f} GB/s"


def region(ctx: az.Context) -> str:
    whole = np.arange(64 * 64, dtype=np.int16).reshape(64, 64)
    x = ctx.to_device(whole)
    part = np.zeros((16, 16), np.int16)
    with ctx.immediate() as lst:
        lst.copy_region(part, x, (16, 16), source_origin=(8, 32)).wait(timeout=10)
    require(np.array_equal(part, whole[8:24, 32:48]), "a region copy took the wrong part")
    return "a 16 × 16 part of a 64 × 64 array came back by one strided copy"


def events(ctx: az.Context) -> str:
    go, done = ctx.events(2, timing=True)
    x, y = ctx.full(1 << 20, 1, np.uint8), ctx.zeros(1 << 20, np.uint8)
    with ctx.immediate(kind="copy") as lst:
        lst.copy(y, x, signal=done, wait=go)
        require(not done.done, "a command did not wait for its event")
        try:
            done.wait(timeout=0.01)
            raise Wrong("demo: a wait returned before its event")
        except az.TimeoutError:
            pass
        go.signal()
        done.wait(timeout=10)
    require(y.copy_to().all(), "a copy was signalled before it was done")
    return f"a copy waited for the host's event, then took {done.kernel_ns / 1000:.0f} µs by the device's own clock"


def immediate(ctx: az.Context) -> str:
    event = ctx.event()
    with ctx.immediate() as lst:

        def trips() -> None:
            for _ in range(ROUND_TRIPS):
                lst.barrier(signal=event)
                event.wait(timeout=10)
                event.reset()

        each = seconds(trips) / ROUND_TRIPS
    return f"{ROUND_TRIPS} empty round trips through an immediate list took {each * 1e6:.1f} µs each, from Python"


def replay(ctx: az.Context) -> str:
    x, y = ctx.to_device(np.arange(1024, dtype=np.float32)), ctx.zeros(1024, np.float32)
    with ctx.command_list() as cl:
        cl.fill(y, 0)
        cl.barrier()
        cl.copy(y, x)
    with ctx.queue() as queue:
        fence = queue.fence()

        def replays() -> None:
            for _ in range(REPLAYS):
                queue.submit(cl, fence=fence).wait(timeout=10)
                fence.reset()

        each = seconds(replays) / REPLAYS
        require(not fence.done, "a fence stayed signalled after its reset")
    require(np.array_equal(y.copy_to(), x.copy_to()), "a replayed list gave another result")
    return f"a recorded list of three commands ran {5 * REPLAYS} times, {each * 1e6:.1f} µs each from submit to fence"


def host_function(ctx: az.Context) -> str:
    seen: list[int] = []
    x = ctx.zeros(4, np.int32, kind="shared")
    with ctx.immediate() as lst:
        lst.fill(x, 5)
        lst.host_function(lambda: seen.append(int(np.asarray(x).sum())))
        lst.fill(x, 0).wait(timeout=10)
    require(seen == [20], f"a host function saw {seen} between two fills")
    return "a Python function ran on the device's timeline, between two fills, and saw the first one's result"


def image(ctx: az.Context) -> str:
    pixels = np.random.default_rng(1).integers(0, 256, (48, 64, 4), np.uint8)
    picture = ctx.image((48, 64), np.uint8, channels=4, normalized=True)
    picture.copy_from(pixels)
    corner = picture[16:32, 40:].copy_to()
    require(np.array_equal(picture.copy_to(), pixels), "an image changed its pixels")
    require(np.array_equal(corner, pixels[16:32, 40:]), "a part of an image came from elsewhere")
    return "an RGBA image of 64 × 48 pixels was written, and a region of it read back"


def kernel(ctx: az.Context) -> str:
    began = time.perf_counter()
    saxpy = ctx.module(SAXPY)["saxpy"]
    built = time.perf_counter() - began
    values = np.arange(LARGE // 4, dtype=np.float32)
    x, y = ctx.to_device(values), ctx.full(values.shape, 1, np.float32, kind="shared")
    saxpy[x.size](y, x, 2.0)
    require(np.array_equal(np.asarray(y), 2 * values + 1), "a kernel computed something else")
    taken = seconds(lambda: saxpy[x.size](y, x, 0.0))
    return (
        f"a kernel from SPIR-V was ready in {built * 1000:.0f} ms and computed {x.size} elements correctly, "
        f"{3 * LARGE / taken / 1e9:.1f} GB/s"
    )


def launches(ctx: az.Context) -> str:
    saxpy = ctx.module(SAXPY)["saxpy"]
    x, y = ctx.full(64, 1, np.float32), ctx.zeros(64, np.float32)
    with ctx.immediate() as lst:

        def trips() -> None:
            for _ in range(ROUND_TRIPS):
                saxpy[64](y, x, 1.0, on=lst).wait(timeout=10)

        each = seconds(trips) / ROUND_TRIPS
    require((y.copy_to() == 5 * ROUND_TRIPS).all(), "a launch was lost")
    return f"{ROUND_TRIPS} launches of a small kernel took {each * 1e6:.1f} µs each, from Python, waited for one by one"
