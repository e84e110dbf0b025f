"""A kernel as a whole module."""

from __future__ import annotations

from anyzero.language import tree
from anyzero.language.write.module import Enum, Module, literal
from anyzero.language.write.statements import FunctionWriter

__all__ = ["written"]


def written(function: tree.Function, group: tuple[int, ...] | None, contract: bool) -> Module:
    """The module of a kernel and the functions that it calls."""
    module = Module(contract=contract)
    file = module.string(function.file)
    module.debug("Source", Enum("SourceLanguage", "Unknown"), literal(0), file)
    own = FunctionWriter(module, {}, function).write(is_kernel=True)
    module.entry("EntryPoint", Enum("ExecutionModel", "Kernel"), own, function.name, *module.inputs)
    if group is not None:
        size = (*group, 1, 1)[:3]
        module.entry("ExecutionMode", own, Enum("ExecutionMode", "LocalSize"), *map(literal, size))
    if not contract:
        module.entry("ExecutionMode", own, Enum("ExecutionMode", "ContractionOff"))
    return module
