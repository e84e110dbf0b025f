"""Compiles SPIR-V to machine code by the pass list of an execution model, and prints the forms in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyzero.compiler import translate
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.lanes.model import LANES, compiled_function, start_function
from anyzero.compiler.lanes.passes import FUNCTION_PASSES
from anyzero.compiler.lanes.units import KernelUnit
from anyzero.compiler.passes import ExecutionModel, Observer, Pass, Source, Unit, run, section
from anyzero.compiler.spirv.module import Module

__all__ = ["LANES", "compile_function", "compile_kernel", "form", "form_after", "simplified"]


def compile_kernel(
    module: Module,
    name: str,
    options: Options,
    linked: Sequence[Module] = (),
    *,
    model: ExecutionModel[Any] = LANES,
    observe: Observer | None = None,
) -> CompiledKernel:
    """One kernel of a verified module. Raises CompileError, whose text names the offending instruction.

    `observe` is called after each pass, with the pass and the unit that it worked on.
    """
    unit = model.kernel(Source(module, name, options, linked))
    run(model.passes, unit, observe)
    return model.compiled(unit)


def compile_function(module: Module, name: str, options: Options, linked: Sequence[Module] = ()) -> CompiledKernel:
    """An exported function, for code that calls it through a pointer."""
    unit = start_function(Source(module, name, options, linked))
    run(FUNCTION_PASSES, unit)
    return compiled_function(unit)


def simplified(module: Module, name: str, linked: Sequence[Module] = (), debug: bool = False) -> translate.Translation:
    """A kernel in the compiler's own form, before its loops are analysed."""
    unit: KernelUnit = LANES.kernel(Source(module, name, Options(debug=debug), linked))
    run(LANES.until("expand-collectives"), unit)
    return unit.translation


def form(module: Module, name: str, options: Options, which: str, model: ExecutionModel[Any] = LANES) -> str:
    """One of the model's named forms as text: `body`, `ir`, `llvm` or `asm` of the lanes of a CPU."""
    for form_name, after, show in model.forms:
        if form_name == which:
            unit = model.kernel(Source(module, name, options))
            run(model.until(after), unit)
            return show(unit)
    raise CompileError(f'there is no form "{which}"; there are {", ".join(each[0] for each in model.forms)}')


def form_after(module: Module, name: str, options: Options, after: str, model: ExecutionModel[Any] = LANES) -> str:
    """The form after a pass of the list by its name, of every version of the kernel that the pass worked on."""
    shown: list[str] = []
    passes = section(model.passes, after)

    def observe(done: Pass, unit: Unit) -> None:
        if done.name == after:
            shown.append(f"; {unit.title} after {after}\n{unit.show()}")

    run(passes, model.kernel(Source(module, name, options)), observe)
    return "\n".join(shown) or f"; {after} does not run for this kernel\n"
