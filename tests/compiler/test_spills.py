"""What registers have no room for: the compiler says how much, and the flag for large register files lessens it."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from anyzero.compiler import elf, pipeline
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.spirv import read
from anyzero.compiler.targets import cpu, frame

FOLDER = Path(__file__).resolve().parents[1] / "kernels"


@functools.cache
def compiled(file: str, kernel: str, options: Options) -> CompiledKernel:
    return pipeline.compile_kernel(read((FOLDER / f"{file}.spv").read_bytes()), kernel, options)


WIDE = Options(cpu="x86-64-v4")
"""One and the same processor wherever the test runs; nothing is run."""


def test_large_register_files_shorten_vectors() -> None:
    usual = compiled("vectors", "arithmetic_int8", WIDE)
    large = compiled("vectors", "arithmetic_int8", Options(cpu="x86-64-v4", large_registers=True))
    assert (usual.lanes, large.lanes) == (64, 16)
    assert large.spill_bytes < usual.spill_bytes


def test_what_is_kept_across_a_barrier_counts() -> None:
    kernel = compiled("reduction", "reduce_int", Options(cpu="x86-64-v4", lanes=16))
    assert kernel.barriers
    assert kernel.spill_bytes > 0


ALIVE = 24
"""Vectors that are loaded before any is used: more than AVX2 has registers, fewer than AVX-512 has."""


def pressed(lanes: int) -> str:
    """LLVM's text of a function that has to keep so many vectors while it calls another."""
    vector = f"<{lanes} x float>"
    loads = [f"  %v{n} = load volatile {vector}, ptr %p" for n in range(ALIVE)]
    stores = [f"  store volatile {vector} %v{n}, ptr %p" for n in range(ALIVE)]
    return "\n".join(["define void @f(ptr %p) noredzone nounwind {", *loads, *stores, "  ret void", "}"])


@pytest.mark.parametrize(("name", "least", "most"), [("x86-64-v3", (ALIVE - 16) * 32, ALIVE * 32), ("x86-64-v4", 0, 0)])
def test_spills_are_counted_in_the_code(name: str, least: int, most: int) -> None:
    assert least <= cpu.compile_text(pressed(8), cpu.target(name, ""), 2).spilled <= most


def test_variables_are_not_spills() -> None:
    text = """
define void @f(ptr %p) noredzone nounwind {
  %a = alloca [64 x i32], align 16
  store volatile ptr %a, ptr %p
  ret void
}
"""
    assert cpu.compile_text(text, cpu.target("x86-64-v3", ""), 2).spilled == 0


def test_frames_of_every_size_are_read() -> None:
    """Large ones are touched page by page."""
    for size in (0, 40, 200, 4000, 5000, 9000, 200_000):
        text = f"""
define void @f(ptr %p) noredzone nounwind "probe-stack"="inline-asm" {{
  %a = alloca [{size} x i8], align 16
  store volatile ptr %a, ptr %p
  ret void
}}
"""
        made = cpu.compile_text(text, cpu.target("x86-64-v3", ""), 2).object
        (found,) = [frame.frame(code) for _, code in elf.Object(made).functions()]
        assert size <= found <= size + 64, (size, found)
