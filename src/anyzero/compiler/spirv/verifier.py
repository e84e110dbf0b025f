"""Verifies all assumptions of the lowering, which does not check them again.

Lenient if the meaning is clear: blocks and declarations in any order, capabilities without their extension or not
declared at all, half-precision arithmetic under Float16Buffer. Strict otherwise.
"""

from __future__ import annotations

from collections.abc import Set

from anyzero.compiler.spirv.capabilities import COMPONENTS, HARMLESS, SUPPORTED
from anyzero.compiler.spirv.constants import Composite, FunctionAddress
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.flow import Flow, flow
from anyzero.compiler.spirv.function import Block, Function
from anyzero.compiler.spirv.grammar import belongs, enumerant_name, opcode_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.module import Module, Variable
from anyzero.compiler.spirv.rules import (
    arithmetic,
    atomics,
    composites,
    control,
    conversions,
    groups,
    images,
    memory,
    opencl,
)
from anyzero.compiler.spirv.rules.check import RULES, Check, shape
from anyzero.compiler.spirv.rules.odd_integers import check_odd_integers
from anyzero.compiler.spirv.tables import CAPABILITIES_OF, Op, StorageClass
from anyzero.compiler.spirv.types import Int, Pointer, Type, Void
from anyzero.lazy_dataclass import replace

CHAPTERS = (arithmetic, atomics, composites, control, conversions, groups, images, memory, opencl)
"""Importing these modules fills the table of rules."""

LARGEST_INITIALIZER = 64 << 20
"""Bytes of one variable's initializer; its constants may be shared, so the module can be far smaller."""


def verify(module: Module) -> None:
    """Verify the declarations and the body of every function."""
    verify_declarations(module)
    owners: dict[int, Function] = {}
    for function in module.functions.values():
        if function.has_body:
            verify_function(function)
            for id_ in (*function.body.types, *function.blocks):
                other = owners.setdefault(id_, function)
                if other is not function:
                    raise SpirvError(f"declares %{id_}, which {other} declares too", function.offset, "OpFunction")


def verify_kernel(module: Module, name: str) -> None:
    """Verify one kernel and its callees; the declarations must have been verified."""
    for function in module.reachable(module.kernels[name].function.id):
        if function.has_body:
            verify_function(function)


def verify_declarations(module: Module) -> None:
    """Verify everything outside of function bodies."""
    unsupported = module.capabilities.keys() - SUPPORTED
    if unsupported:
        _nothing_of(module, unsupported)
    for variable in module.variables.values():
        try:
            _variable(variable)
        except SpirvError as error:
            raise error.at(variable.offset, module.shown(variable.offset)) from None
    _constants(module)
    _exports(module)
    _kernels(module)
    _calls(module)


def _nothing_of(module: Module, unsupported: Set[int]) -> None:
    """Refuses decorations and execution modes that require unsupported capabilities."""
    members = module.decorations.of_members.items()
    used = {("Decoration", each.kind): id_ for id_, all_ in module.decorations.of.items() for each in all_}
    used |= {("Decoration", each.kind): id_ for (id_, _), all_ in members for each in all_}
    used |= {("ExecutionMode", each.mode): id_ for id_, all_ in module.modes.items() for each in all_}
    for (kind, value), id_ in used.items():
        needed = CAPABILITIES_OF[kind].get(value, ())
        if SUPPORTED.isdisjoint(needed) and not unsupported.isdisjoint(needed) and (kind, value) not in HARMLESS:
            of = " or ".join(enumerant_name("Capability", each) for each in needed)
            reason = f"%{id_} is marked {enumerant_name(kind, value)}, which is not supported; it requires {of}"
            offset = module.ids.get(id_, 0)
            raise SpirvError(reason, offset, module.shown(offset) if offset else "")


def _variable(variable: Variable) -> None:
    pointee = variable.type.pointee
    if isinstance(variable.initializer, Composite) and pointee.size > LARGEST_INITIALIZER:
        raise SpirvError(f"has an initializer of {pointee.size} bytes; {LARGEST_INITIALIZER} is the limit")
    if variable.builtin is None:
        if variable.storage_class == StorageClass.Input:
            raise SpirvError("is an input variable, but no builtin; other inputs of kernels are parameters")
        return
    name = enumerant_name("BuiltIn", variable.builtin)
    count = COMPONENTS.get(variable.builtin)
    if count is None:
        raise SpirvError(f"the builtin {name} is not supported")
    if not shape(pointee, Int, count) or (pointee.scalar or pointee).odd:
        raise SpirvError(f"the builtin {name} cannot be {pointee}")


def _constants(module: Module) -> None:
    check = Check(module)
    for id_, constant in module.constants.items():
        declaration = module.declarations[id_]
        try:
            if isinstance(constant, FunctionAddress):
                _function_address(module, constant)
            elif declaration.opcode == Op.SpecConstantOp:
                opcode, *operands = declaration.operands
                RULES[opcode](check, replace(declaration, opcode=opcode, operands=tuple(operands)))
        except SpirvError as error:
            raise error.at(declaration.offset, module.shown(declaration.offset)) from None


def _function_address(module: Module, constant: FunctionAddress) -> None:
    function = module.functions.get(constant.function)
    if function is None or not isinstance(constant.type, Pointer) or constant.type.pointee is not function.type:
        raise SpirvError(f"%{constant.function} is not a function that {constant.type} could point to")


def _exports(module: Module) -> None:
    named = [(each.linkage, each.offset) for each in module.functions.values()]
    named += [(each.linkage, each.offset) for each in module.variables.values()]
    seen = set()
    for linkage, offset in named:
        if linkage and linkage.kind != "import":
            if linkage.name in seen:
                raise SpirvError(f'"{linkage.name}" is exported twice', offset, "OpDecorate")
            seen.add(linkage.name)


