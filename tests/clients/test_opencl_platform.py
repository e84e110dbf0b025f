"""The OpenCL platform for oneMKL's FFT: its visibility, and building programs. Libraries of that name stand in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from anyzero.api.calls import loaders
from tests.patience import PATIENCE

HERE = Path(__file__).parent
KERNELS = HERE.parent / "kernels"

OPENING = """
import ctypes, sys
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
library = ctypes.CDLL(sys.argv[1])
def load(name): ctypes.CDLL(f"{sys.argv[2]}/{name}")
def platform():
    found = c_void_p()
    status = library.clIcdGetPlatformIDsKHR(1, byref(found), None)
    return found if status == 0 else status
def call(place, object, *arguments, returns=c_int32):
    table = ctypes.cast(ctypes.cast(object, ctypes.POINTER(c_void_p))[0], ctypes.POINTER(c_void_p))
    return ctypes.CFUNCTYPE(returns, c_void_p, *map(type, arguments))(table[place])(object, *arguments)
def device(kind=4, room=16):
    places = (c_void_p * 16)()
    count = c_uint32()
    to = ctypes.cast(places, c_void_p) if room else c_void_p()
    status = call(2, platform(), c_uint64(kind), c_uint32(room), to, ctypes.cast(byref(count), c_void_p))
    return c_void_p(places[0]) if status == 0 else status
def number(object, place, what, kind=c_uint32):
    value = kind()
    size = c_size_t(ctypes.sizeof(value))
    assert call(place, object, c_uint32(what), size, ctypes.cast(byref(value), c_void_p), c_void_p()) == 0
    return value.value
"""


def program(folder: Path, source: str, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYZERO_", "ZE_", "OCL_"))}
    path = os.pathsep.join([str(loaders.FOLDER.parents[1]), kept.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", OPENING + textwrap.dedent(source), str(loaders.OPENCL), str(folder), *arguments],
        env={**kept, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Something under the names of SYCL's runtime, of oneMKL's FFT and of the compiler for OpenCL C."""
    folder = tmp_path_factory.mktemp("libraries")
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    for name in ("libsycl.so.9", "libmkl_sycl_dft.so.6", "libcommon_clang.so"):
        made = [compiler, "-shared", "-fPIC", str(HERE / "opencl" / "front_end.c"), "-o", str(folder / name)]
        subprocess.run(made, check=True, timeout=PATIENCE)
    return folder


def test_only_the_library_that_it_is_for_sees_the_device(libraries: Path) -> None:
    program(
        libraries,
        """
        assert platform() == -1001
        load("libsycl.so.9")
        assert device() == -1
        load("libmkl_sycl_dft.so.6")
        assert device(kind=0xFFFFFFFF) == device(kind=2) == device(room=0) == -1
        import anyzero
        mine = anyzero.device("cpu")
        assert (number(device(), 3, 0x1001), number(device(), 3, 0x100C)) == (mine.vendor_id, mine.clock_mhz)
        # Nothing can be computed: a queue, a buffer, a kernel.
        assert call(9, device(), returns=c_void_p) is None and call(47, device()) == -59
        """,
    )


BUILD = """
load("libsycl.so.9")
load("libmkl_sycl_dft.so.6")
one = (c_void_p * 1)(device().value)
create = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p, c_void_p)
table = ctypes.cast(ctypes.cast(device(), ctypes.POINTER(c_void_p))[0], ctypes.POINTER(c_void_p))
context = c_void_p(create(table[4])(None, 1, ctypes.cast(one, c_void_p), None, None, None))
source = ctypes.cast((c_char_p * 1)(b"kernel void f() {}"), c_void_p)
built = c_void_p(call(26, context, c_uint32(1), source, c_void_p(), c_void_p(), returns=c_void_p))
def build(options): return call(30, built, c_uint32(0), c_void_p(), c_char_p(options.encode()), c_void_p(), c_void_p())
def log():
    text = ctypes.create_string_buffer(1000)
    assert call(33, built, device(), c_uint32(0x1183), c_size_t(1000), ctypes.cast(text, c_void_p), c_void_p()) == 0
    return text.value.decode()
"""


def test_a_program_becomes_a_native_binary_of_the_driver(libraries: Path) -> None:
    program(
        libraries,
        BUILD
        + """
assert build(f"-DFILE={sys.argv[3]}") == 0, log()
binary = ctypes.create_string_buffer(number(built, 32, 0x1165, c_size_t))
place = c_void_p(ctypes.addressof(binary))
assert call(32, built, c_uint32(0x1166), c_size_t(8), ctypes.cast(byref(place), c_void_p), c_void_p()) == 0
import anyzero, numpy as np
with anyzero.device("cpu").context() as ctx:
    saxpy = ctx.module(binary.raw, format="native")["saxpy"]
assert call(29, built) == 0 and call(7, context) == 0
""",
        str(KERNELS / "saxpy.spv"),
    )


def test_a_program_that_is_wrong_says_why(libraries: Path) -> None:
    program(
        libraries,
        BUILD
        + """
assert build("") == -11 and "no such source" in log()
""",
    )


def test_without_a_compiler_the_log_says_what_to_install(libraries: Path, tmp_path: Path) -> None:
    for name in ("libsycl.so.9", "libmkl_sycl_dft.so.6"):
        shutil.copy(libraries / name, tmp_path)
    program(tmp_path, BUILD + 'assert build("") == -11 and "pip install intel-opencl-rt" in log(), log()')
