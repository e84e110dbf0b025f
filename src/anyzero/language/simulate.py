"""The simulator: a kernel as plain Python, work-item by work-item, with barriers honoured."""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.api.image import Image as ApiImage
from anyzero.api.local import Local
from anyzero.api.sampler import Sampler
from anyzero.language.builtins.work_items import running
from anyzero.language.check.functions import specialized
from anyzero.language.check.scope import Program
from anyzero.language.numbers import Number, VectorValue, type_of
from anyzero.language.plain import plain_function, value_of
from anyzero.language.simulated_image import ImageValue
from anyzero.language.simulated_memory import Elements, elements_of, own_memory
from anyzero.language.types import SAMPLER, Array, Const, Image, Memory, Pointer, SamplerValue, Scalar, defaulted

if TYPE_CHECKING:
    from anyzero.language.function import Function
    from anyzero.language.kernel import Kernel

__all__ = ["Simulation", "call_function"]

_SUB_GROUP = 8


class Simulation:
    """``kernel.simulate``: launched like the kernel, it runs the function as plain Python in this process."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __getitem__(self, sizes: Any) -> Callable[..., None]:
        grid = tuple(int(each) for each in (sizes if isinstance(sizes, tuple) else (sizes,)))

        def launch(
            *args: Any,
            group: Any = None,
            sub_group: int = _SUB_GROUP,
            on: Any = None,
            signal: Any = None,
            wait: Any = None,
            **named: Any,
        ) -> None:
            """Run all work-items now, ignoring `on`, `signal` and `wait`; pointers are numpy arrays or buffers."""
            given = self._kernel.positional(args, named) if named else args
            self._run(grid, given, group, sub_group)

        return launch

    def _run(self, grid: tuple[int, ...], args: tuple[Any, ...], group: Any, sub_group: int) -> None:
        special = self._kernel.specialization(args)
        function = plain_function(self._kernel.source, special.tree)
        ends: list[Callable[[], object]] = []
        values = iter(args)
        types, given = [], []
        for name, t in special.types.items():
            value = None if isinstance(t, Memory) else next(values)
            if isinstance(t, Pointer) and isinstance(value, Local):
                t = Memory(t.element, (value.nbytes // t.element.size,), t.space)
            types.append(t)
            given.append(None if isinstance(t, Memory) else _argument(value, t, name, ends))
        size = self._group(grid, group)
        global_size = (*grid, 1, 1)[:3]
        counts = tuple(-(-whole // part) for whole, part in zip(global_size, size, strict=True))
        for place in itertools.product(*map(range, reversed(counts))):
            shared: dict[Any, Any] = {}
            facts = _Facts(global_size, size, tuple(reversed(place)), counts, len(grid), sub_group, shared)

            def work(facts: _Facts = facts) -> None:
                own = [own_memory(t, index) if isinstance(t, Memory) else each
                       for index, (t, each) in enumerate(zip(types, given, strict=True))]  # fmt: skip
                function(*own)

            _Group(facts, work, together=special.synchronizes).run()
        for end in ends:
            end()

    def _group(self, grid: tuple[int, ...], group: Any) -> tuple[int, int, int]:
        """The size of a group: as requested, as the kernel says, or one that divides the grid."""
        wanted = group if group is not None else self._kernel.group
        if wanted is None:
            first = next(size for size in range(min(64, grid[0]) or 1, 0, -1) if grid[0] % size == 0)
            return first, 1, 1
        size = (*((wanted,) if isinstance(wanted, int) else tuple(wanted)), 1, 1)[:3]
        for whole, part in zip((*grid, 1, 1), size, strict=False):
            if part < 1 or whole % part:
                raise ValueError(f"groups of {size} do not divide {grid} work-items")
        return size[0], size[1], size[2]


def _argument(value: Any, t: Any, name: str, ends: list[Callable[[], object]]) -> Any:
    """An argument of a launch as the simulator has it; `ends` write device memory back."""
    if isinstance(t, Const):
        return value_of(t.value, t.element)
    if isinstance(t, Pointer | Array):
        array = _array(value, ends)
        return elements_of(array, t.element, _extents(value, t) if isinstance(t, Array) else None, name)
    if isinstance(t, Image):
        texels = value.copy_to() if isinstance(value, ApiImage) else value
        if isinstance(value, ApiImage) and t.access == "w":
            ends.append(lambda: value.copy_from(texels))
        return ImageValue(texels, t)
    if isinstance(value, int) and isinstance(t, Scalar) and t.kind in "biu" and not t.low <= value <= t.high:
        raise errors.OutOfRange(f"{value} does not fit argument {name} ({t!r}), which holds {t.low} to {t.high}")
    return value if isinstance(value, Elements | Sampler | SamplerValue) else value_of(value, t)


def _extents(value: Any, t: Array) -> tuple[int, ...]:
    vector = t.element.size // getattr(t.element, "element", t.element).size
    shape = tuple(value.shape)
    return shape[:-1] if vector > 1 and len(shape) == t.ndim + 1 else shape


def _array(value: Any, ends: list[Callable[[], object]]) -> Any:
    if isinstance(value, Buffer):
        if value.kind != "device":
            return np.asarray(value)
        array = value.copy_to()
        ends.append(lambda: value.copy_from(array))
        return array
    if not isinstance(value, np.ndarray) or not value.flags.c_contiguous:
        raise TypeError(f"the simulator takes contiguous numpy arrays and buffers for pointers, not {type(value)}")
    return value


class _Facts:
    """Ids and sizes that all work-items of a group have in common."""

    def __init__(
        self,
        global_size: tuple[int, ...],
        size: tuple[int, int, int],
        group: tuple[int, ...],
        counts: tuple[int, ...],
        axes: int,
        sub_group: int,
        shared: dict[Any, Any],
    ) -> None:
        self.size = size
        self.count = size[0] * size[1] * size[2]
        self.sub_group = sub_group
        self.common: dict[str, Any] = {
            "global_size": global_size,
            "local_size": size,
            "group_id": group,
            "num_groups": counts,
            "global_offset": (0, 0, 0),
            "work_dim": axes,
            "local_memory": shared,
            "num_sub_groups": -(-self.count // sub_group),
        }


class _Item:
    """A work-item; with others that it meets, it runs in a thread of its own."""

    def __init__(self, facts: _Facts, linear: int, group: _Group) -> None:
        x, y, _ = facts.size
        local = linear % x, linear // x % y, linear // (x * y)
        self.index = linear
        self._group = group
        self.turn = threading.Semaphore(0)
        self.waits_for: str | None = None
        self.done = False
        self.value: Any = None
        self.met: tuple[list[Any], int] = ([], 0)
        self.sub_group = linear // facts.sub_group
        place = tuple(g * s + at for g, s, at in zip(facts.common["group_id"], facts.size, local, strict=True))
        whole = facts.common["global_size"]
        first = self.sub_group * facts.sub_group
        self._facts = {
            **facts.common,
            "global_id": place,
            "local_id": local,
            "local_linear_id": linear,
            "global_linear_id": (place[2] * whole[1] + place[1]) * whole[0] + place[0],
            "sub_group_id": self.sub_group,
            "sub_group_local_id": linear - first,
            "sub_group_size": min(facts.sub_group, facts.count - first),
        }

    def fact(self, name: str) -> Any:
        return self._facts[name]

    def meet(self, scope: str, value: Any) -> tuple[list[Any], int]:
        self.value, self.waits_for = value, scope
        self._group.give_way(self)
        return self.met


class _Cancelled(BaseException):
    """Ends the threads of a group in which a work-item has failed."""


class _Group:
    """The work-items of a group, one running at a time."""

    def __init__(self, facts: _Facts, work: Callable[[], None], *, together: bool) -> None:
        self.items = [_Item(facts, index, self) for index in range(facts.count)]
        self._work = work
        self._together = together and facts.count > 1
        self._control = threading.Semaphore(0)
        self._error: BaseException | None = None
        self._cancelled = False

    def run(self) -> None:
        try:
            if self._together:
                self._run_together()
            else:
                for item in self.items:
                    self._run_alone(item)
        finally:
            running.item = None

    def _run_alone(self, item: _Item) -> None:
        running.item = item
        try:
            self._work()
        except Exception as error:
            error.add_note(f"in work-item {item.fact('global_id')}")
            raise

    def give_way(self, item: _Item) -> None:
        """Let the other work-items run until it is this one's turn again."""
        if not self._together:
            item.met, item.waits_for = ([item.value], 0), None
            return
        self._control.release()
        item.turn.acquire()
        if self._cancelled:
            raise _Cancelled
        running.item = item

    def _thread(self, item: _Item) -> None:
        item.turn.acquire()
        try:
            if not self._cancelled:
                running.item = item
                self._work()
        except _Cancelled:
            pass
        except BaseException as error:
            error.add_note(f"in work-item {item.fact('global_id')}")
            self._error = error
        item.done = True
        self._control.release()

    def _run_together(self) -> None:
        threads = [threading.Thread(target=self._thread, args=(item,), daemon=True) for item in self.items]
        for thread in threads:
            thread.start()
        try:
            while not all(item.done for item in self.items):
                for item in self.items:
                    if not item.done and item.waits_for is None:
                        item.turn.release()
                        self._control.acquire()
                        if self._error is not None:
                            raise self._error
                self._let_meet()
        finally:
            self._cancelled = True
            for item in self.items:
                if not item.done:
                    item.turn.release()
            for thread in threads:
                thread.join()

    def _let_meet(self) -> None:
        """Resume the work-items whose group or sub-group is complete."""
        waiting = [item for item in self.items if item.waits_for is not None]
        met = False
        for members in self._meetings(waiting):
            values = [member.value for member in members]
            for index, member in enumerate(members):
                member.met, member.waits_for = (values, index), None
            met = True
        if waiting and not met:
            stuck = waiting[0]
            raise RuntimeError(
                f"work-item {stuck.fact('global_id')} waits at a barrier that others of its group never reach"
            )

    def _meetings(self, waiting: list[_Item]) -> list[list[_Item]]:
        if waiting and len(waiting) == len(self.items) and all(item.waits_for == "group" for item in waiting):
            return [waiting]
        found = []
        for number in sorted({item.sub_group for item in waiting}):
            members = [item for item in self.items if item.sub_group == number]
            if all(item.waits_for == "sub_group" for item in members):
                found.append(members)
        return found


def call_function(function: Function, args: Sequence[Any], given: dict[str, Any]) -> Any:
    """A call of an `@az.function` in the simulator, in the types that the compiled one computes in."""
    bound = inspect.signature(function.source.function).bind(*args, **given)
    bound.apply_defaults()
    wanted = {name: _parameter(function, name, value) for name, value in bound.arguments.items()}
    key = tuple(wanted.items())
    plain = function.plain.get(key)
    if plain is None:
        checked = specialized(Program(), function.source, wanted)
        plain = function.plain[key] = plain_function(function.source, checked)
    values = [
        value if isinstance(value, Elements | ImageValue | Sampler | SamplerValue) else value_of(value, wanted[name])
        for name, value in bound.arguments.items()
    ]
    return plain(*values)


def _parameter(function: Function, name: str, value: Any) -> Any:
    wanted = function.annotations.get(name)
    if isinstance(value, Elements):
        return value.type_in(wanted)
    if wanted is not None:
        return wanted
    if isinstance(value, Sampler | SamplerValue):
        return SAMPLER
    return value.type if isinstance(value, Number | VectorValue | ImageValue) else defaulted(type_of(value), value)
