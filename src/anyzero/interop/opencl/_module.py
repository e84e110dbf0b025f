"""OpenCL programs as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyopencl as cl

from anyzero import errors
from anyzero.api.context import Context
from anyzero.interop.opencl._compiler import Compiler, options_for_clang
from anyzero.interop.opencl._native import intermediate_language
from anyzero.interop.opencl._objects import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyzero.api.device import Device
    from anyzero.api.module import Module
    from anyzero.api.sources.module_source import Constants

__all__ = ["module"]

_BUILD_SUCCESS: Final = 0


def module(
    ctx: Context,
    program: cl.Program | Sequence[cl.Program],
    *,
    options: str | Sequence[str] | None = None,
    constants: Constants | None = None,
    compiler: Compiler | None = None,
    device: Device | None = None,
) -> Module:
    """An OpenCL program that was built, as a module with the same kernels.

    A program made from SPIR-V is taken as it is; its specialization constants have to be given again with `constants`.
    One made from source is compiled again, with its own build options, by a clang that is on PATH or that `compiler`
    names; `options` are for clang then, in place of the program's. Of a program that was linked from parts OpenCL
    keeps neither, so pass the list of parts that were compiled; a program made from binaries is refused.

    >>> import pyopencl as cl
    >>> from anyzero.interop import opencl
    >>> ctx, cl_ctx = az.device().context(), cl.create_some_context(interactive=False)
    >>> source = "kernel void add(global int *x) { x[get_global_id(0)] += STEP; }"
    >>> program = cl.Program(cl_ctx, source).build("-DSTEP=3")
    >>> add = opencl.module(ctx, program)["add"]
    >>> x = ctx.zeros(2, np.int32, kind="shared")
    >>> with ctx.immediate() as lst:
    ...     add[2](x, on=lst).wait(timeout=5)
    >>> np.asarray(x)
    array([3, 3], dtype=int32)
    """
    require(Context, ctx, "the first argument")
    parts: list[Any] = list(program) if isinstance(program, list | tuple) else [program]
    for part in parts:
        if not isinstance(part, cl.Program | cl._cl._Program):  # noqa: SLF001 (link_program() returns that one)
            raise TypeError(f"the second argument is {program!r}; a pyopencl.Program, or a list of them, is expected")
    if not parts:
        raise errors.InvalidArgument("no program: the list of parts is empty")
    names: list[str] = []
    pieces: list[bytes] = []
    compiled = False
    for part in parts:
        kernels, used = _built(part, whole=len(parts) == 1)
        names += kernels
        data = intermediate_language(part.int_ptr)
        if not data:
            compiled = True
            source = _source(part)
            if options is None:
                words: Sequence[str] = options_for_clang(used)
            else:
                words = options_for_clang(options) if isinstance(options, str) else list(options)
            data = (compiler or Compiler.find()).spirv(source, words)
        pieces.append(data)
    made = ctx.module(
        pieces if len(pieces) > 1 else pieces[0],
        constants=constants,
        device=device,
        options="" if compiled else _plain(options),
    )
    # PoCL calls a kernel that is named like a built-in function by another name.
    missing = [name for name in names if name not in made and name.removeprefix("_cl_") not in made]
    if missing:
        made.close()
        raise errors.BuildError(
            f"the program has kernels that the module lacks: {', '.join(missing)}",
            remedy="Pass the options of the program's build with options=.",
        )
    return made


def _plain(options: str | Sequence[str] | None) -> str:
    return options if isinstance(options, str) else " ".join(options or ())


def _built(program: Any, *, whole: bool) -> tuple[list[str], str]:
    """The names of its kernels and the options of its build; raises InvalidArgument unless it was built.

    A part of a program was compiled only, and has no kernels yet.
    """
    # pyopencl would create one now, and warn of it.
    if isinstance(program, cl.Program) and program._prg is None:  # noqa: SLF001
        raise _not_built()
    used = ""
    built = False
    for device in program.get_info(cl.program_info.DEVICES):
        if program.get_build_info(device, cl.program_build_info.STATUS) == _BUILD_SUCCESS:
            built = True
            used = used or program.get_build_info(device, cl.program_build_info.OPTIONS)
    if not built:
        raise _not_built()
    if not whole:
        return [], used
    try:
        names = program.get_info(cl.program_info.KERNEL_NAMES)
    except cl.Error:
        raise _not_built() from None
    return [name for name in names.split(";") if name], used


def _not_built() -> errors.InvalidArgument:
    return errors.InvalidArgument(
        "the OpenCL program was not built", remedy="Call its build() first, or compile() for the parts of one."
    )


def _source(program: Any) -> str:
    # A program that pyopencl found in its cache was made from a binary, and pyopencl alone knows the source.
    known = vars(program).get("_source") if isinstance(program, cl.Program) else None
    text = known if known else program.get_info(cl.program_info.SOURCE)
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    if not text:
        raise errors.InvalidArgument(
            "the OpenCL program has neither SPIR-V nor source: it was made from binaries, or linked from parts",
            remedy="Pass the list of parts that it was linked from, or give its SPIR-V to ctx.module().",
        )
    return str(text)
