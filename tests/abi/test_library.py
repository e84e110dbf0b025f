"""The shared library itself: what it exports, and how it lives without Python and beside a copy of itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.abi.calls import LIBRARY, environment, run_python
from tests.patience import PATIENCE

HOST = r"""
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint32_t result;
static void* lib;
#define CALL(name, ...) ((result (*)())dlsym(lib, #name))(__VA_ARGS__)

int main(int argc, char** argv) {
  (void)argc;
  for (int round = 0; round < 3; ++round) {
    lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!lib) return printf("%s\n", dlerror()), 2;
    result r = CALL(zeInit, 0);
    if (r) return printf("zeInit %#x\n", r), 3;
    uint32_t one = 1;
    void *driver, *device, *context, *list, *memory;
    if (CALL(zeDriverGet, &one, &driver)) return 4;
    one = 1;
    if (CALL(zeDeviceGet, driver, &one, &device)) return 5;
    struct { uint32_t stype; const void* next; uint32_t flags; } context_desc = {0xd}, host_desc = {0x16};
    if (CALL(zeContextCreate, driver, &context_desc, &context)) return 6;
    struct { uint32_t stype; const void* next; uint32_t ordinal, index, flags, mode, priority; } queue = {0xe};
    if (CALL(zeCommandListCreateImmediate, context, device, &queue, &list)) return 7;
    if (CALL(zeMemAllocHost, context, &host_desc, (size_t)(4 << 20), (size_t)64, &memory)) return 8;
    memset(memory, 1, 4 << 20);
    unsigned char value = 0x42;
    size_t size = 4 << 20;
    if (CALL(zeCommandListAppendMemoryFill, list, memory, &value, (size_t)1, size, NULL, 0, NULL)) return 9;
    if (CALL(zeCommandListHostSynchronize, list, UINT64_MAX)) return 10;
    for (size_t i = 0; i < 4 << 20; ++i)
      if (((unsigned char*)memory)[i] != value) return 11;
    if (CALL(zeMemFree, context, memory) || CALL(zeCommandListDestroy, list)) return 12;
    if (CALL(zeContextDestroy, context)) return 13;
    dlclose(lib);
  }
  puts("fine");
  return 0;
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("host")
    (folder / "host.c").write_text(HOST)
    compiler = os.environ.get("CC", "gcc")
    program = folder / "host"
    subprocess.run([compiler, "-O1", "-w", str(folder / "host.c"), "-o", str(program), "-ldl"], check=True)
    return program


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("description") / "machine"
    done = subprocess.run(
        [sys.executable, "-m", "anyzero.driver"], stdout=subprocess.PIPE, env=environment(), check=True
    )
    path.write_bytes(done.stdout)
    return path


def run_host(host: Path, *, expect: int = 0, **variables: str) -> str:
    command = [str(host), str(LIBRARY)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=environment(**variables), check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout


def test_only_the_api_is_exported() -> None:
    listing = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True)
    names = [line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()]
    gdb = {"__jit_debug_descriptor", "__jit_debug_register_code"}
    assert {name for name in names if not name.startswith("ze")} == gdb
    assert len(names) > 300


def test_only_the_system_is_needed() -> None:
    """No libpython and no C++ runtime: one binary for every Python and every distribution."""
    dynamic = subprocess.run(["readelf", "-d", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line]
    system = {
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "librt.so.1",
        "ld-linux-x86-64.so.2",
        "libgcc_s.so.1",
    }
    assert set(needed) <= system
    assert "libze_anyzero.so.1" in dynamic


def test_c_program_with_a_description(host: Path, description: Path) -> None:
    """Opened, closed and opened again: engine threads outlive a dlclose."""
    assert "fine" in run_host(host, ANYZERO_DESCRIPTION=str(description))


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "garbage", "directory"])
def test_c_program_without_a_good_description_is_told(
    host: Path, description: Path, tmp_path: Path, damage: str
) -> None:
    bad = tmp_path / "bad"
    good = description.read_bytes()
    contents = {"empty": b"", "truncated": good[: len(good) // 2], "garbage": os.urandom(4096)}
    if damage in contents:
        bad.write_bytes(contents[damage])
    elif damage == "directory":
        bad.mkdir()
    assert "zeInit 0x78000001" in run_host(host, expect=3, ANYZERO_DESCRIPTION=str(bad))


def test_description_in_a_python_program(description: Path) -> None:
    run_python(
        """
        az = Calls()
        context = az.context()
        l, room = az.immediate(context, mode=1), az.memory(context, 64)
        az.fill(l, room, 1, 64)
        """,
        ANYZERO_DESCRIPTION=str(description),
    )


def test_two_copies_in_one_process(tmp_path: Path) -> None:
    """As when a loader brings its own: each has its objects, and the faults of each are its own."""
    copy = tmp_path / "libze_other.so.1"
    shutil.copy(LIBRARY, copy)
    run_python(
        """
        import tests.abi.calls as calls
        first = Calls()
        calls.LIBRARY = sys.argv[1]
        second = Calls()
        assert first.lib.path != second.lib.path
        one, two = first.context(), second.context()
        first.error(INVALID_NULL_HANDLE, "zeContextGetStatus", two)
        second.error(INVALID_NULL_HANDLE, "zeContextGetStatus", one)
        for _ in range(3):
            for az in (first, second, second, first):
                for ordinal in (0, 1):
                    for mode in (0, 1):
                        context = az.context()
                        room = az.memory(context, 1 << 20)
                        l = az.immediate(context, ordinal=ordinal)
                        bad = az.immediate(az.context(), ordinal=ordinal, mode=mode)
                        az.call("zeCommandListAppendMemoryCopy", bad, 0x700000001000, room, 1 << 20, None, 0, None)
                        az.error(DEVICE_LOST, "zeCommandListHostSynchronize", bad, SOON)
                        az.fill(l, room, 5, 1 << 20)
                        az.ok("zeCommandListHostSynchronize", l, SOON)
                        assert read(room, 1 << 20) == bytes([5]) * (1 << 20)
                        az.ok("zeContextDestroy", context)
        """,
        arguments=[str(copy)],
        ANYZERO_LOG="off",
    )


def test_the_largest_topology() -> None:
    run_python(
        """
        az = Calls()
        parts = [p for d in az.devices for p in (d, *az.several("zeDeviceGetSubDevices", d))]
        assert len(parts) == 64
        context = az.context()
        for index, part in enumerate(parts):
            l, room = az.immediate(context, part, mode=1), az.memory(context, 4096, "device", device=part)
            az.fill(l, room, index, 4096)
            assert read(room, 4096) == bytes([index]) * 4096
            queue, recorded = az.queue(context, part), az.list(context, part)
            az.fill(recorded, room, 1, 64)
            az.close(recorded)
            az.ok("zeContextEvictMemory", context, part, room, 4096)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([recorded]), None)
            az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
        """,
        ANYZERO_DEVICES="cpu:tiles=31,paging=off,memory=128M,cpu:tiles=31,paging=off,memory=128M",
        ANYZERO_LOG="off",
    )
