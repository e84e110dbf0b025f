"""Plans: the planner's record of each module that the engine has."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from anyzero import ze
from anyzero.compiler import spirv
from anyzero.compiler.compiled import Globals, Options
from anyzero.compiler.globals import layout_globals
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.tables import StorageClass
from anyzero.config import Config
from anyzero.driver.answering import Refusal, on_release
from anyzero.driver.modules import builds, inputs, linking, program
from anyzero.driver.modules import native as binaries
from anyzero.driver.modules.inputs import Unit
from anyzero.driver.modules.linking import Linkable
from anyzero.driver.settings import settings
from anyzero.layouts.module_requests import BuildRequest
from anyzero.layouts.planner import CodeKind
from anyzero.lazy_dataclass import dataclass, field
from anyzero.wire import Reader, WireError, Writer

__all__ = ["Plan", "build", "find", "held", "release", "requested"]

_MEMORY: Final = (
    *(StorageClass.CrossWorkgroup, StorageClass.UniformConstant),
    *(StorageClass.DeviceOnlyINTEL, StorageClass.HostOnlyINTEL),
)
"""Storage classes of variables that outlive a launch."""

_NOTHING: Final = Globals(b"", 0, 1)


@dataclass(eq=False)
class Plan:
    """A module: its inputs, its symbols, and the containers made so far.

    Immutable but for `containers`, `provisional` and `providers`, which the lock guards.
    """

    units: tuple[Unit, ...]
    module: spirv.Module
    """All units in one."""
    globals: Globals
    shipped: Mapping[bytes, bytes] = field(default_factory=dict, repr=False)
    """Containers from the native binary that the module was made from, by key."""
    id: int = field(default_factory=builds.next_id)
    containers: dict[tuple[str, int], bytes] = field(default_factory=dict, repr=False)
    """Containers as the engine gets them, by name and kind."""
    provisional: dict[tuple[str, int], bytes] = field(default_factory=dict, repr=False)
    """Containers of the first stage, for the engine to begin with."""
    keys: dict[tuple[str, int], bytes] = field(default_factory=dict, repr=False)
    """The cache key of each container; those that need other modules have none."""
    providers: dict[str, Plan] = field(default_factory=dict, repr=False)
    """The plan that provides each import, once it is linked."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        _alive.add(self)

    @cached_property
    def exports(self) -> dict[str, Linkable]:
        return linking.exports(self.module)

    @cached_property
    def imports(self) -> dict[str, Linkable]:
        return linking.imports(self.module)

    @cached_property
    def required(self) -> list[str]:
        return linking.required(self.module)

    @cached_property
    def imported_variables(self) -> dict[int, str]:
        return linking.imported_variables(self.module)

    @cached_property
    def held(self) -> list[str]:
        return linking.held(self.module)

    @cached_property
    def addressed(self) -> list[int]:
        return linking.addressed(self.module)

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Functions whose addresses a program may ask for."""
        return {name: each.symbol for name, each in self.exports.items() if isinstance(each.symbol, Function)}

    @cached_property
    def digest(self) -> bytes:
        """A digest of everything that the module was made from, except the flags."""
        content = Writer().u32(len(self.units))
        for unit in self.units:
            content.blob(unit.input.data).u32(len(unit.input.constants))
            for number, value in unit.input.constants:
                content.u32(number).blob(value)
        return hashlib.sha256(content.done()).digest()

    def unit_of(self, name: str, kind: int) -> Unit:
        """The unit that a kernel or an exported function comes from; the first where several have it."""
        if len(self.units) == 1:
            return self.units[0]
        kernel = kind == CodeKind.KERNEL
        homes = (unit for unit in self.units if name in (unit.module.kernels if kernel else unit.module.exports))
        return next(homes, self.units[0])

    def options_of(self, name: str, kind: int) -> Options:
        return self.unit_of(name, kind).options


_alive: weakref.WeakSet[Plan] = weakref.WeakSet()
_known: dict[int, Plan] = {}


def _forget_locks() -> None:
    """Replaces locks that another thread may have held at the fork: nothing releases them in the child."""
    for plan in list(_alive):
        plan.lock = threading.RLock()


os.register_at_fork(after_in_child=_forget_locks)


def requested(request: bytes, id_: int | None = None) -> tuple[Plan, list[str]]:
    """The plan that a request to build asks for, and warnings about its inputs."""
    reader = Reader(request)
    form, pages, given = BuildRequest.read(reader)
    reader.end()
    if form not in (ze.ZE_MODULE_FORMAT_IL_SPIRV, ze.ZE_MODULE_FORMAT_NATIVE):
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"there is no module format {form}")
    if not given:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_SIZE, "a module needs at least one input")
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
    return build(units, shipped, settings(), id_), warnings


def _native(data: bytes, where: str) -> binaries.Native:
    try:
        return binaries.decode(data)
    except WireError as error:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, f"error: {where}the module {error}") from None


def _unit(data: bytes, flags: str, values: dict[int, bytes], pages: bool, where: str) -> Unit:
    try:
        return inputs.read(data, flags, values, settings(), pages=pages)
    except spirv.SpirvError as error:
        status = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        hint = ""
        if error.instruction == "header":
            status = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
            if data.startswith(binaries.MAGIC):
                hint = "\nIt is a native binary: its format is ZE_MODULE_FORMAT_NATIVE."
        raise Refusal(status, f"error: {where}{error}{hint}") from None


def build(units: Iterable[Unit], shipped: Mapping[bytes, bytes], environment: Config, id_: int | None = None) -> Plan:
    """A new plan of one unit, or of several that become one program; with `id_`, in place of a lost one."""
    listed = tuple(units)
    module = listed[0].module if len(listed) == 1 else _program(listed, environment)
    plan = Plan(listed, module, _globals(module), shipped, id=builds.next_id() if id_ is None else id_)
    return _known.setdefault(plan.id, plan)


def _program(units: tuple[Unit, ...], environment: Config) -> spirv.Module:
    made = program.combine([unit.module for unit in units])
    values = {
        made.constants[index, number]: value
        for index, unit in enumerate(units)
        for number, value in unit.input.constants
    }
    try:
        return inputs.read(made.data, "", values, environment).module
    except spirv.SpirvError as error:
        # Each input was valid by itself; offsets in the message are those of the combined module.
        text = f"error: in the program made from {len(units)} inputs: {error}"
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text) from None


def _globals(module: spirv.Module) -> Globals:
    if not any(each.builtin is None and each.storage_class in _MEMORY for each in module.variables.values()):
        return _NOTHING
    made = layout_globals(module)
    if made.size >= 1 << 63:
        text = f"error: the module's variables have {made.size} bytes together, more than any memory"
        raise Refusal(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, text)
    return made


def find(id_: int) -> Plan:
    """The plan of that id; one that came from disk is made now."""
    plan = _known.get(id_)
    if plan is None and (request := builds.request_of(id_)) is not None:
        plan, _ = requested(request, id_)
    if plan is None:
        raise Refusal(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there is no module with the plan {id_}")
    return plan


def release(ids: Iterable[int]) -> None:
    """Forgets plans whose modules are gone; one that others were linked with lives as long as those."""
    for id_ in ids:
        _known.pop(id_, None)


on_release(release)


@contextlib.contextmanager
def held(plans: Iterable[Plan]) -> Iterator[None]:
    """Holds the locks of several plans, always taken in the order of their ids."""
    with contextlib.ExitStack() as stack:
        for plan in sorted(set(plans), key=lambda each: each.id):
            stack.enter_context(plan.lock)
        yield
