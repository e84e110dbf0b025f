"""Kernels: from a plan and a name to a container.

The cheapest source of a container comes first: the plan, the native binary that the module was made from, the disk.
Only then is the kernel verified and compiled.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from anyzero import kernel_cache, ze
from anyzero.compiler import spirv
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.driver.answering import Refusal
from anyzero.driver.modules import builds, container, linking, provenance
from anyzero.driver.modules.builds import Keys
from anyzero.driver.modules.container import Container
from anyzero.driver.modules.container_head import looks_whole
from anyzero.driver.modules.linking import Reached
from anyzero.driver.modules.plans import Plan, held
from anyzero.driver.settings import settings
from anyzero.layouts.container_head import CONTAINER_MAGIC
from anyzero.layouts.planner import CodeKind, ReplyOrigin
from anyzero.lazy_dataclass import dataclass, fields, replace
from anyzero.wire import WireError, Writer

__all__ = ["Made", "create", "key", "keys_of", "warm_up"]

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


@dataclass(frozen=True, slots=True)
class Made:
    """The container of a kernel or a function, and its origin."""

    container: bytes
    log: str = ""
    """The compiler's log, if it had to run."""
    provisional: bool = False
    """Whether this is the code of the first stage."""
    origin: int = ReplyOrigin.MEMORY


Group = tuple[int, int, int]


def create(plan: Plan, name: str, kind: int, *, soon: bool = False, group: Group | None = None) -> Made:
    """The container of a kernel or of a function; `soon` allows code of the first stage where there is no other yet.

    With `group`, the code is for groups of that size alone.
    """
    reached = linking.reach(plan, _function(plan, name, kind))
    if reached.missing:
        missing = ", ".join(sorted(reached.missing))
        text = f'"{name}" needs symbols that no linked module exports: {missing}; call zeModuleDynamicLink first'
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, text)
    if reached.recursive:
        text = f'"{name}": {reached.recursive} calls itself through other modules'
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text)
    if reached.ambiguous:
        names = ", ".join(reached.ambiguous)
        text = f'"{name}" is linked with modules that export different symbols of one name: {names}; rename one of them'
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text)
    with held([plan, *reached.plans]):
        if group is not None:
            return _made(plan, name, kind, reached, False, group)
        found = plan.containers.get((name, kind))
        if found is not None:
            return Made(found)
        provisional = plan.provisional.get((name, kind))
        if provisional is not None and soon:
            return Made(provisional, provisional=True)
        made = _made(plan, name, kind, reached, soon)
        (plan.provisional if made.provisional else plan.containers)[name, kind] = made.container
        return made


def _function(plan: Plan, name: str, kind: int) -> int:
    """The id of the function with that name."""
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


def _made(plan: Plan, name: str, kind: int, reached: Reached, soon: bool, group: Group | None = None) -> Made:
    options = replace(plan.options_of(name, kind), group=group)
    identity = key(plan, name, kind, reached.plans, options)
    ids = [each.id for each in reached.plans]
    if not reached.plans and group is None:
        plan.keys[name, kind] = identity
    environment = settings()
    store = kernel_cache.of(environment)
    # Code that is linked with other modules, or meant for reading, is compiled in one stage.
    plain = not (ids or environment.dump) and _has_stages(options)
    soon = soon and plain and kind == CodeKind.KERNEL and environment.stages != "final"
    first = key(plan, name, kind, (), replace(options, quick=True)) if soon else b""
    if not environment.dump:
        quick = soon and environment.stages == "quick"
        if not quick and (found := _stored(plan.shipped.get(identity), ids)):
            return Made(found)
        content, provisional = builds.stored(store, environment, identity, first) or (None, False)
        if found := _stored(content, ids):
            return Made(found, provisional=provisional, origin=ReplyOrigin.DISK)
    _verify(plan, name, kind, reached)
    kernel = _compile(plan, name, kind, [other.module for other in reached.plans], replace(options, quick=soon))
    _check_amounts(kernel)
    placed = replace(kernel, links=kernel.links or tuple(range(len(ids))))
    made = container.encode(Container(placed, identity[:16], plan.digest[:16], function=kind == CodeKind.FUNCTION))
    if store:
        store.store(first if kernel.provisional else identity, made)
    origin = ReplyOrigin.MADE_QUICKLY if kernel.provisional else ReplyOrigin.MADE
    return Made(container.relink(made, ids), kernel.log, kernel.provisional, origin)


def _stored(found: bytes | None, ids: Sequence[int]) -> bytes | None:
    """A container that was made before, for the engine; None where there is none that is whole."""
    if found is None or not looks_whole(found):
        return None
    try:
        return container.relink(found, ids)
    except WireError:
        return None  # whole and yet not understood: as good as none


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


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pauses the collector: nearly all objects of a compilation live until it ends, and searching them takes a
    twentieth of the time. Of threads that overlap, the first one to end resumes it.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@_uncollected()
def _compile(plan: Plan, name: str, kind: int, linked: Sequence[spirv.Module], options: Options) -> CompiledKernel:
    # The import loads LLVM, which a program with all its kernels in the cache can do without.
    from anyzero.compiler import pipeline

    if kind == CodeKind.KERNEL:
        return pipeline.compile_kernel(plan.module, name, options, linked)
    compile_function = getattr(pipeline, "compile_function", None)
    if compile_function is None:
        raise Refusal(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "addresses of functions are not supported")
    made: CompiledKernel = compile_function(plan.module, name, options, linked)
    return made


def warm_up() -> None:
    """Has LLVM set itself up for the processor that kernels will be compiled for."""
    from anyzero.compiler.targets import cpu

    cpu.warm_up(cpu.target(settings().target or "", ""), Options().level)


def _has_stages(options: Options) -> bool:
    return options.level > 0 and not options.debug


def key(plan: Plan, name: str, kind: int, linked: Sequence[Plan], options: Options | None = None) -> bytes:
    """The key of a container: of all that it depends on; the options are the plan's own where none are given."""
    return builds.container_key(_base(plan, linked, options or plan.options_of(name, kind)), name, kind)


def keys_of(plan: Plan) -> Keys | None:
    """Base digests of the keys of a plan's kernels; None where the kernels do not share them."""
    if len(plan.units) != 1 or plan.shipped or plan.imports:
        return None
    options = plan.units[0].options
    first = _base(plan, (), replace(options, quick=True)) if _has_stages(options) else b""
    return Keys(_base(plan, (), options), first)


def _base(plan: Plan, linked: Sequence[Plan], options: Options) -> bytes:
    chosen = [getattr(options, each.name) for each in fields(options)]
    content = Writer().raw(CONTAINER_MAGIC).raw(plan.digest).text(repr(chosen))
    content.u32(len(linked))
    for other in linked:
        content.raw(other.digest)
    for text in (provenance.versions(), provenance.compiler_digest(), provenance.processor()):
        content.text(text)
    return hashlib.sha256(content.done()).digest()
