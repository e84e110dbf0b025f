"""Imports and exports: symbols that a module needs, the modules that provide them, and those its kernels reach.

Linked modules stay modules: the code of a kernel includes the functions it reaches in all of them, and every module
keeps its own variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from anyzero import ze
from anyzero.compiler.spirv import Module, types
from anyzero.compiler.spirv.constants import FunctionAddress
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.module import Variable
from anyzero.lazy_namedtuple import NamedTuple

if TYPE_CHECKING:
    from anyzero.driver.modules.plans import Plan

__all__ = [
    "Linkable",
    "Reached",
    "addressed",
    "compatible",
    "exports",
    "fits",
    "held",
    "imported_variables",
    "imports",
    "inspect",
    "link",
    "reach",
    "required",
]

Symbol = Function | Variable


class Linkable(NamedTuple):
    """A symbol with a name across modules."""

    name: str
    kind: str
    """`import`, `export`, `link once` or `weak`."""
    symbol: Symbol

    @property
    def strong(self) -> bool:
        """Whether it must be the only one of its name."""
        return self.kind == "export"

    def wants(self) -> bool:
        """Whether it is defined in another module."""
        return self.kind == "import" and not (isinstance(self.symbol, Function) and self.symbol.has_body)


def linkables(module: Module) -> Iterator[Linkable]:
    symbols: list[Symbol] = [*module.functions.values()]
    symbols += [each for each in module.variables.values() if each.builtin is None]
    for symbol in symbols:
        if symbol.linkage:
            yield Linkable(symbol.linkage.name, symbol.linkage.kind, symbol)


def exports(module: Module) -> dict[str, Linkable]:
    return {each.name: each for each in linkables(module) if each.kind != "import"}


def imports(module: Module) -> dict[str, Linkable]:
    """All symbols declared as imports, needed or not; builtins are none."""
    own = exports(module)
    return {each.name: each for each in linkables(module) if each.wants() and each.name not in own}


def required(module: Module) -> list[str]:
    """The names without which a kernel or an export could not run; compilers leave unused imports behind."""
    roots = {kernel.function.id for kernel in module.kernels.values()}
    roots |= {each.symbol.id for each in exports(module).values() if isinstance(each.symbol, Function)}
    seen: set[int] = set()
    waiting = [*(id_ for id_ in roots if id_ in module.functions), *addressed(module)]
    while waiting:
        function = waiting.pop()
        if function not in seen:
            seen.add(function)
            waiting += [callee for callee in module.functions[function].calls if callee in module.functions]
    return sorted(
        name for name, each in imports(module).items() if isinstance(each.symbol, Variable) or each.symbol.id in seen
    )


def addressed(module: Module) -> list[int]:
    """Functions that are called through pointers, if at all."""
    found = [each.function for each in module.constants.values() if isinstance(each, FunctionAddress)]
    return [id_ for id_ in found if id_ in module.functions]


def imported_variables(module: Module) -> dict[int, str]:
    """Their names, by id."""
    return {each.symbol.id: name for name, each in imports(module).items() if isinstance(each.symbol, Variable)}


def held(module: Module) -> list[str]:
    """The imported variables whose addresses are in constants and in initializers of other variables."""
    wanted = imported_variables(module)
    if not wanted:
        return []
    used = {word for each in module.declarations.values() for word in each.operands}
    return [name for id_, name in wanted.items() if id_ in used]


class Reached(NamedTuple):
    functions: list[tuple[Plan, int]]
    """All of them, by the plan they belong to and their id there."""
    plans: list[Plan]
    """The other plans, nearest first."""
    missing: list[str]
    """Names that no linked module provides."""
    recursive: str
    """A function that is recursive through other modules, if there is one; devices do not support recursion."""
    ambiguous: list[str]
    """Names that have several definitions, exported by modules that were linked separately."""


def reach(plan: Plan, function: int) -> Reached:
    """Everything that the code of a function uses of other plans."""
    plans: dict[Plan, None] = {}
    missing: dict[str, None] = {}
    taken: list[tuple[str, Plan]] = []
    calls: dict[tuple[Plan, int], list[tuple[Plan, int]]] = {}
    waiting = [(plan, function)]

    def use(user: Plan, name: str) -> list[tuple[Plan, int]]:
        provider = user if name in user.exports else user.providers.get(name)
        if provider is None:
            missing[name] = None
            return []
        visit(provider)
        taken.append((name, provider))
        symbol = provider.exports[name].symbol
        return [(provider, symbol.id)] if isinstance(symbol, Function) else []

    def visit(user: Plan) -> None:
        """Addresses of functions, and those in constants, count as used wherever anything of their module is."""
        if user in plans:
            return
        plans[user] = None
        waiting.extend((user, id_) for id_ in user.addressed)
        for name in user.held:
            use(user, name)

    visit(plan)
    for node in waiting:  # the list grows during the loop
        user, id_ = node
        if node in calls:
            continue
        found = user.module.functions[id_]
        if found.has_body or not found.linkage:
            calls[node] = [(user, callee) for callee in found.calls if callee in user.module.functions]
            if user.imported_variables:
                # A number that is no id does no harm: at worst an unused variable counts as used.
                words = set(user.module.words[found.first : found.stop])
                for variable in words & user.imported_variables.keys():
                    use(user, user.imported_variables[variable])
        else:
            calls[node] = use(user, found.linkage.name)
        waiting += calls[node]
    recursive = _cycle(calls) if len(plans) > 1 else None
    shown = str(recursive[0].module.functions[recursive[1]]) if recursive else ""
    others = [each for each in plans if each is not plan]
    return Reached(list(calls), others, list(missing), shown, _ambiguous(taken, [plan, *others]))


def _ambiguous(taken: Iterable[tuple[str, Plan]], plans: list[Plan]) -> list[str]:
    """Names with several meanings: the compiler looks them up in the order of the plans, for every module."""
    found = []
    for name, provider in taken:
        first = next(plan for plan in plans if name in plan.exports)
        if first is not provider and (first.exports[name].strong or provider.exports[name].strong):
            found.append(name)
    return sorted(set(found))


def _cycle(calls: dict[tuple[Plan, int], list[tuple[Plan, int]]]) -> tuple[Plan, int] | None:
    done: set[tuple[Plan, int]] = set()
    for root in calls:
        path, stack = {root}, [(root, iter(calls[root]))]
        while stack:
            node, rest = stack[-1]
            for callee in rest:
                if callee in path:
                    return callee
                if callee not in done:
                    path.add(callee)
                    stack.append((callee, iter(calls[callee])))
                    break
            else:
                stack.pop()
                done.add(node)
                path.discard(node)
    return None


def link(plans: Iterable[Plan]) -> tuple[bool, list[str]]:
    """Finds a provider for every import, in all of the plans or in none; returns the success and the lines of the log.

    Imports that were linked before stay as they are.
    """
    listed = list(dict.fromkeys(plans))
    offers = _offers(listed)
    found: dict[Plan, dict[str, Plan]] = {}
    wrong: list[str] = []
    notes: list[str] = []
    wanted = {name for plan in listed for name in plan.imports}
    for name, providers in offers.items():
        strong = [plan for plan in providers if plan.exports[name].strong]
        if len(strong) > 1:
            where = ", ".join(_numbered(listed, plan) for plan in strong)
            (wrong if name in wanted else notes).append(f'"{name}" is exported by several modules: {where}')
    for plan in listed:
        for name, each in plan.imports.items():
            if name in plan.providers:
                continue
            provider = _chosen(name, [other for other in offers.get(name, ()) if other is not plan])
            if provider is None:
                if name in plan.required:
                    wrong.append(f'"{name}", imported by {_numbered(listed, plan)}, is exported by no module')
                continue
            problem = fits(each, provider.exports[name])
            if problem:
                wrong.append(
                    f'"{name}" {problem}: {_numbered(listed, plan)} imports it from {_numbered(listed, provider)}'
                )
            found.setdefault(plan, {})[name] = provider
    if not wrong:
        for plan, providers_of in found.items():
            plan.providers.update(providers_of)
    return not wrong, wrong + notes


def _offers(plans: list[Plan]) -> dict[str, list[Plan]]:
    offers: dict[str, list[Plan]] = {}
    for plan in plans:
        for name in plan.exports:
            offers.setdefault(name, []).append(plan)
    return offers


def _chosen(name: str, providers: list[Plan]) -> Plan | None:
    """The strong definition, else the first."""
    return next((plan for plan in providers if plan.exports[name].strong), providers[0] if providers else None)


def _numbered(plans: list[Plan], plan: Plan) -> str:
    return f"module {plans.index(plan)}"


def inspect(flags: int, plans: Iterable[Plan]) -> list[str]:
    """The lists that the flags ask for, each under its title."""
    listed = list(dict.fromkeys(plans))
    offers = _offers(listed)
    lists: list[tuple[int, str, list[tuple[Plan, list[str]]]]] = [
        (
            ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS,
            "imports",
            [(plan, list(plan.imports)) for plan in listed],
        ),
        (
            ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS,
            "unresolvable imports",
            [(plan, [name for name in plan.imports if not _resolvable(plan, name, offers)]) for plan in listed],
        ),
        (
            ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS,
            "exports",
            [(plan, list(plan.exports)) for plan in listed],
        ),
    ]
    lines: list[str] = []
    for flag, title, entries in lists:
        if flags & flag:
            lines.append(f"{title}:")
            lines += [f"  {_numbered(listed, plan)}: {name}" for plan, names in entries for name in sorted(names)]
    return lines


def _resolvable(plan: Plan, name: str, offers: dict[str, list[Plan]]) -> bool:
    return name in plan.providers or any(other is not plan for other in offers.get(name, ()))


def fits(wanted: Linkable, given: Linkable) -> str:
    """The reason why one symbol cannot be linked with the other; empty if it can."""
    if isinstance(wanted.symbol, Function) and isinstance(given.symbol, Function):
        if not compatible(wanted.symbol.type, given.symbol.type):
            return f"is {given.symbol.type} where it is defined and {wanted.symbol.type} where it is used"
    elif isinstance(wanted.symbol, Variable) and isinstance(given.symbol, Variable):
        used, defined = wanted.symbol.type, given.symbol.type
        if used.storage_class != defined.storage_class or used.pointee.size > defined.pointee.size:
            return f"is {defined} where it is defined and {used} where it is used"
    else:
        return "is a function on one side and a variable on the other"
    return ""


def compatible(one: types.Type, other: types.Type) -> bool:
    """Whether values of both types have the same layout. Pointees do not matter: front ends drop their types."""
    return _alike(one, other, set())


def _alike(one: types.Type, other: types.Type, seen: set[tuple[int, int]]) -> bool:
    if one is other or (id(one), id(other)) in seen:
        return True
    # Each pair is compared once; the first mismatch ends the comparison.
    seen.add((id(one), id(other)))
    if type(one) is not type(other):
        return False
    match one, other:
        case types.Int(), types.Int():
            return one.width == other.width
        case types.Float(), types.Float():
            return one.width == other.width
        case types.Vector(), types.Vector():
            return one.length == other.length and _alike(one.element, other.element, seen)
        case types.Array(), types.Array():
            return one.length == other.length and _alike(one.element, other.element, seen)
        case types.Struct(), types.Struct():
            return one.packed == other.packed and _all_alike(one.members, other.members, seen)
        case types.Pointer(), types.Pointer():
            return one.storage_class == other.storage_class
        case types.FunctionType(), types.FunctionType():
            return _alike(one.result, other.result, seen) and _all_alike(one.parameters, other.parameters, seen)
        case (types.Image(), types.Image()) | (types.SampledImage(), types.SampledImage()):
            return str(one) == str(other)
        case types.Named(), types.Named():
            return one.name == other.name
    return True


def _all_alike(ones: tuple[types.Type, ...], others: tuple[types.Type, ...], seen: set[tuple[int, int]]) -> bool:
    return len(ones) == len(others) and all(_alike(*pair, seen) for pair in zip(ones, others, strict=True))
