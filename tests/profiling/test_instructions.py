"""Lengths and kinds of x86-64 instructions."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.api.library import LIBRARY_PATH
from anyzero.profiling.instructions import Kind, instructions

KNOWN = {
    "48 8b 44 24 08": Kind.LOAD,  # mov rax, [rsp+8]
    "48 89 5c 24 08": Kind.STORE,  # mov [rsp+8], rbx
    "48 8d 05 10 00 00 00": Kind.ARITHMETIC,  # lea rax, [rip+16]
    "48 b8 01 02 03 04 05 06 07 08": Kind.ARITHMETIC,  # mov rax, imm64
    "66 81 c1 34 12": Kind.ARITHMETIC,  # add cx, 0x1234
    "0f 85 10 00 00 00": Kind.BRANCH,  # jne
    "f7 f1": Kind.DIVISION,  # div ecx
    "f7 c1 01 00 00 00": Kind.ARITHMETIC,  # test ecx, 1
    "c5 fc 28 06": Kind.LOAD,  # vmovaps ymm0, [rsi]
    "c5 fc 29 07": Kind.STORE,  # vmovaps [rdi], ymm0
    "c5 fc 5e c1": Kind.DIVISION,  # vdivps ymm0, ymm0, ymm1
    "c5 fc 51 c1": Kind.DIVISION,  # vsqrtps ymm0, ymm1
    "c4 e2 75 98 c2": Kind.ARITHMETIC,  # vfmadd132ps ymm0, ymm1, ymm2
    "c4 e2 6d 92 04 8e": Kind.GATHER,  # vgatherdps ymm0, [rsi+ymm1*4], ymm2
    "62 f2 7d 49 92 04 8e": Kind.GATHER,  # vgatherdps zmm0{k1}, [rsi+zmm1*4]
    "62 f2 7d 49 a2 04 8e": Kind.SCATTER,  # vscatterdps [rsi+zmm1*4]{k1}, zmm0
    "62 f1 7c 48 11 47 01": Kind.STORE,  # vmovups [rdi+64], zmm0
    "62 f2 7e 48 31 07": Kind.STORE,  # vpmovdb [rdi], zmm0
    "c4 e3 7d 39 c1 01": Kind.ARITHMETIC,  # vextracti128 xmm1, ymm0, 1
    "c5 f8 77": Kind.ARITHMETIC,  # vzeroupper
    "c3": Kind.BRANCH,  # ret
}


def test_known_instructions() -> None:
    code = b"".join(bytes.fromhex(text) for text in KNOWN)
    found = list(instructions(code))
    assert [code[each.offset : each.offset + each.length] for each in found] == [bytes.fromhex(text) for text in KNOWN]
    assert [each.kind for each in found] == list(KNOWN.values())


@given(st.binary(max_size=64))
def test_any_bytes(code: bytes) -> None:
    at = 0
    for each in instructions(code):
        assert each.offset == at
        assert 1 <= each.length <= len(code) - at
        at += each.length


@pytest.mark.skipif(not shutil.which("objdump"), reason="NO OBJDUMP: lengths were not compared with it")
def test_lengths_are_those_of_objdump() -> None:
    """The driver's own code: some hundred kilobytes of it."""
    command = ["objdump", "-d", "-w", "-j", ".text", "--stop-address=0x60000", str(LIBRARY_PATH)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seen = 0
    lines = re.findall(r"^\s*[0-9a-f]+:\t((?:[0-9a-f]{2} )+)", text, re.MULTILINE)
    for line in lines[:-16]:  # the last instruction is cut off, and shown byte by byte
        code = bytes.fromhex(line)
        seen += 1
        found = next(instructions(code), None)
        assert found is not None, line
        assert found.length == len(code), line
    assert seen > 10_000
