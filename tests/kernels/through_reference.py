"""Runs cases through the interpreter.

python -m tests.kernels.through_reference [name …]
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from anyzero.compiler import reference
from anyzero.compiler.spirv import Module, read, verify
from anyzero.compiler.spirv.tables import ImageChannelDataType as Channel
from anyzero.compiler.spirv.tables import ImageChannelOrder as Order
from anyzero.compiler.spirv.tables import SamplerAddressingMode as Addressing
from benchmarks.kernels.case import Argument, Array, Case, Image, Local, Sampler
from tests.kernels.suite import CASES

__all__ = ["results", "verdict"]

ORDERS = {1: Order.R, 2: Order.RG, 4: Order.RGBA}
CHANNELS = {
    "f4": Channel.Float,
    "f2": Channel.HalfFloat,
    "i1": Channel.SignedInt8,
    "i2": Channel.SignedInt16,
    "i4": Channel.SignedInt32,
    "u1": Channel.UnsignedInt8,
    "u2": Channel.UnsignedInt16,
    "u4": Channel.UnsignedInt32,
}
NORMALIZED = {"i1": Channel.SnormInt8, "i2": Channel.SnormInt16, "u1": Channel.UnormInt8, "u2": Channel.UnormInt16}
ADDRESSES = {
    "none": Addressing.None_,
    "edge": Addressing.ClampToEdge,
    "border": Addressing.Clamp,
    "repeat": Addressing.Repeat,
    "mirror": Addressing.RepeatMirrored,
}


@cache
def module(path: Path) -> Module:
    made = read(path.read_bytes())
    verify(made)
    return made


def _image(image: Image) -> reference.Image:
    *shape, channels = image.pixels.shape
    kind = image.pixels.dtype.str[1:]
    layers = shape.pop(0) if image.layers else 0
    data_type = NORMALIZED[kind] if image.normalized else CHANNELS[kind]
    return reference.Image(image.pixels, shape[::-1], ORDERS[channels], data_type, layers=layers)


def _bound(argument: Argument) -> Any:
    if isinstance(argument, Local):
        return reference.Local(argument.nbytes)
    if isinstance(argument, Image):
        return _image(argument)
    if isinstance(argument, Sampler):
        return reference.Sampler(ADDRESSES[argument.address], int(argument.linear), argument.normalized)
    return bytes(argument) if isinstance(argument, np.void) else argument


def results(case: Case, sub_group_size: int = 16) -> tuple[dict[int, Array], list[str]]:
    """What the arguments hold after all launches, and the lines that were printed."""
    arguments = [
        Image(each.pixels.copy(), each.normalized, each.layers, each.access, each.buffer)
        if isinstance(each, Image)
        else each
        for each in case.arguments()
    ]
    memory, printed = reference.Memory(), [""]
    for changes in case.launches:
        bound = [_bound(changes.get(index, each)) for index, each in enumerate(arguments)]
        reference.run(
            *(module(case.spv), case.kernel, bound, case.global_size, case.group_size, case.offset or (0, 0, 0)),
            sub_group_size,
            printed.append,
            memory=memory,
        )
    after = {
        index: each.pixels if isinstance(each, Image) else each
        for index, each in enumerate(arguments)
        if isinstance(each, (np.ndarray, Image))
    }
    return after, "".join(printed).splitlines()


def verdict(case: Case, sub_group_size: int = 16) -> str | None:
    """What is wrong; None when nothing is."""
    after, lines = results(case, sub_group_size)
    report = case.mismatch(after)
    if report is None and case.printed is not None and sorted(lines) != sorted(case.printed):
        report = f"{case.name}: printed {sorted(set(lines) ^ set(case.printed))}"
    return report


def main(names: list[str]) -> int:
    chosen = [case for case in CASES if not names or any(name in case.name for name in names)]
    wrong = 0
    for case in chosen:
        start = perf_counter()
        try:
            report = verdict(case)
        except Exception as error:
            report = f"{case.name}: {type(error).__name__}: {error}"
        took = perf_counter() - start
        if report is not None or took > 2:
            print(f"{took:5.1f} s  {report or case.name}", flush=True)
        wrong += report is not None
    print(f"{len(chosen) - wrong} of {len(chosen)} are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
