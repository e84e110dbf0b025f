"""Graphs that leave the process encrypted only: compiled with SECURE_COMPILE, read by their user on their machine."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("openvino", reason="NOT TESTED: graphs need OpenVINO; pip install openvino")

import openvino as ov

import anyzero as az
from anyzero import ze
from anyzero.api.calls.graph_extension import extension
from anyzero.ze import npu
from tests.npu import models
from tests.npu.conftest import Client

MARK = b"a name that nobody shall read"
Create = Callable[..., "tuple[int, int]"]


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[az.Context]:
    # The driver asks the C library, which sees what os.environ sets.
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with az.device("npu").context() as made:
        yield made


@pytest.fixture
def create(ctx: az.Context) -> Create:
    calls = extension(ctx.device.driver)

    def made(content: bytes, format_: int, flags: int = 0) -> tuple[int, int]:
        memory = ctypes.create_string_buffer(content, len(content))
        desc = npu.ze_graph_desc_2_t(
            stype=npu.ZE_STRUCTURE_TYPE_GRAPH_DESC_2,
            format=format_,
            inputSize=len(content),
            pInput=ctypes.addressof(memory),
            pBuildFlags=b"",
            flags=flags,
        )
        handle = ctypes.c_void_p()
        return calls.Create2(ctx.handle, ctx.device.handle, ctypes.byref(desc), ctypes.byref(handle)), handle.value or 0

    return made


def serialized(folder: Path) -> bytes:
    """A model as the plugin hands it over, with a name in it that would be found."""
    model = models.mlp()
    model.set_friendly_name(MARK.decode())
    ov.serialize(model, str(folder / "model.xml"))
    xml, weights = (folder / "model.xml").read_bytes(), (folder / "model.bin").read_bytes()
    sizes = [len(part).to_bytes(8, "little") for part in (xml, weights)]
    return b"\7\0\36\0\2\0\0\0" + sizes[0] + xml + sizes[1] + weights


def binary(ctx: az.Context, handle: int) -> bytes:
    size, place = ctypes.c_size_t(), ctypes.POINTER(ctypes.c_uint8)()
    calls = extension(ctx.device.driver)
    assert calls.GetNativeBinary2(handle, ctypes.byref(size), ctypes.byref(place)) == 0
    return ctypes.string_at(place, size.value)


def said(ctx: az.Context) -> str:
    size = ctypes.c_uint32()
    ask = extension(ctx.device.driver).BuildLogGetString
    assert ask(None, ctypes.byref(size), None) == 0
    text = ctypes.create_string_buffer(size.value)
    assert ask(None, ctypes.byref(size), text) == 0
    return text.value.decode()


@pytest.fixture
def sealed(ctx: az.Context, create: Create, tmp_path: Path) -> bytes:
    result, handle = create(serialized(tmp_path), npu.ZE_GRAPH_FORMAT_NGRAPH_LITE, npu.ZE_GRAPH_FLAG_SECURE_COMPILE)
    assert result == 0
    return binary(ctx, handle)


def test_a_sealed_graph_can_be_read_by_its_user_alone(
    ctx: az.Context, create: Create, sealed: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MARK not in sealed
    key = tmp_path / "data" / "anyzero" / "graph.key"
    assert key.stat().st_mode & 0o777 == 0o600
    result, handle = create(sealed + bytes(100), npu.ZE_GRAPH_FORMAT_NATIVE)
    assert result == 0
    # The plain text is nowhere in the output.
    again = binary(ctx, handle)
    assert MARK not in again
    assert again[:8] == sealed[:8]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
    assert create(sealed, npu.ZE_GRAPH_FORMAT_NATIVE)[0] == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    assert "another user or on another machine" in said(ctx)


def test_the_same_is_never_encrypted_the_same_way(
    create: Create, ctx: az.Context, sealed: bytes, tmp_path: Path
) -> None:
    flags = npu.ZE_GRAPH_FLAG_SECURE_COMPILE
    other = binary(ctx, create(serialized(tmp_path), npu.ZE_GRAPH_FORMAT_NGRAPH_LITE, flags)[1])
    assert other[12:24] != sealed[12:24]


def test_any_change_is_found(ctx: az.Context, create: Create, sealed: bytes) -> None:
    for place in (9, 13, 25, 33, 49, 64, len(sealed) // 2, len(sealed) - 1):
        changed = bytearray(sealed)
        changed[place] ^= 1
        result = create(bytes(changed), npu.ZE_GRAPH_FORMAT_NATIVE)[0]
        assert result == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, place
    assert create(sealed[:-1], npu.ZE_GRAPH_FORMAT_NATIVE)[0] == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    assert create(sealed[:64], npu.ZE_GRAPH_FORMAT_NATIVE)[0] == ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY


def test_a_key_that_others_can_read_is_not_used(create: Create, sealed: bytes, ctx: az.Context, tmp_path: Path) -> None:
    (tmp_path / "data" / "anyzero" / "graph.key").chmod(0o640)
    flags = npu.ZE_GRAPH_FLAG_SECURE_COMPILE
    result = create(serialized(tmp_path), npu.ZE_GRAPH_FORMAT_NGRAPH_LITE, flags)[0]
    assert result == ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE
    assert "no other user can read" in said(ctx)
    assert create(sealed, npu.ZE_GRAPH_FORMAT_NATIVE)[0] != 0


def test_openvino_with_callbacks_of_its_own(client: Client, tmp_path: Path) -> None:
    """The plugin requests secure compilation, and encrypts again with the program's function; it is not cached."""
    said_ = client.run(
        """
        import os, pathlib
        from tests.npu import models
        flip = lambda content: bytes(np.frombuffer(content, np.uint8) ^ 0x5A)
        config = {"CACHE_ENCRYPTION_CALLBACKS": [flip, flip]}
        core = ov.Core()
        case = models.case("mlp")
        inputs = case.inputs()
        made = core.compile_model(case.build(), "NPU", config)
        case.check([made(inputs)[0]], inputs)
        stream = made.export_model()
        again = core.import_model(stream if isinstance(stream, bytes) else stream.getvalue(), "NPU", config)
        case.check([again(inputs)[0]], inputs)
        print(len(list(pathlib.Path(os.environ["ANYZERO_CACHE_DIR"]).rglob("*.blob"))))
        """,
        XDG_DATA_HOME=str(tmp_path / "data"),
    )
    assert said_ == "0\n"
