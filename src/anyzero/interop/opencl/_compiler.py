"""From OpenCL C to SPIR-V, with an installed compiler."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from anyzero import errors
from anyzero.trust import process

__all__ = ["Compiler", "options_for_clang"]

_INSTALL: Final = (
    "Install clang and its SPIR-V translator (Debian, Ubuntu: apt install clang llvm-spirv-15 or later), or name them: "
    "opencl.module(…, compiler=opencl.Compiler(clang, llvm_spirv))."
)
_NOT_STARTED: Final = 127
"""The linker's status for a program whose libraries are missing."""
_VERSION: Final = re.compile(r"(?:clang|llvm-spirv)(?:-(\d+))?")

# Clang has the same names for these.
_TAKEN: Final = {
    "-cl-single-precision-constant",
    "-cl-denorms-are-zero",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-opt-disable",
    "-cl-strict-aliasing",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-uniform-work-group-size",
    "-cl-kernel-arg-info",
    "-w",
    "-Werror",
    "-g",
}
# Options that SPIR-V cannot express, about storage and execution elsewhere.
_WITHOUT_MEANING: Final = {"-cl-no-subgroup-ifp", "-create-library", "-enable-link-options"}
_WITH_A_VALUE: Final = ("-D", "-U", "-I")


def options_for_clang(options: str) -> list[str]:
    """The build options of an OpenCL program as clang takes them.

    >>> from anyzero.interop.opencl._compiler import options_for_clang
    >>> options_for_clang("-D N=4 -Iinclude -cl-mad-enable")
    ['-DN=4', '-Iinclude', '-cl-mad-enable', '-cl-std=CL1.2']
    """
    made: list[str] = []
    words = iter(shlex.split(options))
    for word in words:
        if word in _WITH_A_VALUE:
            value = next(words, None)
            if value is None:
                raise errors.InvalidArgument(f"the build option {word} has no value")
            made.append(word + value)
        elif word in _TAKEN or word.startswith((*_WITH_A_VALUE, "-cl-std=", "-cl-ext=")):
            made.append(word)
        elif word not in _WITHOUT_MEANING:
            raise errors.InvalidArgument(
                f"the effect of the build option {word} in clang is not known",
                remedy="Pass options= with the options for clang instead.",
            )
    if not any(each.startswith("-cl-std=") for each in made):
        # OpenCL's own default.
        made.append("-cl-std=CL1.2")
    return made


@dataclass(frozen=True)
class Compiler:
    """A compiler from OpenCL C to SPIR-V: clang, and the translator of its LLVM bitcode.

    Without a translator clang writes SPIR-V itself, as recent versions can. `find` looks on PATH.

    >>> from anyzero.interop import opencl
    >>> opencl.Compiler("clang-15", "llvm-spirv-15").llvm_spirv
    'llvm-spirv-15'
    """

    clang: str | os.PathLike[str]
    llvm_spirv: str | os.PathLike[str] | None = None

    @staticmethod
    def find() -> Compiler:
        """The newest clang on PATH that has a translator of its version there, else one without."""
        # In a process with more rights than its caller, the caller must not choose the programs that are run.
        found = _find(os.defpath if process.is_secure() else os.environ.get("PATH", os.defpath))
        if found is None:
            raise errors.Unavailable("there is no clang on PATH to compile the program's source with", remedy=_INSTALL)
        return found

    def spirv(self, source: str, options: Sequence[str] = ()) -> bytes:
        """SPIR-V for OpenCL C; `options` are clang's. Raises BuildError with the compiler's messages."""
        with tempfile.TemporaryDirectory(prefix="anyzero-") as folder:
            text = Path(folder, "program.cl")
            text.write_text(source)
            if self.llvm_spirv is None:
                return self._directly(text, options)
            try:
                # The translator of some versions does not know everything that the optimiser writes.
                return self._translated(text, options, ("-O2", "-fno-slp-vectorize", "-fno-vectorize"))
            except _Refused:
                try:
                    return self._translated(text, options, ("-O1", "-Xclang", "-disable-llvm-passes"))
                except _Refused as refused:
                    raise refused.as_error from None

    def _directly(self, text: Path, options: Sequence[str]) -> bytes:
        made = text.with_suffix(".spv")
        try:
            _run([self.clang, "-c", "--target=spirv64", "-O2", *options, text, "-o", made], text)
        except errors.BuildError as error:
            error.remedy = f"{error.remedy} If clang cannot write SPIR-V by itself: {_INSTALL}"
            raise
        return made.read_bytes()

    def _translated(self, text: Path, options: Sequence[str], effort: Sequence[str]) -> bytes:
        assert self.llvm_spirv is not None
        bitcode, made = text.with_suffix(".bc"), text.with_suffix(".spv")
        front = ["-c", "--target=spir64", "-emit-llvm", *effort]
        _run([self.clang, *front, *options, text, "-o", bitcode], text)
        try:
            _run([self.llvm_spirv, "--spirv-max-version=1.4", "--spirv-ext=+all", bitcode, "-o", made], text)
        except errors.BuildError as error:
            raise _Refused(error) from None
        return made.read_bytes()


class _Refused(Exception):  # noqa: N818 (a turn, not a report)
    """The translator refused clang's output."""

    def __init__(self, error: errors.BuildError) -> None:
        self.as_error = error


def _run(command: Sequence[str | os.PathLike[str]], text: Path) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise errors.Unavailable(f"{os.fspath(command[0])} cannot be started: {error}", remedy=_INSTALL) from None
    if done.returncode == _NOT_STARTED:
        raise errors.Unavailable(f"{os.fspath(command[0])} cannot be started: {done.stderr.strip()}", remedy=_INSTALL)
    if done.returncode:
        said = (done.stderr + done.stdout).replace(f"{text.parent}{os.sep}", "").strip()
        name = Path(os.fspath(command[0])).name
        raise errors.BuildError(
            f"{name} cannot compile the program's source: {said}",
            log=said,
            remedy="Another compiler built it for OpenCL; options= replaces the options for this one.",
        )


@cache
def _find(path: str) -> Compiler | None:
    compilers = dict(_versions(path, "clang"))
    translators = dict(_versions(path, "llvm-spirv"))
    both = compilers.keys() & translators.keys()
    if both:
        # A name without a version is the system's default.
        version = None if None in both else max(each for each in both if each)
        return Compiler(compilers[version], translators[version])
    if not compilers:
        return None
    version = None if None in compilers else max(each for each in compilers if each)
    return Compiler(compilers[version], next(iter(translators.values()), None))


def _versions(path: str, name: str) -> Iterator[tuple[int | None, str]]:
    """Programs called `name`, or `name` and a version, by that version."""
    for folder in reversed(path.split(os.pathsep)):
        try:
            entries = sorted(os.listdir(folder or "."))  # noqa: PTH208 (names, not paths)
        except OSError:
            continue
        for entry in entries:
            match = _VERSION.fullmatch(entry)
            if match and entry.startswith(name) and shutil.which(entry, path=folder or "."):
                yield int(match[1]) if match[1] else None, str(Path(folder, entry))