def _kernels(module: Module) -> None:
    for kernel in module.kernels.values():
        offset = kernel.function.offset
        if not isinstance(kernel.function.type.result, Void):
            raise SpirvError(f'the kernel "{kernel.name}" returns a value', offset, "OpFunction")
        for sizes in (kernel.required_group_size, kernel.max_group_size):
            if sizes and 0 in sizes:
                raise SpirvError(f'the kernel "{kernel.name}" has empty work-groups', offset, "OpFunction")


def _calls(module: Module) -> None:
    """Checks that every callee exists and that there is no recursion: devices have no growing stack."""
    for function in module.functions.values():
        for callee in function.calls:
            if callee not in module.functions:
                raise SpirvError(f"calls %{callee}, which is not a function", function.offset, "OpFunction")
    done: set[int] = set()
    for root in module.functions:
        if root in done:
            continue
        path, stack = {root: None}, [(root, iter(module.functions[root].calls))]
        while stack:
            caller, rest = stack[-1]
            for callee in rest:
                if callee in path:
                    function = module.functions[callee]
                    raise SpirvError(f"{function} calls itself, directly or not", function.offset, "OpFunction")
                if callee not in done:
                    path[callee] = None
                    stack.append((callee, iter(module.functions[callee].calls)))
                    break
            else:
                stack.pop()
                done.add(caller)
                del path[caller]


def verify_function(function: Function) -> Flow:
    """Verify one body, once; return its control flow."""
    if function.verified is not None:
        return function.verified
    if not function.blocks:
        raise SpirvError("has no blocks", function.offset, "OpFunction")
    found = flow(function)
    entry = function.entry
    if found.predecessors[entry.label]:
        raise SpirvError("is a function's first block, which nothing may branch to", entry.offset, "OpLabel")
    _Walk(function, found).everything()
    function.verified = found
    return found


class _Walk:
    """Walks the dominator tree, so the visible values are exactly those that dominate the current block."""

    def __init__(self, function: Function, found: Flow) -> None:
        self.function = function
        self.flow = found
        self.check = Check(function.module, function)
        self.types = function.body.types
        self.incoming: dict[int, list[tuple[Instruction, dict[int, int]]]] = {}

    def everything(self) -> None:
        values = self.check.values
        values.update(zip(self.function.parameters, self.function.type.parameters, strict=True))
        # A label to enter, or a block to leave, whose values go out of scope.
        stack: list[int | Block] = [self.function.entry.label]
        while stack:
            step = stack.pop()
            if isinstance(step, Block):
                for instruction in step.instructions:
                    if instruction.result_id:
                        del values[instruction.result_id]
                continue
            block = self.function.blocks[step]
            stack.append(block)
            self.block(block)
            stack.extend(reversed(self.flow.dominated[step]))
        # Unreachable blocks: only the types are checked.
        values.update(self.types)
        for label in self.flow.unreachable:
            self.block(self.function.blocks[label])

    def block(self, block: Block) -> None:
        check, values, types, module = self.check, self.check.values, self.types, self.function.module
        check.block = block
        instruction = block.terminator
        try:
            if block.merge is not None:
                instruction = block.merge
                self.merge(instruction)
            leading = True
            for instruction in block.instructions:
                opcode = instruction.opcode
                if opcode == Op.Phi:
                    if not leading:
                        raise SpirvError("comes after other instructions of its block")
                else:
                    leading = False
                    rule = RULES.get(opcode)
                    if rule is None:
                        raise SpirvError(f"{opcode_name(opcode)} is not supported in kernels{belongs(opcode)}")
                    rule(check, instruction)
                    if module.odd_integers:
                        check_odd_integers(check, instruction)
                result = instruction.result_id
                if result:
                    values[result] = types[result]
            instruction = block.terminator
            RULES[instruction.opcode](check, instruction)
            for target in block.successors:
                for phi, values_of in self.phis(target):
                    instruction = phi
                    self.phi(phi, block.label, values_of)
        except SpirvError as error:
            offset = instruction.offset
            raise error.at(offset, module.shown(offset), module.whereabouts(offset)) from None

    def merge(self, instruction: Instruction) -> None:
        labels = instruction.operands[: 2 if instruction.opcode == Op.LoopMerge else 1]
        for label in labels:
            if label not in self.function.blocks:
                raise SpirvError(f"%{label} is not a block of this function")

    def phis(self, label: int) -> list[tuple[Instruction, dict[int, int]]]:
        """The phis of a block, each with its value per predecessor."""
        found = self.incoming.get(label)
        if found is None:
            found = self.incoming[label] = []
            for phi in self.function.blocks[label].phis:
                words = phi.operands
                if len(words) % 2:
                    raise SpirvError("pairs a value with no block", phi.offset, phi.name)
                pairs = dict(zip(words[1::2], words[::2], strict=True))
                parents = self.flow.predecessors[label]
                if len(pairs) * 2 != len(words) or len(pairs) != len(parents):
                    reason = f"names {len(pairs)} different blocks, but its block has {len(parents)} predecessors"
                    raise SpirvError(reason, phi.offset, phi.name)
                found.append((phi, pairs))
        return found

    def phi(self, phi: Instruction, parent: int, values_of: dict[int, int]) -> None:
        if parent not in values_of:
            raise SpirvError(f"has no value for the predecessor %{parent}")
        self.check.is_(values_of[parent], self.types[phi.result_id])
        _has_value(self.types[phi.result_id])


def _has_value(type_: Type) -> None:
    if not type_.sized:
        raise SpirvError(f"there is no value of type {type_}")
