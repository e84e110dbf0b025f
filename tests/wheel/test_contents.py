"""The wheel as a file: its tag, what is in it and what is not, and its size."""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from tests.shape.tree import ROOT, files

MEGABYTE = 1 << 20
LIBRARIES = {"description", "libanyzero_calls.so", "libanyzero_opencl.so", "libze_anyzero.so.1", "libze_loader.so.1"}
FOR_COMPILERS = {
    *(f"include/level_zero/{name}.h" for name in ("ze_api", "ze_npu_ext", "zer_api", "zes_api", "zet_api")),
    "include/level_zero/loader/ze_loader.h",
    "include/level_zero/layers/zel_tracing_api.h",
    "include/level_zero/layers/zel_tracing_register_cb.h",
    "lib/link/libze_loader.so",
    "lib/pkgconfig/level-zero.pc",
    "lib/pkgconfig/libze_loader.pc",
    "lib/cmake/LevelZero/LevelZeroConfig.cmake",
    "lib/cmake/LevelZero/LevelZeroConfigVersion.cmake",
}


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_tag(wheel: Path) -> None:
    assert re.fullmatch(r"anyzero-[0-9.]+-py3-none-manylinux_2_28_x86_64\.whl", wheel.name)


def test_the_size(wheel: Path) -> None:
    assert wheel.stat().st_size < 4 * MEGABYTE
    with zipfile.ZipFile(wheel) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) < 12 * MEGABYTE


def test_it_has_every_file_and_no_other(names: set[str]) -> None:
    sources = {str(PurePosixPath(name).relative_to("src")) for name in files() if name.startswith("src/anyzero/")}
    pages = {f"anyzero/{name}" for name in files() if re.fullmatch(r"docs/.*\.md", name)}
    built = {f"anyzero/lib/{name}" for name in LIBRARIES} | {f"anyzero/{name}" for name in FOR_COMPILERS}
    ours = {name for name in names if not re.match(r"anyzero-[0-9.]+\.dist-info/", name)}
    expected = sources | pages | built
    assert sorted(expected - ours) == []
    assert sorted(ours - expected) == []


def test_nothing_in_it_names_the_machine_that_built_it(wheel: Path, names: set[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert [name for name in sorted(names) if str(ROOT).encode() in archive.read(name)] == []


def test_libraries_have_no_debug_information(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if re.search(r"\.so(\.1)?$", name)]
        assert len(libraries) >= 4
        assert [name for name in libraries if ".debug_info" in _sections(archive.read(name))] == []


def _sections(library: bytes) -> set[str]:
    """The names of the sections of a shared library, by its section header table; a linker script has none."""
    if not library.startswith(b"\x7fELF"):
        return set()
    (table,) = struct.unpack_from("<Q", library, 0x28)
    size, count, names = struct.unpack_from("<HHH", library, 0x3A)
    headers = [struct.unpack_from("<IIQQQ", library, table + number * size) for number in range(count)]
    start = headers[names][4]
    return {library[start + name : library.index(b"\0", start + name)].decode() for name, *_ in headers}
