"""Kernels: argument layout, and one body with all calls inlined."""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.analysis.uses import Uses, uses
from anyzero.compiler.compiled import Argument
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import SIZES, WIDTHS, Access, Body, Op
from anyzero.compiler.ir import Variable as Memory
from anyzero.compiler.spirv.float_controls import USUAL, FloatControls
from anyzero.compiler.spirv.kernel import Kernel, Parameter
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.spirv.types import Image, Pointer
from anyzero.compiler.transform.blocks import arrange, join
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.phis import remove_trivial_phis
from anyzero.compiler.translate import chapters, inputs
from anyzero.compiler.translate.declared import declared
from anyzero.compiler.translate.frame import Frame
from anyzero.compiler.translate.packed import chunks, unpack
from anyzero.compiler.translate.translator import Translator
from anyzero.compiler.translate.trees import Piece, Tree, bounded, build, leaves, pieces, scalars
from anyzero.lazy_dataclass import dataclass, replace

LARGEST_ALIGNMENT = 64
"""Maximum alignment of an argument in the argument block."""

assert chapters.COMPLETE


@dataclass(slots=True, eq=False)
class Translation:
    """A kernel in the compiler's IR, with the properties for a launch."""

    body: Body
    arguments: tuple[Argument, ...]
    args_bytes: int
    local_bytes: int
    """Bytes of the module's local variables; local arguments follow them."""
    uses: Uses
    kernel: Kernel


def kernel(
    module: Module,
    name: str,
    linked: Sequence[Module] = (),
    debug: bool = False,
    group: tuple[int, int, int] | None = None,
) -> Translation:
    """One kernel of a verified module, with all its callees. `debug` preserves source locations.

    `group` is the group size of all launches, which is treated as required.
    """
    found = module.kernels.get(name)
    if found is None:
        raise CompileError(f'the module has no kernel "{name}"')
    if group is not None and found.required_group_size is None:
        found = replace(found, required_group_size=group)
    translator = Translator(name, module, linked, found, debug)
    try:
        arguments, size = layout(found)
        values = [_value(translator, *each) for each in zip(found.parameters, arguments, strict=True)]
        translator.run(Frame(translator, 0, found.function, values))
        translator.leave()
        _finish(translator)
    except RecursionError:
        raise CompileError(f'the kernel "{name}" has types or constants that are nested too deep') from None
    body = translator.body
    return Translation(body, arguments, size, _place_locals(body), uses(body), found)


def function(
    module: Module,
    id_: int,
    linked: Sequence[Module] = (),
    index: int = 0,
    floats: FloatControls = USUAL,
    debug: bool = False,
) -> Body:
    """A function called by address; its parameters are flattened to scalars.

    `index` is its module: 0 for the kernel's module, 1 … for linked ones. `floats` are the calling kernel's float
    controls.
    """
    found = [module, *linked][index].functions[id_]
    translator = Translator(found.name or f"function.{id_}", module, linked, debug=debug)
    translator.floats = floats
    try:
        index, found = translator.resolved(index, found)
        place = 0
        values: list[Tree] = []
        for type_ in found.type.parameters:
            bounded(type_)
            names = scalars(type_)
            ops = iter([translator.once("parameter", name, place + at) for at, name in enumerate(names)])
            place += len(names)
            values.append(build(type_, lambda _, ops=ops: next(ops)))  # type: ignore[misc]
        result = translator.run(Frame(translator, index, found, values))
        if result is not None:
            _give_back(translator, leaves(result))
        translator.leave()
        _finish(translator)
    except RecursionError:
        raise CompileError(f"{found} has types or constants that are nested too deep") from None
    return translator.body


def _give_back(translator: Translator, values: list[Op]) -> None:
    """Adds the function's results to every exit; undefined values at unreachable ones."""
    block, b = translator.exit, translator.b
    elsewhere = list(block.predecessors)
    if elsewhere:
        phis = []
        for value in values:
            phi = b.phi(value.type, block)
            phi.args = [*([translator.undef(value.type)] * len(elsewhere)), value]
            phis.append(phi)
        values = phis
        here, b.block = b.block, block
        b.emit("result", "", values)
        b.block = here
    else:
        b.emit("result", "", values)


