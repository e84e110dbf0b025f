"""Program-scope variables of a module, laid out in one block of memory.

A constant that no other module can name, and that holds no addresses, is not in the block: it is placed in the code of
the kernels that use it. So is a constant that holds addresses of functions, because every kernel has its own copies of
functions, and a constant that holds the address of such a constant.

This file imports neither LLVM nor the rest of the compiler: modules whose kernels are in the cache are laid out, too.
"""

from __future__ import annotations

from anyzero.compiler.compiled import Globals
from anyzero.compiler.errors import CompileError
from anyzero.compiler.spirv.constants import (
    Composite,
    Constant,
    Expression,
    FunctionAddress,
    Null,
    Scalar,
    Undef,
    VariableAddress,
    lanes,
)
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import string
from anyzero.compiler.spirv.module import Module, Variable
from anyzero.compiler.spirv.tables import Decoration, Op, StorageClass
from anyzero.compiler.spirv.types import Array, Pointer, Struct, Type, Vector
from anyzero.lazy_dataclass import dataclass, field

_SHARED = {StorageClass.CrossWorkgroup, StorageClass.UniformConstant, StorageClass.DeviceOnlyINTEL}
_SAME_ADDRESS = {
    Op.Bitcast,
    Op.CopyObject,
    Op.PtrCastToGeneric,
    Op.GenericCastToPtr,
    Op.ConvertPtrToU,
    Op.ConvertUToPtr,
}
_CHAINS = {Op.AccessChain: 1, Op.InBoundsAccessChain: 1, Op.PtrAccessChain: 2, Op.InBoundsPtrAccessChain: 2}
_DEEPEST = 200


