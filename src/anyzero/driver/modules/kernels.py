"""Kernels: from a plan and a name to a container.

The cheapest source of a container comes first: the plan, the native binary that the module was made from, the disk.
Only then is the kernel verified and compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Final

from anyzero import ze
from anyzero.compiler import spirv
from anyzero.compiler.compiled import CompiledKernel
from anyzero.driver.answering import Refusal
from anyzero.driver.modules import cache, container, linking, provenance
from anyzero.driver.modules.build_options import settings
from anyzero.driver.modules.container import Container
from anyzero.driver.modules.linking import Reached
from anyzero.driver.modules.plans import Plan, held
from anyzero.layouts.container import CONTAINER_MAGIC
from anyzero.layouts.planner import CodeKind
from anyzero.wire import WireError, Writer

__all__ = ["create", "key"]

_NAMES_SHOWN: Final = 8
_AMOUNTS: Final = {
    "args_bytes": "arguments",
    "local_bytes": "local memory",
    "private_bytes": "private memory",
    "spill_bytes": "memory for spilled registers",
    "scratch_fixed": "scratch memory",
    "scratch_per_vector": "scratch memory",
}
"""Fields of a container that have 32 bits."""


def create(plan: Plan, name: str, kind: int) -> tuple[bytes, str]:
    """The container of a kernel or of a function, and the compiler's log if it had to run."""
    reached = linking.reach(plan, _function(plan, name, kind))
    if reached.missing:
        missing = ", ".join(sorted(reached.missing))
        text = f'"{name}" needs what no linked module gives: {missing}; link the module with zeModuleDynamicLink first'
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, text)
    if reached.recursive:
        text = f'"{name}": {reached.recursive} calls itself by way of other modules'
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text)
    if reached.ambiguous:
        names = ", ".join(reached.ambiguous)
        text = f'"{name}" reaches modules that export different things by the same name: {names}; give one another name'
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text)
    with held([plan, *reached.plans]):
        found = plan.containers.get((name, kind))
        log = ""
        if found is None:
            found, log = _made(plan, name, kind, reached)
            plan.containers[name, kind] = found
        return found, log


def _function(plan: Plan, name: str, kind: int) -> int:
    """The id of the function that a name stands for."""
    if kind == CodeKind.KERNEL and name in plan.module.kernels:
        return plan.module.kernels[name].function.id
    if kind == CodeKind.FUNCTION and name in plan.functions:
        return plan.functions[name].id
    if kind == CodeKind.KERNEL:
        status, what, known = ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "kernel", list(plan.module.kernels)
    else:
        status, what, known = ze.ZE_RESULT_ERROR_INVALID_FUNCTION_NAME, "exported function", list(plan.functions)
    more = [f"… ({len(known)})"] if len(known) > _NAMES_SHOWN else []
    listed = ", ".join([*known[:_NAMES_SHOWN], *more]) or "none"
    raise Refusal(status, f'the module has no {what} "{name}"; it has {listed}')


def _made(plan: Plan, name: str, kind: int, reached: Reached) -> tuple[bytes, str]:
    identity = key(plan, name, kind, reached.plans)
    ids = [each.id for each in reached.plans]
    if not reached.plans:
        plan.keys[name, kind] = identity
    environment = settings()
    store = cache.of(environment)
    if not environment.dump:
        for stored in (plan.shipped.get(identity), store.load(identity) if store else None):
            if stored is not None and container.looks_whole(stored):
                try:
                    return container.relink(stored, ids), ""
                except WireError:
                    pass  # complete but not understood: ignored
    _verify(plan, name, kind, reached)
    kernel = _compile(plan, name, kind, [other.module for other in reached.plans])
    _check_amounts(kernel)
    placed = replace(kernel, links=kernel.links or tuple(range(len(ids))))
    made = container.encode(Container(placed, identity[:16], plan.digest[:16], function=kind == CodeKind.FUNCTION))
    if store:
        store.store(identity, made)
    return container.relink(made, ids), kernel.log


def _check_amounts(kernel: CompiledKernel) -> None:
    for field, what in _AMOUNTS.items():
        amount: int = getattr(kernel, field)
        if amount >= 1 << 32:
            text = f'"{kernel.name}" needs {amount} bytes of {what}, and no device has 4 GiB of it'
            raise Refusal(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, text)


def _verify(plan: Plan, name: str, kind: int, reached: Reached) -> None:
    """In the unit first, where the words that a message counts are those of the program's own SPIR-V."""
    if len(plan.units) > 1:
        unit = plan.unit_of(name, kind).module
        start = unit.kernels[name].function.id if kind == CodeKind.KERNEL else unit.exports[name]
        for function in unit.reachable(start):
            if function.has_body:
                spirv.verify_function(function)
    for other, id_ in reached.functions:
        function = other.module.functions[id_]
        try:
            if function.has_body:
                spirv.verify_function(function)
        except spirv.SpirvError as error:
            where = "" if other is plan else "in a module that it is linked with: "
            raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, f"error: {where}{error}") from None


def _compile(plan: Plan, name: str, kind: int, linked: Sequence[spirv.Module]) -> CompiledKernel:
    # It loads LLVM, which a program with all its kernels in the cache can do without.
    from anyzero.compiler import pipeline

    if kind == CodeKind.KERNEL:
        return pipeline.compile_kernel(plan.module, name, plan.options_of(name, kind), linked)
    compile_function = getattr(pipeline, "compile_function", None)
    if compile_function is None:
        raise Refusal(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "addresses of functions are not supported")
    made: CompiledKernel = compile_function(plan.module, name, plan.options_of(name, kind), linked)
    return made


def key(plan: Plan, name: str, kind: int, linked: Sequence[Plan]) -> bytes:
    """Stands for everything that a container depends on."""
    options = plan.options_of(name, kind)
    content = Writer().raw(CONTAINER_MAGIC).u32(kind).text(name).raw(plan.digest).text(repr(astuple(options)))
    content.u32(len(linked))
    for other in linked:
        content.raw(other.digest)
    for text in (provenance.versions(), provenance.compiler_digest(), provenance.processor()):
        content.text(text)
    return hashlib.sha256(content.done()).digest()