def layout(found: Kernel) -> tuple[tuple[Argument, ...], int]:
    """The packed arguments, and their total size in bytes."""
    made: list[Argument] = []
    end = 0
    for parameter in found.parameters:
        by_value = parameter.kind in ("value", "byval")
        size = parameter.size if by_value else SIZES["ptr"]
        alignment = min(_alignment(parameter) if by_value else SIZES["ptr"], LARGEST_ALIGNMENT)
        offset = -(-end // alignment) * alignment
        end = offset + size
        kind = "value" if parameter.kind == "byval" else parameter.kind
        access = parameter.type.access if isinstance(parameter.type, Image) else 0
        name = "".join(parameter.name.split())
        written = declared(parameter)
        made.append(Argument(parameter.index, name, kind, size, offset, alignment, access, written))
    return tuple(made), -(-end // 8) * 8


def _alignment(parameter: Parameter) -> int:
    """The alignment of an argument; loads without an alignment operand assume the type's own."""
    type_ = parameter.type
    return max(parameter.alignment, type_.pointee.alignment if isinstance(type_, Pointer) else type_.alignment)


def _value(translator: Translator, parameter: Parameter, argument: Argument) -> Tree:
    if parameter.kind == "byval":
        return translator.once("argument_address", "ptr", argument.offset)
    if parameter.kind == "local":
        return translator.once("local_argument", "ptr", argument.offset)
    type_, b, found = parameter.type, translator.b, []
    bounded(type_)
    for piece in pieces(type_):
        if piece.odd:
            found += _packed(translator, piece, argument.offset + piece.offset)
            continue
        for index in range(piece.components):
            place = argument.offset + piece.offset + index * SIZES[piece.scalar]
            value = translator.once("argument", piece.scalar, place)
            found.append(b.icmp("ne", value, b.const("i8", 0)) if piece.truth else value)
    rest = iter(found)
    return build(type_, lambda _: next(rest))


def _packed(translator: Translator, piece: Piece, offset: int) -> list[Op]:
    width = WIDTHS[piece.scalar]
    places = chunks(width * piece.components)
    found = [translator.once("argument", chunk.type, offset + chunk.offset) for chunk in places]
    with translator.beginning():
        return unpack(translator.b, found, width, piece.components)


def _finish(translator: Translator) -> None:
    """Removes dead operations, then handles byval arguments and builtins, which need all uses."""
    body = translator.body
    arrange(body, translator.entry)
    if any(module.odd_integers for module in translator.modules):
        # Few kernels have them, and its parts are large.
        from anyzero.compiler.transform.legalize_integers import legalize_integers

        legalize_integers(body)
    remove_trivial_phis(body)
    dce(body)
    translator.forget()
    used = {arg for op in body.ops for arg in op.args}
    for address in translator.inputs:
        if address in used:
            inputs.spill(translator, address)
    for op in [op for op in translator.entry.ops if op.name == "argument_address"]:
        _keep_or_copy(translator, op)
    join(body)


def _keep_or_copy(translator: Translator, address: Op) -> None:
    """A read-only byval structure is used in place; one that is written to is copied first."""
    readers = _readers(translator.body, address)
    if readers is not None:
        for reader in readers:
            if reader.name == "load":
                reader.info = replace(reader.info, space="constant")
        return
    b, found = translator.b, translator.kernel
    assert found is not None
    places = zip(found.parameters, layout(found)[0], strict=True)
    # An empty structure has the address of the next argument.
    here = [each for each, place in places if place.offset == address.info and each.kind == "byval"]
    parameter = max(here, key=lambda each: each.size)
    variable = Memory(parameter.size, _alignment(parameter), "private", parameter.name)
    translator.body.variables.append(variable)
    with translator.beginning():
        source = b.emit("argument_address", "ptr", [], address.info)
        access = Access(alignment=min(_alignment(parameter), LARGEST_ALIGNMENT), space="private")
        b.emit("copy", "", [address, source, b.const("i64", parameter.size)], access)
    address.name, address.info = "variable", variable


def _readers(body: Body, address: Op) -> list[Op] | None:
    """The reads from an address; None if it has other uses."""
    addresses, readers = {address}, []
    for op in body.ops:
        for place, arg in enumerate(op.args):
            if arg not in addresses:
                continue
            if op.name == "offset":
                addresses.add(op)
            elif op.name == "load" or (op.name == "copy" and place == 1):
                readers.append(op)
            else:
                return None
    return readers


def _place_locals(body: Body) -> int:
    end = 0
    for variable in body.variables:
        if variable.space == "local":
            variable.offset = -(-end // variable.alignment) * variable.alignment
            end = variable.offset + variable.size
    return end
