"""A launch of a kernel: the entry to the interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from anyzero.compiler.reference import layout
from anyzero.compiler.reference.arguments import Bound, bind
from anyzero.compiler.reference.builtins import builtin
from anyzero.compiler.reference.errors import BadArgument
from anyzero.compiler.reference.group import Group
from anyzero.compiler.reference.memory import INPUT, LOCAL, SHIFT, Memory, Region, new_address
from anyzero.compiler.reference.program import Program, program
from anyzero.compiler.reference.work_item import Item
from anyzero.compiler.spirv.kernel import Kernel
from anyzero.compiler.spirv.module import Module, Variable
from anyzero.compiler.spirv.tables import StorageClass
from anyzero.lazy_dataclass import dataclass, field

Size = int | Sequence[int]
Id = tuple[int, int, int]

LIMIT = 10_000_000
_USUAL_GROUP = 64


@dataclass(slots=True, eq=False)
class Launch:
    module: Module
    program: Program
    kernel: Kernel
    memory: Memory
    global_size: Id
    group_size: Id
    offset: Id
    sub_group_size: int
    limit: int
    printf: Callable[[str], None] | None
    handles: dict[int, Any] = field(default_factory=dict)
    """Images, samplers and pairs of them, by the upper half of their handles."""
    clock: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Values of the kernel clock."""
    _pairs: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def group_count(self) -> Id:
        x, y, z = (whole // part for whole, part in zip(self.global_size, self.group_size, strict=True))
        return x, y, z

    def handle(self, thing: Any) -> int:
        """The integer handle of an opaque object."""
        address = new_address()
        self.handles[address >> SHIFT] = thing
        return address

    def pair(self, image: int, sampler: int) -> int:
        if (image, sampler) not in self._pairs:
            self._pairs[image, sampler] = self.handle((image, sampler))
        return self._pairs[image, sampler]

    def run(self, args: Sequence[Any]) -> None:
        code = self.program.prepare(self.kernel.function.id)
        self.handles.update(self.program.handles)
        bound = [bind(self, *each) for each in zip(self.kernel.parameters, args, strict=True)]
        variables = [self.module.variables[id_] for id_ in self.program.addresses]
        self._globals(variables)
        for id_ in _ids(self.group_count):
            group = self._group(id_, bound, variables)
            group.run(code, [[each.value(item) for each in bound] for item in group.items])

    def _globals(self, variables: list[Variable]) -> None:
        """Allocates the module's global variables, which live as long as `memory`."""
        for variable in variables:
            number = self.program.addresses[variable.id] >> SHIFT
            if variable.builtin is None and not _is_own(variable) and number not in self.memory.regions:
                self.memory.regions[number] = self.program.region(variable)

    def _group(self, id_: Id, bound: list[Bound], variables: list[Variable]) -> Group:
        shared = dict(self.memory.regions)
        shared.update({each.local >> SHIFT: Region.zeros(each.name, LOCAL, each.size) for each in bound if each.local})
        own: list[tuple[int, Variable]] = []
        for variable in variables:
            number = self.program.addresses[variable.id] >> SHIFT
            if variable.storage_class == StorageClass.Workgroup and variable.builtin is None:
                shared[number] = self.program.region(variable)
            elif variable.builtin is not None or _is_own(variable):
                own.append((number, variable))
        group = Group(self, id_)
        width, height, _ = self.group_size
        for index, local_id in enumerate(_ids(self.group_size)):
            x, y, z = (
                start + part * size + local
                for start, part, size, local in zip(self.offset, id_, self.group_size, local_id, strict=True)
            )
            assert index == local_id[0] + width * (local_id[1] + height * local_id[2])
            sub_group, lane = divmod(index, self.sub_group_size)
            group.items.append(Item(group, index, local_id, (x, y, z), sub_group, lane, dict(shared), self.limit))
        for item in group.items:
            for number, variable in own:
                item.regions[number] = self._own(item, variable)
        return group

    def _own(self, item: Item, variable: Variable) -> Region:
        if variable.builtin is None:
            return self.program.region(variable)
        type_ = variable.type.pointee
        data = layout.to_bytes(type_, builtin(item, variable.builtin, type_))
        return Region(f"the builtin variable %{variable.id}", INPUT, data, len(data), writable=False)


def _is_own(variable: Variable) -> bool:
    """True for variables per group or per work-item."""
    return variable.storage_class in (StorageClass.Workgroup, StorageClass.Private, StorageClass.Function)


def _ids(size: Id) -> Iterator[Id]:
    for z, y, x in itertools.product(range(size[2]), range(size[1]), range(size[0])):
        yield x, y, z


def run(
    module: Module,
    kernel_name: str,
    args: Sequence[Any],
    global_size: Size,
    group_size: Size | None = None,
    offset: Size = (0, 0, 0),
    sub_group_size: int = 16,
    printf: Callable[[str], None] | None = None,
    *,
    memory: Memory | None = None,
    limit: int = LIMIT,
) -> None:
    """Run a kernel of a verified module, work-item by work-item; it writes to the arrays in place.

    `args` has one argument per parameter: arrays, or addresses from `memory`, for global and constant pointers;
    `Local` for local ones; `Image` and `Sampler`; numbers or bytes for values. The default group size is the kernel's
    required one, else one that divides the global size. A sub-group has consecutive linear local ids; a size that the
    kernel requires overrides `sub_group_size`. `printf` receives the text of each call; `limit` bounds the instructions
    of a work-item.
    """
    kernel = module.kernels.get(kernel_name)
    if kernel is None:
        raise BadArgument(f'there is no kernel "{kernel_name}"; there are {", ".join(module.kernels) or "none"}')
    if len(args) != len(kernel.parameters):
        raise BadArgument(f'"{kernel_name}" has {len(kernel.parameters)} parameters and got {len(args)} arguments')
    sizes = _size(global_size, "global size")
    if group_size is not None:
        groups = _size(group_size, "group size")
    else:
        groups = kernel.required_group_size or (_usual(sizes[0]), 1, 1)
    if 0 in groups or any(whole % part for whole, part in zip(sizes, groups, strict=True)):
        raise BadArgument(f"groups of {groups} do not divide {sizes} work-items")
    lanes = kernel.required_sub_group_size or sub_group_size
    if lanes < 1:
        raise BadArgument(f"sub-groups of {lanes} work-items are not possible")
    launch = Launch(
        module,
        program(module, kernel.floats),
        kernel,
        memory or Memory(),
        sizes,
        groups,
        _size(offset, "offset", fill=0),
        lanes,
        limit,
        printf,
    )
    launch.run(args)


def _size(size: Size, what: str, fill: int = 1) -> Id:
    given = (size,) if isinstance(size, int) else tuple(int(each) for each in size)
    if not 1 <= len(given) <= 3 or any(each < 0 for each in given):
        raise BadArgument(f"{given} is no {what}: one to three numbers are")
    x, y, z = (*given, *(fill,) * (3 - len(given)))
    return x, y, z


def _usual(items: int) -> int:
    """The largest group size that divides the work-items."""
    return next(size for size in range(min(_USUAL_GROUP, max(items, 1)), 0, -1) if items % size == 0)
