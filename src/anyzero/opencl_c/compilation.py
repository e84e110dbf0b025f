"""OpenCL C into SPIR-V: clang is run once for each source, and its output is kept on disk."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyzero import cache_folder, config, errors
from anyzero.fingerprint import fingerprint
from anyzero.opencl_c import source_lines
from anyzero.opencl_c.clang import HEADERS, Clang, candidates, choose
from anyzero.opencl_c.repair import RELAXED_PRINTF, repaired
from anyzero.trust.folder import TrustedFolder

__all__ = ["Compiled", "compile_file", "compile_text"]

_STANDARD: Final = "-cl-std=CL3.0"
_OPTIMIZED: Final = "-O2"
_FEATURES: Final = ("-D__opencl_c_work_group_collective_functions=1",)
"""Feature macros that older clangs do not define for SPIR-V by themselves, although they have the functions."""
_UNOPTIMIZED: Final = ("-O1", "-Xclang", "-disable-llvm-passes")
_EXTENSIONS: Final = (
    *("SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max", "SPV_INTEL_subgroups"),
    *("SPV_KHR_expect_assume", "SPV_KHR_no_integer_wrap_decoration"),
)
_NEWER_EXTENSIONS: Final = ("SPV_KHR_bit_instructions", "SPV_KHR_subgroup_rotate", "SPV_KHR_uniform_group_instructions")
"""Further extensions that clang's own target supports."""
_SINCE_22: Final = (RELAXED_PRINTF,)
"""clang 22 asks for it by mistake, where a kernel with a `constant` argument follows one with printf."""
_INCLUDE: Final = re.compile(r"^\s*#\s*include\b", re.MULTILINE)
# Older translators do not know this instruction. It guards against undefined values, and there are none.
_FREEZE: Final = re.compile(r"= freeze (i\d+) ([^\s,]+)")
_SEPARATE: Final = "-ffp-contract=off"
"""Clang's own SPIR-V target writes `fma` for a product and a sum, which takes long where the processor has none.
Written as two operations, they are fused by the driver.
"""
_NO_CLOSED_FORMS: Final = ("-mllvm", "-replexitval=never")
"""The value of a sum behind its loop, as a formula of 33 or 65 bits. SPIR-V has no such integers: clang's own target
refuses some and gets others wrong.
"""
_LOOPS_AS_WRITTEN: Final = ("-mllvm", "-disable-lsr")
"""Strength reduction is for processors, and makes counters of a few bits, which clang's own target gets wrong."""
_CONTRACTION: Final = re.compile(r"FP_CONTRACT|-ffp-")
_MOST: Final = 1 << 28
_ENTRIES: Final = 4096
"""Limits of the cache, in bytes and in results."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """SPIR-V, and clang's warnings."""

    spirv: bytes
    log: str


def compile_file(path: str | os.PathLike[str], options: Sequence[str] = ()) -> Compiled:
    """The SPIR-V of a file. `options` are clang's; its diagnostics come back in a BuildError, as they are."""
    name = os.fspath(path)
    text = Path(path).read_text(errors="surrogateescape")
    return _compile(text, (*options, "-I", str(Path(path).parent)), name)


def compile_text(text: str, options: Sequence[str] = (), clang: Clang | None = None) -> Compiled:
    """The SPIR-V of a text, by the clang of the machine or by the one given."""
    return _compile(text, tuple(options), "-", clang)


def _compile(text: str, options: tuple[str, ...], name: str, given: Clang | None = None) -> Compiled:
    """`name` is the input of clang and the name in its diagnostics: a path, or ``-`` for the text alone."""
    settings = config.read(only=["cache", "cache_dir"])
    # Included files are part of the source, and only clang knows where to find them.
    clang = choose() if given is None and _INCLUDE.search(text) else given
    whole = text if clang is None else _run(clang, [*_front(clang), "-E", *options], name, text)[0].decode()
    folder = cache_folder.of(settings) if settings.cache else None
    key = _key(whole, options, name, given)
    kept = _load(folder, key)
    if kept is not None:
        return kept
    made = _made(clang or choose(), text, options, name, contracts=not _CONTRACTION.search(" ".join((whole, *options))))
    _store(folder, key, made)
    return made


