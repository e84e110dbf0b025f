"""Compilation of a program's OpenCL C to SPIR-V, by `anyzero.opencl_c` with the program's build options."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anyzero import errors, opencl_c

__all__ = ["Compiler", "options_for_clang"]

_SOURCE: Final = "program.cl"
"""The name of the source in messages."""

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
        # The default of OpenCL.
        made.append("-cl-std=CL1.2")
    return made


@dataclass(frozen=True)
class Compiler:
    """A compiler from OpenCL C to SPIR-V: clang, and the translator of its LLVM bitcode.

    Without a translator clang writes SPIR-V itself, as recent versions can. `find` takes the clang that
    `Context.module` takes for its `source`.

    >>> from anyzero.interop import opencl
    >>> opencl.Compiler("clang-15", "llvm-spirv-15").llvm_spirv
    'llvm-spirv-15'
    """

    clang: str | os.PathLike[str] | tuple[str, ...]
    """A program, or the words of a command such as ``("zig", "clang")``."""
    llvm_spirv: str | os.PathLike[str] | None = None

    @staticmethod
    def find() -> Compiler:
        """The clang of the machine; raise Unavailable where there is none that writes SPIR-V."""
        found = opencl_c.choose()
        return Compiler(found.command if len(found.command) > 1 else found.command[0], found.translator)

    def spirv(self, source: str, options: Sequence[str] = ()) -> bytes:
        """SPIR-V for OpenCL C; `options` are clang's. Raises BuildError with the compiler's messages."""
        command = self.clang if isinstance(self.clang, tuple) else (os.fspath(self.clang),)
        translator = None if self.llvm_spirv is None else os.fspath(self.llvm_spirv)
        clang = opencl_c.named(command, translator)
        try:
            return opencl_c.compile_text(source, options, clang).spirv
        except errors.BuildError as error:
            said = error.log.replace("<stdin>", _SOURCE)
            raise errors.BuildError(
                f"{clang} cannot compile the program's source: {said}",
                log=said,
                remedy="Another compiler built it for OpenCL; options= replaces the options for this one.",
            ) from None
