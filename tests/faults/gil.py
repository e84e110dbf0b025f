"""Builds the C half of the tests around the interpreter's lock, and wraps it."""

from __future__ import annotations

import ctypes
import os
import subprocess
from ctypes import Structure, c_char_p, c_double, c_int, c_size_t, c_void_p
from pathlib import Path

from tests.abi.calls import LIBRARY

SOURCE = Path(__file__).with_name("gil.c")


def build(folder: Path) -> Path:
    library = folder / "libgil.so"
    compiler = os.environ.get("CC", "gcc")
    command = [
        compiler,
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        str(SOURCE),
        "-o",
        str(library),
    ]
    subprocess.run([*command, "-lpthread", "-ldl"], check=True)
    return library


class Work(Structure):
    """As in gil.c."""

    _fields_ = [
        *((name, c_void_p) for name in ("list", "event", "queue", "recorded", "fence", "to", "source")),
        ("size", c_size_t),
        ("times", c_int),
        ("done", c_void_p),
        ("failed", c_void_p),
    ]


class Waiting(Structure):
    _fields_ = [("event", c_void_p), ("woken", c_void_p)]


def load(path: str) -> ctypes.PyDLL:
    """Every call holds the interpreter's lock, as an extension module's does."""
    lib = ctypes.PyDLL(path)
    lib.spin.argtypes = [c_double, c_void_p, c_int]
    lib.open_driver.argtypes = [c_char_p]
    lib.start_worker.argtypes = lib.start_waiter.argtypes = [c_void_p]
    lib.destroy_at_exit.argtypes = [c_char_p, c_void_p, c_void_p]
    lib.register_exit.argtypes = lib.signal_at_exit.argtypes = [c_void_p]
    lib.signal_asleep.argtypes = lib.signal_finalizing.argtypes = [c_void_p]
    assert lib.open_driver(os.fsencode(LIBRARY))
    return lib