def _made(clang: Clang, text: str, options: tuple[str, ...], name: str, *, contracts: bool) -> Compiled:
    """`contracts` tells that nobody has asked how products and sums are rounded: they may be fused."""
    with tempfile.TemporaryDirectory(prefix="anyzero-") as scratch:
        to = Path(scratch, "kernels.spv")
        if clang.translator is None:
            newer = _NEWER_EXTENSIONS + (_SINCE_22 if clang.version >= 22 else ())
            extensions = f"--spirv-ext={_listed(_EXTENSIONS + newer)}"
            front, back = (
                [*_front(clang), *([_SEPARATE] if contracts else []), *options],
                ["-mllvm", extensions, *_LOOPS_AS_WRITTEN, "-c", "-o", str(to)],
            )
            if not any(each.startswith("-g") and each != "-g0" for each in options):
                _, log = _run(clang, [*front, *back], name, text)
                return Compiled(repaired(to.read_bytes(), contracts=contracts), log)
            ir = Path(scratch, "kernels.ll")
            _, log = _run(clang, [*front, *source_lines.KEEPING_LINES, "-S", "-emit-llvm", "-o", str(ir)], name, text)
            plain = ir.read_text()
            ir.write_text(source_lines.marked(plain))
            # clang has optimized the IR already.
            again = [_target(clang), "-x", "ir", _OPTIMIZED, "-Xclang", "-disable-llvm-passes", "-Wno-override-module"]
            _run(clang, [*again, *back], str(ir), "")
            embedded = text if name == "-" else None
            return Compiled(
                source_lines.with_lines(repaired(to.read_bytes(), contracts=contracts), plain, embedded), log
            )
        bitcode = Path(scratch, "kernels.bc")
        front = [*_front(clang), "-c", "-emit-llvm", *options, "-o", str(bitcode)]
        _, log = _run(clang, front, name, text)
        said = _translate(clang, bitcode, to)
        if said is not None and "vector.reduce" in said:
            # clang joined operations of a work-item to a reduction of a vector, which older translators do not know.
            _run(clang, [*front, "-fno-slp-vectorize"], name, text)
            said = _translate(clang, bitcode, to)
        if said is not None:
            # They do not know everything else that the optimiser writes, either.
            _run(clang, [*front, *_UNOPTIMIZED], name, text)
            said = _translate(clang, bitcode, to)
        if said is not None:
            raise errors.BuildError(
                said, remedy=f"This message is from {clang.translator}, on clang's output.", log=said
            )
        return Compiled(to.read_bytes(), log)


def _front(clang: Clang) -> list[str]:
    headers = ["-isystem", str(HEADERS)] if clang.bare else []
    return [_target(clang), "-x", "cl", _STANDARD, *_FEATURES, _OPTIMIZED, *_NO_CLOSED_FORMS, *headers]


def _target(clang: Clang) -> str:
    return f"--target={'spirv64' if clang.translator is None else 'spir64'}-unknown-unknown"


def _listed(extensions: Sequence[str]) -> str:
    return ",".join(f"+{each}" for each in extensions)


def _run(clang: Clang, arguments: Sequence[str], name: str, text: str) -> tuple[bytes, str]:
    """Run clang on the source and return its output and its messages; raise BuildError with those where it failed."""
    command = [*clang.command, *arguments, name]
    source = text.encode(errors="surrogateescape") if name == "-" else b""
    found = subprocess.run(command, input=source, capture_output=True, check=False)
    said = found.stderr.decode(errors="replace").rstrip()
    if found.returncode:
        raise errors.BuildError(
            said or f"{clang} failed with exit code {found.returncode}",
            remedy=f"This message is from {clang}.",
            log=said,
        )
    return found.stdout, said


