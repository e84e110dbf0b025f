"""Cases of the suite through compiled code and through the interpreter, without a driver."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from anyzero.compiler import reference
from anyzero.compiler.analysis.streaming_stores import LINE
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.globals import layout_globals
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read, verify
from benchmarks.kernels.case import Array, Case, Local
from tests.compiler import native


@cache
def module_of(path: Path) -> Module:
    module = read(path.read_bytes())
    verify(module)
    return module


def compiled(case: Case, options: Options) -> CompiledKernel:
    return compile_kernel(module_of(case.spv), case.kernel, options)


def globals_of(module: Module) -> Array | None:
    """The module's variables in memory, as a driver would lay them out."""
    found = layout_globals(module)
    if not found.size:
        return None
    block = np.zeros(found.size + found.alignment, np.uint8)
    block = block[-block.ctypes.data % found.alignment :][: found.size]
    block[: len(found.block)] = np.frombuffer(found.block, np.uint8)
    for place, target in found.relocations:
        block[place : place + 8] = np.frombuffer(np.uint64(block.ctypes.data + target).tobytes(), np.uint8)
    return block


def behind_a_line(array: Array, bytes_: int = 0) -> Array:
    """A copy that begins so many bytes behind the begin of a line of the cache."""
    room = np.zeros(array.nbytes + bytes_ + LINE, np.uint8)
    start = -room.ctypes.data % LINE + bytes_
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def through_compiler(case: Case, options: Options) -> dict[int, Array]:
    """What the buffers hold after all launches of the case."""
    return through_code(case, compiled(case, options))


def through_code(case: Case, code: CompiledKernel, move: int = 0) -> dict[int, Array]:
    """The same for a kernel that is compiled already. Buffers begin so many bytes behind the begin of a line."""
    arguments: list[Any] = [
        behind_a_line(each, move) if isinstance(each, np.ndarray) else each for each in case.arguments()
    ]
    loaded = native.Loaded(code, globals_of(module_of(case.spv)))
    for changes in case.launches:
        given = [
            native.Local(each.nbytes) if isinstance(each, Local) else changes.get(place, each)
            for place, each in enumerate(arguments)
        ]
        loaded(given, case.global_size, case.group_size, case.offset or (0, 0, 0))
    return {place: each for place, each in enumerate(arguments) if isinstance(each, np.ndarray)}


def through_reference(case: Case, sub_group_size: int) -> dict[int, Array]:
    arguments: list[Any] = case.arguments()
    memory = reference.Memory()
    for changes in case.launches:
        given = [
            reference.Local(each.nbytes) if isinstance(each, Local) else changes.get(place, each)
            for place, each in enumerate(arguments)
        ]
        reference.run(
            module_of(case.spv),
            case.kernel,
            given,
            case.global_size,
            case.group_size,
            case.offset or (0, 0, 0),
            sub_group_size,
            memory=memory,
        )
    return {place: each for place, each in enumerate(arguments) if isinstance(each, np.ndarray)}
