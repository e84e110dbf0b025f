"""Errors tell of themselves alone, in Python's words, and name what was given."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.api import library
from anyzero.api.calls.hot import hot
from anyzero.api.launches.parameters import Pointer
from tests.api.kernels import EXAMPLES, SAXPY


def test_an_earlier_error_is_not_told_again(ctx: az.Context) -> None:
    event = ctx.event(timing=True)
    with pytest.raises(az.Error, match="hEvent is null"):
        library.check(hot("zeEventHostSignal")(None), hot("zeEventHostSignal"))
    with pytest.raises(az.NotReady) as caught:
        _ = event.timestamps
    assert str(caught.value) == f"zeEventQueryKernelTimestamp NOT_READY\n{az.NotReady.remedy}"


def test_texts_name_arguments_of_python(ctx: az.Context) -> None:
    event = ctx.event()
    event.signal()
    with pytest.raises(az.Error, match=r"ctx.event\(timing=True\)") as caught:
        _ = event.timestamps
    assert "ZE_" not in caught.value.detail
    with pytest.raises(az.Error, match="cloneable=True"), ctx.command_list() as cl:
        cl.clone()
    with pytest.raises(az.Error, match="ipc=True"):
        ctx.event_pool(1).ipc_handle()
    with pytest.raises(az.Error, match=r"az\.link\(module, other\)"):
        ctx.module(EXAMPLES / "dynamic_linking.spv")["apply"]


@pytest.mark.parametrize(
    ("data", "said", "remedy"),
    [
        (b"", "is empty", "compiler"),
        (b"\x7fELF" + bytes(60), "an ELF file", "anyzero compile"),
        (b"BC\xc0\xde" + bytes(60), "LLVM bitcode", "llvm-spirv"),
        (b"//\n.version 7.0\n.target sm_70\n", "PTX", "anyzero compile"),
        (b"; SPIR-V\n; Version: 1.2", "SPIR-V as text", "spirv-as"),
        (b"kernel void f(global int* p) {}", "source code", "source="),
        (b"some words", "text", "anyzero compile"),
        (b"PK\x03\x04" + bytes(60), "a zip archive", "Unpack"),
    ],
)
def test_what_is_no_module_is_named(ctx: az.Context, tmp_path: Path, data: bytes, said: str, remedy: str) -> None:
    with pytest.raises(az.InvalidArgument, match=said) as caught:
        ctx.module(data)
    assert remedy in caught.value.remedy
    (tmp_path / "kernels.bin").write_bytes(data)
    with pytest.raises(az.InvalidArgument, match=rf"kernels\.bin is .*{said.removeprefix('is ')}"):
        ctx.module(tmp_path / "kernels.bin")


def test_other_bytes_are_for_the_driver(ctx: az.Context) -> None:
    with pytest.raises(az.BuildError, match="not a native binary"):
        ctx.module(struct.pack("<4I", 1, 2, 3, 4))


# Elements of buffers


def test_a_buffer_of_other_elements_is_refused(ctx: az.Context) -> None:
    saxpy = ctx.module(SAXPY)["saxpy"]
    right, wrong = ctx.zeros(8, np.float32), ctx.zeros(8, np.float64)
    for _ in range(2):
        saxpy[8](right, right, 1.0)
        with pytest.raises(az.InvalidArgument, match=r"argument 1 of saxpy .* cannot be a buffer of float64") as caught:
            saxpy[8](right, wrong, 1.0)
        assert "np.float32" in caught.value.remedy
    saxpy[8](right, wrong.view(np.float32), 1.0)
    saxpy[8](right, ctx.zeros(32, np.uint8), 1.0)  # bytes may be anything


@pytest.mark.parametrize(
    ("element", "right", "wrong"),
    [
        ("float", ["f4", "c8", "u1", "i1", "f4,i4", "V8"], ["f8", "i4", "u4", "f2", "c16", "?"]),
        ("float4", ["f4", "u1"], ["f8", "i4"]),
        ("int", ["i4", "u4", "u1"], ["f4", "i8", "u2"]),
        ("long", ["i8", "u8"], ["f8", "i4"]),
        ("half", ["f2"], ["u2", "f4"]),
        ("char", ["i1", "u1", "f4", "i8"], []),
        ("void", ["i1", "f8", "f4,i4"], []),
        ("struct", ["i8", "f8"], []),
    ],
)
def test_elements(ctx: az.Context, element: str, right: list[str], wrong: list[str]) -> None:
    taken = Pointer("it", element)
    for dtype in right:
        taken.require_elements(ctx.buffer(1, dtype))
    for dtype in wrong:
        with pytest.raises(az.InvalidArgument, match="it has elements of"):
            taken.require_elements(ctx.buffer(1, dtype))
