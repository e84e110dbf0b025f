"""Plans: the planner's record of each module that the engine has."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
from anyzero.driver.modules import inputs, linking, program
from anyzero.driver.modules.inputs import Unit
from anyzero.driver.modules.linking import Linkable
from anyzero.layouts.planner import CodeKind
from anyzero.wire import Writer

__all__ = ["Plan", "build", "find", "held", "release"]

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
    id: int = field(default_factory=lambda: next(_ids))
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
        """Stands for everything that the module was made from, but for the flags."""
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


# A process may have several planners, one after the other, so each starts counting at a random number.
_ids: Iterator[int] = itertools.count(int.from_bytes(os.urandom(4), "little") << 32 | 1)
_alive: weakref.WeakSet[Plan] = weakref.WeakSet()
_known: dict[int, Plan] = {}


def _forget_locks() -> None:
    """Replaces locks that another thread may have held at the fork: nothing releases them in the child."""
    for plan in list(_alive):
        plan.lock = threading.RLock()


os.register_at_fork(after_in_child=_forget_locks)


def build(units: Iterable[Unit], shipped: Mapping[bytes, bytes], environment: Config, id_: int | None = None) -> Plan:
    """A new plan of one unit, or of several that become one program; with `id_`, in place of a lost one."""
    listed = tuple(units)
    module = listed[0].module if len(listed) == 1 else _program(listed, environment)
    plan = Plan(listed, module, _globals(module), shipped, id=next(_ids) if id_ is None else id_)
    _known[plan.id] = plan
    return plan


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
    plan = _known.get(id_)
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
