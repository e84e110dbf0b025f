"""Native binaries: they spare the compiler, bring what another machine needs, and are refused where damaged."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero import ze
from anyzero.driver.modules import container, provenance
from anyzero.driver.modules import native as binaries
from anyzero.driver.modules.container import Container
from anyzero.driver.modules.inputs import Input
from anyzero.driver.settings import settings
from anyzero.wire import WireError
from tests.compiler.samples import MODULES, many_kernels
from tests.unit.planning import (
    SUCCESS,
    VOID_FUNCTION,
    Compiler,
    build,
    create,
    entry,
    kernel,
    module,
    native,
    pretending,
)

NATIVE = ze.ZE_MODULE_FORMAT_NATIVE
INVALID = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY

INPUTS = (
    Input(MODULES["saxpy"], "-g -ze-opt-level=1"),
    Input(b"anything", "", ((4, b"\1\0\0\0"), (9, b"\1"))),
)
CONTAINER = container.encode(Container(kernel(), bytes(16), bytes(16)))
BINARY = binaries.encode(INPUTS, {hashlib.sha256(b"key").digest(): CONTAINER})


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    monkeypatch.setenv("ANYZERO_CACHE", "off")
    with pretending(tmp_path, monkeypatch) as made:
        yield made


def test_it_is_read_back_as_it_was() -> None:
    found = binaries.decode(BINARY)
    assert found.inputs == INPUTS
    assert found.containers == {hashlib.sha256(b"key").digest(): CONTAINER}
    assert found.versions == provenance.versions()
    assert found.processor == provenance.processor()


def test_machine_code_that_is_not_wanted_is_left_alone(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """A binary is code that is trusted; whoever does not trust it has its SPIR-V compiled."""
    plan = build(MODULES["saxpy"]).plan
    _, _, expected = create(plan, "saxpy")
    _, _, data = native(plan)
    found = binaries.decode(data)
    forged = {key: code.replace(b"code of saxpy", b"evil of saxpy") for key, code in found.containers.items()}
    data = binaries.encode(found.inputs, forged)
    for setting, made in (("on", next(iter(forged.values()))), ("off", expected)):
        monkeypatch.setenv("ANYZERO_NATIVE", setting)
        settings.cache_clear()
        again = build(data, form=NATIVE)
        assert again.status == SUCCESS
        assert create(again.plan, "saxpy")[2] == made


@given(st.integers(0, len(BINARY) * 8 - 1))
def test_a_flipped_bit_is_noticed(place: int) -> None:
    damaged = bytearray(BINARY)
    damaged[place // 8] ^= 1 << place % 8
    with pytest.raises(WireError):
        binaries.decode(bytes(damaged))


@given(st.integers(0, len(BINARY) - 1))
def test_a_cut_is_noticed(length: int) -> None:
    with pytest.raises(WireError):
        binaries.decode(BINARY[:length])


@given(st.integers(56, len(BINARY) - 1), st.binary(min_size=1, max_size=16))
def test_wrong_contents_under_a_right_checksum(place: int, change: bytes) -> None:
    body = bytearray(BINARY[56:])
    body[place - 56 : place - 56 + len(change)] = change
    head = struct.pack("<8sIIQ", b"AZMODU01", 1, 0, 56 + len(body)) + hashlib.sha256(body).digest()
    try:
        found = binaries.decode(head + bytes(body))
    except WireError:
        return
    assert found.inputs


@given(st.binary(max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    for given_bytes in (data, b"AZMODU01" + data):
        with pytest.raises(WireError):
            binaries.decode(given_bytes)


def test_the_same_machine_needs_no_compiler(compiler: Compiler) -> None:
    built = build((many_kernels(5, 3), "-ze-opt-level=1", {}))
    expected = create(built.plan, "kernel_000003")
    status, log, data = native(built.plan)
    assert (status, log) == (SUCCESS, "")
    assert len(compiler.calls) == 5
    again = build(data, form=NATIVE)
    assert (again.status, again.kernels) == (SUCCESS, built.kernels)
    assert [create(again.plan, name)[0] for name in again.kernels] == [SUCCESS] * 5
    assert create(again.plan, "kernel_000003") == expected
    assert len(compiler.calls) == 5
    assert native(again.plan)[2] == data


@pytest.mark.parametrize("change", ["processor", "versions", "compiler_digest"])
def test_another_machine_or_version_compiles_again(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    data = native(build((MODULES["saxpy"], "-ze-opt-disable", {})).plan)[2]
    monkeypatch.setattr(provenance, change, lambda: "another")
    again = build(data, form=NATIVE)
    assert create(again.plan, "saxpy")[0] == SUCCESS
    assert [call.options.level for call in compiler.calls] == [0, 0]


def test_kernels_in_the_form_of_another_version_are_left_out(compiler: Compiler) -> None:
    older = b"AZKERN01" + CONTAINER[8:]
    inputs = [Input(MODULES["saxpy"])]
    again = build(binaries.encode(inputs, {hashlib.sha256(b"key").digest(): older}), form=NATIVE)
    assert create(again.plan, "saxpy")[0] == SUCCESS
    assert len(compiler.calls) == 1


def test_another_environment_compiles_again(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    data = native(build(MODULES["saxpy"]).plan)[2]
    monkeypatch.setenv("ANYZERO_LANES", "4")
    settings.cache_clear()
    create(build(data, form=NATIVE).plan, "saxpy")
    assert [call.options.lanes for call in compiler.calls] == [None, 4]


def test_constants_come_along(compiler: Compiler) -> None:
    data = native(build((MODULES["special"], "", {4: struct.pack("<I", 24)})).plan)[2]
    again = build(data, form=NATIVE)
    assert create(again.plan, "special")[0] == SUCCESS
    assert len(compiler.calls) == 1
    assert compiler.calls[0].module.kernels["special"].required_group_size == (24, 1, 1)


def test_lines_come_along(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """What debuggers need is in the SPIR-V, and so are the flags that ask for it."""
    data = native(build((MODULES["saxpy"], "-g", {})).plan)[2]
    assert b"saxpy.cl" in data
    monkeypatch.setattr(provenance, "processor", lambda: "another")
    create(build(data, form=NATIVE).plan, "saxpy")
    assert compiler.calls[1].options.debug
    assert list(compiler.calls[1].module.words) == list(compiler.calls[0].module.words)


def test_a_kernel_that_cannot_be_compiled_does_not_stop_the_others(compiler: Compiler) -> None:
    names, body = entry("bad", "%sum = OpIAdd %i32 %half %c1")
    more, fine = entry("fine")
    built = build(module(body + fine, head=VOID_FUNCTION, names=names + more))
    status, log, data = native(built.plan)
    assert status == SUCCESS
    assert log.startswith('warning: the kernel "bad" is not compiled: error: word ')
    again = build(data, form=NATIVE)
    assert create(again.plan, "fine")[0] == SUCCESS
    assert create(again.plan, "bad")[0] == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    assert [call.name for call in compiler.calls] == ["fine"]


def test_refusals_say_why(compiler: Compiler) -> None:
    data = native(build(MODULES["saxpy"]).plan)[2]
    newer = bytearray(data)
    newer[8] = 2
    altered = bytearray(data)
    altered[-1] ^= 1
    for given_bytes, said in [
        (MODULES["saxpy"], "error: the module is SPIR-V and not a native binary of anyzero"),
        (b"\x7fELF" + bytes(100), "error: the module is something else and not a native binary of anyzero"),
        (data[:-1], f"error: the module is a native binary of {len(data)} bytes, of which {len(data) - 1} were given"),
        (data + b"\0", f"of which {len(data) + 1} were given"),
        (bytes(newer), "error: the module is a native binary of version 2; this driver reads version 1"),
        (bytes(altered), "altered or damaged"),
        (b"", "something else"),
    ]:
        built = build(given_bytes, form=NATIVE)
        assert built.status == INVALID
        assert said in built.log
    wrong = build(data)
    assert wrong.status == INVALID
    assert wrong.log.endswith("It is a native binary: its format is ZE_MODULE_FORMAT_NATIVE.")


def test_spirv_inside_is_looked_at_like_any_other(compiler: Compiler) -> None:
    built = build(binaries.encode([Input(b"not a module at all!")], {}), form=NATIVE)
    assert built.status == INVALID
    assert "begins with" in built.log
