"""Runs compiled kernels without the engine: one thread, numpy arrays as buffers."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from anyzero.compiler.compiled import CompiledKernel
from anyzero.layouts.container import ArgumentUse
from anyzero.layouts.container_head import ROW_LENGTHS
from anyzero.layouts.kernel import CHECKED_WORDS, LOCAL_ROOM, Bounds, Grid, NotedArgument, Worker
from tests.compiler.loading import load

GUARD = 4096


@dataclass(frozen=True)
class Local:
    """Local memory of so many bytes, as an argument."""

    size: int


_FAULT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64)


# The code cannot be left from there, so tests of faults go through the engine.
@_FAULT
def _fault(_: int, kind: int, value: int) -> None:
    print(f"the kernel faults: kind {kind}, value {value}", flush=True)
    ctypes.CDLL(None).abort()


class Loaded:
    """Machine code in memory."""

    def __init__(
        self,
        kernel: CompiledKernel,
        globals_: np.ndarray | None = None,
        engine: Mapping[str, Any] | None = None,
    ) -> None:
        """`engine` holds C functions that the kernel finds in the engine otherwise."""
        self.kernel = kernel
        self.kept = globals_, engine
        self.counters = np.zeros((1 + max((each.counter for each in kernel.counters), default=0), 2), np.uint64)
        """Executions and active lanes, by the number of a counter."""
        offered = {"az_fault": _fault, **(engine or {})}
        symbols = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in offered.items()}
        if globals_ is not None:
            symbols["az_globals"] = globals_.ctypes.data
        code = load(kernel.object, symbols)
        self.row_lengths = code[ROW_LENGTHS.decode()] if kernel.divides_ids else None
        self.entry = code[kernel.entry]
        self.entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
        self.entry.restype = None

    def __call__(
        self,
        args: list[Any],
        global_size: tuple[int, ...],
        group_size: tuple[int, ...],
        offset: tuple[int, ...] = (0, 0, 0),
        strip: int | None = None,
        exchanged: bool = True,
        in_rows: bool = True,
        unaliased: bool | None = None,
    ) -> None:
        """`strip` is how many columns of groups run row by row before the next ones do: all of them if not given. With
        `exchanged`, a kernel whose lanes should lie along another dimension gets that one as its first; with `in_rows`,
        a kernel that divides its id runs in two dimensions where rows fill the launch. A launch is unaliased if no two
        of its arrays overlap, unless it is given.
        """
        kernel = self.kernel
        block, local_bytes, bounds = _packed(kernel, args)
        sizes = [*global_size, 1, 1][:3]
        groups = [*group_size, 1, 1][:3]
        offsets = [*offset, 0, 0][:3]
        length, items = self.rows(args, sizes) if in_rows and not any(offsets) else (0, 0)
        if length:
            sizes, groups = [length, items // length, 1], [min(length, 3 * kernel.lanes), 3, 1]
        # Blocks of a kernel that does not know its groups may stick out.
        counts = [-(-size // group) for size, group in zip(sizes, groups, strict=True)]
        dimensions = max([1, *(d + 1 for d in range(3) if sizes[d] > 1)])
        if unaliased is None:
            arrays = [value for value in args if isinstance(value, np.ndarray)]
            unaliased = not any(np.may_share_memory(one, two) for one, two in combinations(arrays, 2))
        if any(each.access & ArgumentUse.SEPARATE_WRITES for each in kernel.arguments if each.kind != "image"):
            exchanged = exchanged and unaliased
        along = kernel.lane_dimension if exchanged else 0
        for each in (counts, groups, offsets, sizes):
            each[0], each[along] = each[along], each[0]
        threes = (tuple(each) for each in (counts, groups, offsets, sizes))
        table = b"".join(bounds.get(word, Bounds(0, 2**64 - 1)).pack() for word in range(CHECKED_WORDS))
        if kernel.noted:
            table += bytes([NotedArgument.LOADS | NotedArgument.STORES]) * CHECKED_WORDS
        watched = kernel.checked or kernel.noted
        grid = Grid(*threes, dimensions, strip or counts[0], along, length, unaliased).pack()
        grid += table if watched else b""
        vectors = -(-groups[0] // kernel.lanes) * groups[1] * groups[2]
        scratch_bytes = kernel.scratch_fixed + kernel.scratch_per_vector * vectors
        words = _words(grid)
        local, scratch = _aligned(local_bytes, LOCAL_ROOM), _aligned(scratch_bytes)
        place = self.counters.ctypes.data
        worker = _words(
            Worker(local.ctypes.data, scratch.ctypes.data, local_bytes, scratch_bytes, 0, place, 0).pack()
        ).copy()
        total = counts[0] * counts[1] * counts[2]
        self.entry(block.ctypes.data, words.ctypes.data, 0, total, worker.ctypes.data)
        assert (local[local_bytes:] == 0xA5).all(), "local memory was overrun"
        assert (scratch[scratch_bytes:] == 0xA5).all(), "scratch memory was overrun"

    def rows(self, args: list[Any], sizes: list[int]) -> tuple[int, int]:
        """The length of rows and their work-items; zeros for a launch that the engine does not cut into rows."""
        if self.row_lengths is None or sizes[1:] != [1, 1]:
            return 0, 0
        block, _, _ = _packed(self.kernel, args)
        found = np.array([0, sizes[0]], np.uint64)
        self.row_lengths(ctypes.c_void_p(block.ctypes.data), ctypes.c_void_p(found.ctypes.data))
        length, items = map(int, found)
        fills = self.kernel.lanes <= length < items <= sizes[0] and items % length == 0
        return (length, items) if fills else (0, 0)


def _packed(kernel: CompiledKernel, args: list[Any]) -> tuple[np.ndarray, int, dict[int, Bounds]]:
    """The block of arguments, the size of local memory, and the bounds of buffers."""
    block = np.zeros(max(kernel.args_bytes, 8) + 64, np.uint8)
    local_bytes = -(-kernel.local_bytes // 128) * 128
    bounds = {}
    for argument, value in zip(kernel.arguments, args, strict=True):
        if isinstance(value, Local):
            data = struct.pack("<Q", local_bytes | (value.size << 32 if kernel.checked else 0))
            local_bytes += -(-value.size // 128) * 128
        elif isinstance(value, np.ndarray) and argument.kind != "value":
            data = struct.pack("<Q", value.ctypes.data)
            bounds[argument.offset // 8] = Bounds(value.ctypes.data, value.nbytes)
        elif isinstance(value, np.ndarray | np.generic):
            data = value.tobytes()
        elif isinstance(value, bytes):
            data = value
        else:
            data = int(value).to_bytes(argument.size, "little", signed=value < 0)
        assert len(data) == argument.size, (argument, len(data))
        block[argument.offset : argument.offset + len(data)] = np.frombuffer(data, np.uint8)
    return block, local_bytes, bounds


def _words(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint64)


def _aligned(size: int, before: int = 0) -> np.ndarray:
    """Memory with a guard behind it, and room in front of it."""
    raw = np.full(before + size + GUARD + 128, 0xA5, np.uint8)
    start = before + -(raw.ctypes.data + before) % 128
    return raw[start : start + size + GUARD]
