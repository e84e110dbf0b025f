"""Requests about modules and kernels: the functions that the engine calls with bytes, for bytes.

A request begins with the ids of plans to release, a reply with a status and a log. Nothing is raised: every error
becomes a status. Any thread may call; a plan has a lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from anyzero import ze
from anyzero.compiler.errors import CompileError
from anyzero.compiler.spirv import SpirvError
from anyzero.driver.answering import Refusal, answering, reply, statuses
from anyzero.driver.modules import container, debug_object, inputs, kernels, linking, plans
from anyzero.driver.modules import native as binaries
from anyzero.driver.modules.build_options import settings
from anyzero.driver.modules.inputs import Unit
from anyzero.driver.modules.plans import Plan
from anyzero.driver.modules.program import LinkError
from anyzero.layouts.planner import (
    BuildReply,
    BuildRequest,
    BytesReply,
    CodeKind,
    CompileReply,
    CompileRequest,
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
from anyzero.wire import Reader, WireError, Writer

__all__ = ["build", "compile", "constants", "debug", "improve", "inspect", "link", "native", "restore"]


def _answering(work: Callable[[Reader], bytes]) -> Callable[[bytes], bytes]:
    """As `answering`, with errors of SPIR-V and of module programs as build failures."""
    return answering(_build_failures()(work))


@contextlib.contextmanager
def _build_failures() -> Iterator[None]:
    try:
        yield
    except (SpirvError, LinkError) as error:
        log = error.log if isinstance(error, CompileError) else ""
        text = "\n".join(filter(None, [f"error: {error}", log]))
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text) from None


@_answering
def constants(request: Reader) -> bytes:
    """Returns the size of each specialization constant, which only the SPIR-V tells; the engine reads the values."""
    listed = [inputs.sizes(each) for each in ConstantsRequest.read(request).modules]
    request.end()
    made = ConstantsReply([ConstantSizes([ConstantSize(*each) for each in sizes.items()]) for sizes in listed])
    return reply(made.write(Writer()))


@_answering
def build(request: Reader) -> bytes:
    """Makes a plan from SPIR-V or a native binary, and returns its names; compiles nothing."""
    plan, warnings = _plan(request)
    return reply(_described(plan), "\n".join(warnings))


@_answering
def restore(request: Reader) -> bytes:
    """Makes a plan anew that another planner had made, with the id that the engine knows it by."""
    id_ = PlanRequest.read(request).plan
    _plan(request, id_)
    return reply()


def _plan(request: Reader, id_: int | None = None) -> tuple[Plan, list[str]]:
    form, pages, given = BuildRequest.read(request)
    request.end()
    if form not in (ze.ZE_MODULE_FORMAT_IL_SPIRV, ze.ZE_MODULE_FORMAT_NATIVE):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"there is no module format {form}")
    if not given:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_SIZE, "a module is made from at least one input")
    warnings: list[str] = []
    shipped: dict[bytes, bytes] = {}
    units: list[Unit] = []
    for index, (data, flags, constants) in enumerate(given):
        where = f"input {index}: " if len(given) > 1 else ""
        if form == ze.ZE_MODULE_FORMAT_NATIVE:
            found = _native(data, where)
            if settings().native:
                shipped |= found.containers
            units += [_unit(each.data, each.flags, dict(each.constants), bool(pages), where) for each in found.inputs]
        else:
            unit = _unit(data, flags, {each.number: each.value for each in constants}, bool(pages), where)
            units.append(unit)
            warnings += [f"warning: {where}{text}" for text in unit.warnings]
    return plans.build(units, shipped, settings(), id_), warnings


def _native(data: bytes, where: str) -> binaries.Native:
    try:
        return binaries.decode(data)
    except WireError as error:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, f"error: {where}the module {error}") from None


def _unit(data: bytes, flags: str, values: dict[int, bytes], pages: bool, where: str) -> Unit:
    try:
        return inputs.read(data, flags, values, settings(), pages=pages)
    except SpirvError as error:
        status = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        hint = ""
        if error.instruction == "header":
            status = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
            if data.startswith(binaries.MAGIC):
                hint = "\nIt is a native binary: its format is ZE_MODULE_FORMAT_NATIVE."
        raise Refusal(status, f"error: {where}{error}{hint}") from None


def _described(plan: Plan) -> Writer:
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
    return made.write(Writer())


def _shareable(plan: Plan) -> bool:
    """May modules made from the same inputs share one build in the engine?

    Not if they have variables or symbols to link, nor if the cache is off or a dump is asked for.
    """
    environment = settings()
    if environment.dump or not environment.cache:
        return False
    return not (plan.globals.size or plan.imports or plan.exports.keys() - plan.module.kernels.keys())


@_answering
def compile(request: Reader) -> bytes:  # noqa: A001 (the engine's word for it)
    """Makes the container of one kernel, or of one function whose address is asked for."""
    id_, name, kind, soon = CompileRequest.read(request)
    request.end()
    plan = plans.find(id_)
    if kind not in (CodeKind.KERNEL, CodeKind.FUNCTION):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no kind {kind} of code")
    made = kernels.create(plan, name, kind, soon=bool(soon))
    provisional = made.provisional and settings().stages == "both"
    return reply(CompileReply(made.container, provisional).write(Writer()), made.log)


@_answering
def improve(request: Reader) -> bytes:
    """Makes the second stage of a kernel, in a process that knows no plans: the request to build comes along."""
    name, build = ImproveRequest.read(request)
    request.end()
    return _bytes(kernels.create(_rebuilt(build), name, CodeKind.KERNEL).container, "")


@lru_cache(maxsize=4)
def _rebuilt(build: bytes) -> Plan:
    plan, _ = _plan(Reader(build))
    plans.release([plan.id])
    return plan


@_answering
def native(request: Reader) -> bytes:
    """Makes the native binary of a module, with all kernels that can be compiled without other modules."""
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


@_answering
def debug(request: Reader) -> bytes:
    """Makes an ELF file with the DWARF of all kernels that were built with -g; no bytes where there are none."""
    plan = plans.find(PlanRequest.read(request).plan)
    request.end()
    names = [name for name in plan.module.kernels if plan.options_of(name, CodeKind.KERNEL).debug]
    remarks = _compile_all(plan, names)
    with plans.held([plan]):
        found = {name: plan.containers.get((name, CodeKind.KERNEL)) for name in names}
    code = {name: container.decode(each).kernel for name, each in found.items() if each is not None}
    merged = debug_object.merge({name: (each.object, each.entry) for name, each in code.items()}) if code else b""
    return _bytes(merged, "\n".join(remarks))


@_answering
def link(request: Reader) -> bytes:
    """Finds for the imports of each module an export of another."""
    listed = [plans.find(each) for each in LinkRequest.read(request).plans]
    request.end()
    with plans.held(listed):
        done, lines = linking.link(listed)
    status = ze.ZE_RESULT_SUCCESS if done else ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    return reply(log="\n".join(lines), status=status)


@_answering
def inspect(request: Reader) -> bytes:
    """Lists imports and exports."""
    flags, listed = InspectRequest.read(request)
    request.end()
    return reply(log="\n".join(linking.inspect(flags, [plans.find(each) for each in listed])))


def _bytes(made: bytes, log: str) -> bytes:
    return reply(BytesReply(made).write(Writer()), log)