def _translate(clang: Clang, bitcode: Path, to: Path) -> str | None:
    """None, or the translator's messages where it fails."""
    command = [str(clang.translator), "--spirv-max-version=1.4", f"--spirv-ext={_listed(_EXTENSIONS)}"]
    found = _translated(command, bitcode, to)
    if found is not None and "freeze" in found:
        plain = bitcode.with_suffix(".ll")
        again = [*clang.command, _target(clang), "-Xclang", "-disable-llvm-passes", "-emit-llvm"]
        subprocess.run([*again, "-S", str(bitcode), "-o", str(plain)], check=True, capture_output=True)
        plain.write_text(_FREEZE.sub(r"= or \1 \2, 0", plain.read_text()))
        subprocess.run([*again, "-c", "-x", "ir", str(plain), "-o", str(bitcode)], check=True, capture_output=True)
        found = _translated(command, bitcode, to)
    return found


def _translated(command: list[str], bitcode: Path, to: Path) -> str | None:
    """None, or the translator's messages where it fails."""
    found = subprocess.run([*command, str(bitcode), "-o", str(to)], capture_output=True, check=False)
    said = (found.stderr + found.stdout).decode(errors="replace").rstrip()
    return None if not found.returncode and to.exists() else said or "the translator failed without a message"


# The cache of results


def _key(text: str, options: tuple[str, ...], name: str, given: Clang | None) -> str:
    """The name of a result: the source, the options, every clang that may have compiled it, and this package, which
    adds lines and repairs.
    """
    made = hashlib.sha256()
    for command in candidates() if given is None else (given.command, (given.translator or given.command[0],)):
        found = os.stat(shutil.which(command[0]) or command[0])  # noqa: PTH116 (a Path takes longer)
        made.update(repr((command, found.st_size, found.st_mtime_ns)).encode())
    flags = (_STANDARD, _FEATURES, _OPTIMIZED, _NO_CLOSED_FORMS, _LOOPS_AS_WRITTEN, _SEPARATE)
    made.update(repr((flags, _EXTENSIONS, _NEWER_EXTENSIONS, _SINCE_22, options, name)).encode())
    made.update(fingerprint(str(Path(__file__).parent)).encode())
    for header in sorted(HEADERS.iterdir()):
        made.update(header.read_bytes())
    made.update(text.encode(errors="surrogateescape"))
    return f"{made.hexdigest()}.spv"


def _load(folder: Path | None, key: str) -> Compiled | None:
    if folder is None:
        return None
    with suppress(OSError, struct.error, UnicodeDecodeError), TrustedFolder.open(folder / "opencl-c") as place:
        data = place.read(key, _MOST)
        if data is not None and hashlib.sha256(data[32:]).digest() == data[:32]:
            (size,) = struct.unpack_from("<I", data, 32)
            place.touch(key)
            return Compiled(data[36 + size :], data[36 : 36 + size].decode())
    return None


def _store(folder: Path | None, key: str, made: Compiled) -> None:
    """Keep a result, if that is possible: without a cache everything works as well, but slower."""
    if folder is None:
        return
    log = made.log.encode()
    content = struct.pack("<I", len(log)) + log + made.spirv
    with suppress(OSError), TrustedFolder.open(folder / "opencl-c", make=True) as place:
        place.write(key, [hashlib.sha256(content).digest(), content], f"{os.getpid()}-{os.urandom(8).hex()}.part")
        _make_room(place)


def _make_room(place: TrustedFolder) -> None:
    """Remove the least recently used half of the entries, once there are too many."""
    entries = [(each.stat(follow_symlinks=False), each.name) for each in place.entries()]
    if len(entries) <= _ENTRIES and sum(found.st_size for found, _ in entries) <= _MOST:
        return
    for _, name in sorted((found.st_mtime, name) for found, name in entries)[: len(entries) // 2 + 1]:
        place.remove(name)
