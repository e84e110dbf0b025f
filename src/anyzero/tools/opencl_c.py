"""`anyzero compile`: OpenCL C into a SPIR-V file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from anyzero import errors
from anyzero.opencl_c import compile_file, compile_text
from anyzero.tools.terminal import progress

__all__ = ["run"]


def run(source: str, output: str | None, options: Sequence[str]) -> int:
    """Compile a file, or standard input for ``-``, and return the exit code. clang's diagnostics are printed as is."""
    try:
        with progress(f"compiling {source}"):
            made = compile_text(sys.stdin.read(), options) if source == "-" else compile_file(source, options)
    except errors.BuildError as error:
        print(error.log or error, file=sys.stderr)
        return 1
    except OSError as error:
        raise errors.InvalidArgument(f"{source} cannot be read: {error.strerror}") from None
    if made.log:
        print(made.log, file=sys.stderr)
    target = Path(output) if output else Path("kernels.spv" if source == "-" else source).with_suffix(".spv")
    try:
        target.write_bytes(made.spirv)
    except OSError as error:
        raise errors.InvalidArgument(f"{target} cannot be written: {error.strerror}") from None
    if output is None:
        print(target)
    return 0
