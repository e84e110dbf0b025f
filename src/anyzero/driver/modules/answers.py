"""Answers to requests about modules and kernels that need the compiler, or at least its reader of SPIR-V.

`requests` has the functions that the engine calls; each one here does the work of the one of the same name there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

from anyzero import ze
from anyzero.compiler.errors import CompileError
from anyzero.compiler.spirv import SpirvError
from anyzero.driver.answering import Refusal, reply, statuses
from anyzero.driver.modules import builds, container, debug_object, inputs, kernels, linking, plans
from anyzero.driver.modules import native as binaries
from anyzero.driver.modules.container_head import fits_groups
from anyzero.driver.modules.plans import Plan
from anyzero.driver.modules.program import LinkError
from anyzero.driver.settings import settings
from anyzero.layouts.module_requests import (
    BuildReply,
    BytesReply,
    ConstantSize,
    ConstantSizes,
    ConstantsReply,
    ConstantsRequest,
    ImproveRequest,
    InspectRequest,
    LinkRequest,
    ModuleRelocation,
    ModuleVariable,
    PlanRequest,
)
from anyzero.layouts.planner import CodeKind, CompileReply, CompileRequest, ReplyOrigin
from anyzero.wire import Reader, Writer

__all__ = ["build", "compile", "constants", "debug", "improve", "inspect", "link", "native", "restore"]


@contextlib.contextmanager
def _build_failures() -> Iterator[None]:
    try:
        yield
    except (SpirvError, LinkError) as error:
        log = error.log if isinstance(error, CompileError) else ""
        text = "\n".join(filter(None, [f"error: {error}", log]))
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text) from None


@_build_failures()
def constants(request: Reader) -> bytes:
    listed = [inputs.sizes(each) for each in ConstantsRequest.read(request).modules]
    request.end()
    made = ConstantsReply([ConstantSizes([ConstantSize(*each) for each in sizes.items()]) for sizes in listed])
    return reply(made.write(Writer()))


@_build_failures()
def build(request: bytes) -> bytes:
    plan, warnings = plans.requested(request)
    body, log = _described(plan), "\n".join(warnings)
    if keys := kernels.keys_of(plan):
        builds.keep(request, body, log, keys)
    return reply(Writer().raw(body), log, origin=ReplyOrigin.MADE)


@_build_failures()
def restore(request: Reader) -> bytes:
    id_ = PlanRequest.read(request).plan
    plans.requested(request.raw(request.left), id_)
    return reply()


def _described(plan: Plan) -> bytes:
    variables = plan.globals
    made = BuildReply(
        plan.id,
        list(plan.module.kernels),
        list(plan.functions),
        [ModuleVariable(name, offset, size) for name, (offset, size) in variables.names.items()],
        variables.size,
        variables.alignment,
        variables.block,
        [ModuleRelocation(*each) for each in variables.relocations],
        list(plan.required),
        ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS if plan.required else 0,
        _shareable(plan),
    )
    return made.write(Writer()).done()


def _shareable(plan: Plan) -> bool:
    """Whether modules made from the same inputs may share one build in the engine.

    Not if they have variables or symbols to link, nor if the cache is off or a dump is asked for.
    """
    environment = settings()
    if environment.dump or not environment.cache:
        return False
    return not (plan.globals.size or plan.imports or plan.exports.keys() - plan.module.kernels.keys())


@_build_failures()
def compile(request: CompileRequest) -> bytes:  # noqa: A001 (the engine's word for it)
    plan = plans.find(request.plan)
    if request.kind not in (CodeKind.KERNEL, CodeKind.FUNCTION):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no kind {request.kind} of code")
    made = kernels.create(plan, request.name, request.kind, soon=bool(request.soon))
    both = settings().stages == "both"
    fits = both and fits_groups(made.container)
    compiled = CompileReply(made.container, both and made.provisional, fits)
    return reply(compiled.write(Writer()), made.log, origin=made.origin)


@_build_failures()
def improve(request: Reader) -> bytes:
    name, x, y, z, build = ImproveRequest.read(request)
    request.end()
    group = (x, y, z) if x and y and z else None
    made = kernels.create(_rebuilt(build), name, CodeKind.KERNEL, group=group)
    return reply(BytesReply(made.container).write(Writer()), origin=made.origin)


@lru_cache(maxsize=4)
def _rebuilt(build: bytes) -> Plan:
    plan, _ = plans.requested(build)
    plans.release([plan.id])
    return plan


@_build_failures()
def native(request: Reader) -> bytes:
    plan = plans.find(PlanRequest.read(request).plan)
    request.end()
    remarks = _compile_all(plan, plan.module.kernels)
    with plans.held([plan]):
        containers = {key: plan.containers[what] for what, key in plan.keys.items() if what in plan.containers}
    return _bytes(binaries.encode([unit.input for unit in plan.units], containers), "\n".join(remarks))


def _compile_all(plan: Plan, names: Iterable[str]) -> list[str]:
    """Compiles the kernels that need no other module; returns remarks about the others."""
    remarks = []
    for name in names:
        try:
            with statuses(), _build_failures():
                kernels.create(plan, name, CodeKind.KERNEL)
        except Refusal as refusal:
            remarks.append(f'warning: the kernel "{name}" is not compiled: {refusal.text}')
    return remarks


@_build_failures()
def debug(request: Reader) -> bytes:
    plan = plans.find(PlanRequest.read(request).plan)
    request.end()
    names = [name for name in plan.module.kernels if plan.options_of(name, CodeKind.KERNEL).debug]
    remarks = _compile_all(plan, names)
    with plans.held([plan]):
        found = {name: plan.containers.get((name, CodeKind.KERNEL)) for name in names}
    code = {name: container.decode(each).kernel for name, each in found.items() if each is not None}
    merged = debug_object.merge({name: (each.object, each.entry) for name, each in code.items()}) if code else b""
    return _bytes(merged, "\n".join(remarks))


@_build_failures()
def link(request: Reader) -> bytes:
    listed = [plans.find(each) for each in LinkRequest.read(request).plans]
    request.end()
    with plans.held(listed):
        done, lines = linking.link(listed)
    status = ze.ZE_RESULT_SUCCESS if done else ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    return reply(log="\n".join(lines), status=status)


@_build_failures()
def inspect(request: Reader) -> bytes:
    flags, listed = InspectRequest.read(request)
    request.end()
    return reply(log="\n".join(linking.inspect(flags, [plans.find(each) for each in listed])))


def _bytes(made: bytes, log: str) -> bytes:
    return reply(BytesReply(made).write(Writer()), log)
