"""Kernels in gdb: breakpoints by file and line, for kernels in Python and for modules that are built with `-g`."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import anyzero as az
from anyzero.api.library import LIBRARY_PATH
from tests.compiler import dwarf
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES
from tests.patience import PATIENCE

MODULE = f"""
    {PROLOGUE}
    OpEntryPoint Kernel %main "main_of_two"
    %file = OpString "/nowhere/two.cl"
    {TYPES}
    %main_type = OpTypeFunction %void %global_i32
    %main = OpFunction %void None %main_type
    %to = OpFunctionParameter %global_i32
    %entry = OpLabel
    OpLine %file 11 3
    OpStore %to %c7 Aligned 4
    OpReturn
    OpFunctionEnd
"""
PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import anyzero as az

@az.kernel
def scale(y: az.ptr[az.f32], a: az.f32) -> None:
    i = az.global_id(0)
    v = y[i]
    y[i] = a * v

with az.device().context() as ctx:
    x = ctx.to_device(np.ones(64, np.float32))
    scale[64](x, 2.0)
    to = ctx.zeros(1, np.int32)
    module = ctx.module(Path(sys.argv[1]).read_bytes(), options="-g")
    module["main_of_two"][1](to)
    print("results", x.copy_to()[0], to.copy_to()[0])
"""


def test_breakpoints_by_line_stop_in_kernels(tmp_path: Path) -> None:
    gdb = shutil.which("gdb")
    if gdb is None:
        pytest.skip("NOT TESTED: there is no gdb; on Debian: apt install gdb")
    module, program = tmp_path / "two.spv", tmp_path / "program.py"
    module.write_bytes(assemble(MODULE))
    program.write_text(PROGRAM.lstrip())
    line = PROGRAM.lstrip().splitlines().index("    y[i] = a * v") + 1
    steps = (
        *("set auto-load off", "set debuginfod enabled off", "set breakpoint pending on", "set confirm off"),
        *(f"break program.py:{line}", "break two.cl:11", "run", "info symbol $pc", "delete 1"),
        *("continue", "info symbol $pc", "delete", "continue"),
    )
    commands = [part for step in steps for part in ("-ex", step)]
    done = subprocess.run(
        [gdb, "-nx", "-batch", *commands, "--args", sys.executable, str(program), str(module)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "ANYZERO_DEVICES": "cpu"},
        check=False,
    )
    told = done.stdout + done.stderr
    if "ptrace: Operation not permitted" in told:
        pytest.skip("NOT TESTED: the system does not let gdb trace a process")
    assert re.search(
        rf"hit Breakpoint 1, scale \(\) at {re.escape(str(program))}:{line}\n{line}\s+y\[i\] = a \* v", told
    ), told
    assert "scale + " in told, told
    assert re.search(r"hit Breakpoint 2, .*two\.cl:11", told), told
    assert "results 2.0 7" in told, told


class Entry(ctypes.Structure):
    pass


Entry._fields_ = [
    ("next", ctypes.POINTER(Entry)),
    ("previous", ctypes.POINTER(Entry)),
    ("symbols", ctypes.c_void_p),
    ("size", ctypes.c_uint64),
]


class Descriptor(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.POINTER(Entry)),
        ("first", ctypes.POINTER(Entry)),
    )


def registered() -> list[bytes]:
    """What a debugger that attaches now would read."""
    descriptor = Descriptor.in_dll(ctypes.CDLL(str(LIBRARY_PATH)), "__jit_debug_descriptor")
    assert descriptor.version == 1
    found, entry = [], descriptor.first
    while entry:
        found.append(ctypes.string_at(entry.contents.symbols, entry.contents.size))
        entry = entry.contents.next
    return found


def test_code_with_debug_information_is_registered_without_a_debugger() -> None:
    """One may attach later. Code that has lines alone is not registered: most kernels have lines."""
    with az.device().context() as ctx:
        before = len(registered())
        plain = ctx.module(assemble(MODULE))["main_of_two"]
        assert len(registered()) == before
        module = ctx.module(assemble(MODULE), options="-g")
        kernel = module["main_of_two"]
        [symbols] = registered()[: len(registered()) - before]
        assert 11 in dwarf.lines(symbols)
        text = next(each for each in _headers(symbols) if each[1] == 1 and each[2] & 4)
        assert text[3] > 4096  # where it lies
        assert "main_of_two" in repr((kernel, plain))


def _headers(elf: bytes) -> list[tuple[int, ...]]:
    start, count = struct.unpack_from("<Q", elf, 40)[0], struct.unpack_from("<H", elf, 60)[0]
    return [struct.unpack_from("<IIQQQQIIQQ", elf, start + 64 * number) for number in range(count)]