@dataclass(slots=True)
class Layout:
    """The offsets of the variables in the block, and its initial contents."""

    size: int = 0
    alignment: int = 1
    image: bytes = field(default=b"", repr=False)
    """The first bytes of the block; the rest is zero."""
    relocations: list[tuple[int, int]] = field(default_factory=list)
    """Pointers in the block: the offset of the pointer, and the offset that it points to."""
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Offset and size of the variables that the host can look up, by name."""
    offsets: dict[int, int] = field(default_factory=dict)
    """Offsets by the id of the variable."""


@dataclass(slots=True)
class Contents:
    """An initializer as bytes."""

    data: bytearray
    addresses: list[tuple[int, int, int]] = field(default_factory=list)
    """Addresses of variables in the data: the offset, the id of the variable, and an addend."""
    functions: list[tuple[int, int]] = field(default_factory=list)
    """Addresses of functions in the data: the offset and the id of the function."""


def layout_globals(module: Module) -> Globals:
    """The layout in the form that the engine needs to create the block."""
    made = layout(module)
    return Globals(made.image, made.size, made.alignment, tuple(made.relocations), made.names)


def layout(module: Module) -> Layout:
    made = Layout()
    shared = [each for each in module.variables.values() if _is_shared(each)]
    contents = {each.id: initial(module, each) for each in shared}
    tables = _tables(module, contents)
    targets = {target for each in contents.values() for _, target, _ in each.addresses}
    placed = [
        each
        for each in shared
        if each.id not in tables and (each.id in targets or not stays_in_code(module, each, contents[each.id]))
    ]
    # Variables that begin as zero come last, so that the image stays short.
    for variable in sorted(placed, key=lambda each: not contents[each.id].data):
        offset = -(-made.size // variable.alignment) * variable.alignment
        size = variable.type.pointee.size
        made.offsets[variable.id] = offset
        made.size = offset + size
        made.alignment = max(made.alignment, variable.alignment)
        for name in _names(module, variable):
            made.names.setdefault(name, (offset, size))
    image = bytearray()
    for id_, offset in made.offsets.items():
        data, addresses = contents[id_].data, contents[id_].addresses
        if data:
            image += bytes(offset - len(image)) + data
        for place, target, further in addresses:
            if target not in made.offsets:
                raise _at(
                    module, id_, CompileError(f"holds the address of %{target}, which is not known before launch")
                )
            made.relocations.append((offset + place, made.offsets[target] + further))
    made.image = bytes(image)
    return made


def _tables(module: Module, contents: dict[int, Contents]) -> set[int]:
    """Variables that hold addresses of functions, directly or not: they lie in the code."""
    found = {id_ for id_, each in contents.items() if each.functions}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {id_ for id_, each in contents.items() if any(target in found for _, target, _ in each.addresses)}
    for id_ in found:
        if not module.variables[id_].constant:
            reason = "holds the address of a function, which is another one in each kernel; only a constant can"
            raise _at(module, id_, CompileError(reason))
    return found


def stays_in_code(module: Module, variable: Variable, contents: Contents) -> bool:
    """Addresses of functions are not considered here; they always keep a variable in the code."""
    return (
        variable.storage_class == StorageClass.UniformConstant
        and variable.initializer is not None
        and variable.linkage is None
        and not contents.addresses
        and not module.decorations.has(variable.id, Decoration.HostAccessINTEL)
    )


def initial(module: Module, variable: Variable) -> Contents:
    """The initial contents of a variable; empty for zeros."""
    contents = Contents(bytearray())
    if variable.initializer is None or isinstance(variable.initializer, (Null, Undef)):
        return contents
    contents.data = bytearray(variable.type.pointee.size)
    try:
        _write(module, variable.initializer, 0, contents)
    except SpirvError as error:
        raise _at(module, variable.id, error) from None
    if not contents.addresses and not contents.functions and not any(contents.data):
        contents.data = bytearray()
    return contents


def constant_bytes(module: Module, constant: Constant) -> bytes | None:
    """The bytes of a constant; None where it holds addresses."""
    contents = Contents(bytearray(constant.type.size))
    try:
        _write(module, constant, 0, contents)
    except SpirvError:
        return None
    return None if contents.addresses or contents.functions else bytes(contents.data)


def _is_shared(variable: Variable) -> bool:
    imported = variable.linkage is not None and variable.linkage.kind == "import"
    return variable.storage_class in _SHARED and variable.builtin is None and not imported


def _names(module: Module, variable: Variable) -> list[str]:
    names = [variable.linkage.name] if variable.linkage else []
    for words in module.decorations.all(variable.id, Decoration.HostAccessINTEL):
        names.append(string(words, 1, len(words))[0])
    return [*names, variable.name] if variable.name else names


def _at(module: Module, id_: int, error: SpirvError) -> SpirvError:
    offset = module.variables[id_].offset
    return error.at(offset, module.shown(offset))


def _write(module: Module, constant: Constant, offset: int, to: Contents) -> None:
    if isinstance(constant, Scalar):
        size = constant.type.size
        to.data[offset : offset + size] = constant.bits.to_bytes(size, "little")
    elif isinstance(constant.type, Vector) and isinstance(constant, Composite):
        whole = sum(
            (bits or 0) << index * constant.type.element.bits for index, bits in enumerate(lanes(constant) or ())
        )
        to.data[offset : offset + constant.type.size] = whole.to_bytes(constant.type.size, "little")
    elif isinstance(constant, Composite):
        for index, element in enumerate(constant.elements):
            _write(module, element, offset + _place(constant.type, index), to)
    elif not isinstance(constant, (Null, Undef)):
        target, further = _address(module, constant)
        if target in module.functions:
            to.functions.append((offset, target))
        else:
            to.addresses.append((offset, target, further))


def _place(type_: Type, index: int) -> int:
    if isinstance(type_, Struct):
        return type_.offsets[index]
    assert isinstance(type_, Array)
    return index * type_.stride


def _address(module: Module, constant: Constant) -> tuple[int, int]:
    """The variable that an address points into and the offset there; or the function."""
    further = 0
    for _ in range(_DEEPEST):
        if isinstance(constant, VariableAddress):
            return constant.id, further
        if isinstance(constant, FunctionAddress) and not further:
            return constant.function, 0
        if not isinstance(constant, Expression):
            break
        if constant.opcode in _CHAINS:
            further += _chain(module, constant)
        elif constant.opcode not in _SAME_ADDRESS:
            break
        base = constant.operands[0]
        if base in module.variables:
            return base, further
        constant = module.constants[base]
    raise CompileError("begins with an address that is not known before launch")


def _chain(module: Module, chain: Expression) -> int:
    base, *indices = chain.operands
    pointer = module.values[base]
    assert isinstance(pointer, Pointer)
    reached, further = pointer.pointee, 0
    for position, id_ in enumerate(indices):
        index = module.constants.get(id_)
        if not isinstance(index, Scalar):
            raise CompileError(f"%{id_} is not a constant integer")
        if position == 0 and _CHAINS[chain.opcode] == 2:
            further += index.signed * reached.size
        elif isinstance(reached, Struct):
            further += reached.offsets[index.bits]
            reached = reached.members[index.bits]
        else:
            assert isinstance(reached, (Array, Vector))
            further += index.signed * reached.stride
            reached = reached.element
    return further
