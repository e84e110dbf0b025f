"""Random loads and stores."""

from __future__ import annotations

from collections.abc import Callable

from tests.compiler.agreement.expressions import constant, makes, value
from tests.compiler.agreement.function import Code
from tests.compiler.agreement.indices import Index, index, masked
from tests.compiler.agreement.statements import LAST, states
from tests.compiler.agreement.storage import Array, Buffer, Output
from tests.compiler.agreement.writer import FLOATS, WIDTH, Value, length, scalar, size


def converted(code: Code, found: Value, type_: str) -> Value:
    """The same number, more or less, in another type."""
    if found.type == type_:
        return found
    if length(found.type) != length(type_):
        part = found
        if length(found.type) > 1:
            place = str(code.draw.number(0, length(found.type) - 1))
            part = code.emit("CompositeExtract", scalar(found.type), found.id, place, uniform=found.uniform)
        return code.spread(converted(code, part, scalar(type_)), length(type_))
    floats = [scalar(each) in FLOATS for each in (found.type, type_)]
    if all(floats):
        return code.op("FConvert", type_, found)
    if floats[0]:
        whole = code.op("ConvertFToS", type_, found)
        code.writer.decorations.append(f"OpDecorate {whole.id} SaturatedConversion")
        return whole
    return code.op("ConvertSToF" if floats[1] else "UConvert", type_, found)


def _behind(code: Code, place: Index, type_: str, read: Callable[[], Value]) -> Value:
    """What is read where the index is inside, else a constant."""
    if place.guard is None:
        return read()
    inside, behind, before = code.new_label("inside"), code.new_label("behind"), code.label
    otherwise = constant(code, type_)
    code.branch(place.guard, inside, behind)
    code.begin(inside)
    here = len(code.values)
    found = read()
    del code.values[here:]
    last = code.label
    code.goto(behind)
    code.begin(behind)
    return code.emit("Phi", type_, found.id, last, otherwise.id, before)


def _alignment(code: Code, natural: int) -> int:
    """What is said of it, which may be less than is true."""
    return code.draw.one_of([each for each in (natural, 1, 2, 4, 0) if each <= natural])


@makes(8, "int", "float")
@makes(6, "vector")
def from_buffer(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    if not code.inputs:
        return None
    fitting = [each for each in code.inputs if each.type == type_ or scalar(type_) in each.members]
    buffer = code.draw.one_of(fitting or code.inputs)
    place = index(code, buffer.count, min(depth, 1), uniform)
    found = _behind(code, place, type_, lambda: converted(code, _read(code, buffer, place, type_), type_))
    return code.keep(found)


def _read(code: Code, buffer: Buffer, place: Index, type_: str) -> Value:
    uniform = place.value.uniform
    chain = code.draw.one_of(("InBoundsPtr", "Ptr"))
    if buffer.storage != "CrossWorkgroup":
        pointer = code.pointer(buffer.storage, buffer.type, buffer.id, place.value.id, inside="InBounds")
        return code.load(buffer.type, pointer, size(buffer.type), uniform)
    if buffer.members:
        wanted = [at for at, member in enumerate(buffer.members) if member == scalar(type_)]
        at = code.draw.one_of(wanted or range(len(buffer.members)))
        member = buffer.members[at]
        pointer = code.pointer(
            "CrossWorkgroup", member, buffer.id, place.value.id, code.const("i32", at).id, inside=chain
        )
        return code.load(member, pointer, 1 if buffer.packed else _alignment(code, size(member)), uniform)
    if length(type_) in (2, 3, 4) and buffer.type == scalar(type_) and place.guard is None and code.draw.chance(70):
        # Packed vectors, whose number is an index of as many elements; masked once more, since there are fewer of them.
        wide = _as_size(code, place.value)
        most = code.const("i64", buffer.count // 4 - 1)
        number = code.op("BitwiseAnd", "i64", wide, most) if buffer.count < 256 or code.draw.chance(30) else None
        if number is None:
            number = code.op("UMod", "i64", wide, most)
        return code.emit(
            "ExtInst", type_, "%cl", "vloadn", number.id, buffer.id, str(length(type_)), uniform=number.uniform
        )
    pointer = code.pointer("CrossWorkgroup", buffer.type, buffer.id, place.value.id, inside=chain)
    return code.load(buffer.type, pointer, _alignment(code, size(buffer.type)), uniform)


def _as_size(code: Code, found: Value) -> Value:
    return found if found.type == "i64" else code.op("UConvert", "i64", found)


@makes(3, "int", "float", "vector")
def from_place(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    places = [each for each in code.places if each.type == type_ and (each.uniform or not uniform)]
    if not places:
        return None
    place = code.draw.one_of(places)
    return code.keep(code.load(type_, place.id, uniform=place.uniform and uniform))


@makes(2, "int", "float")
def from_array(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    arrays = [each for each in code.arrays if each.element == type_]
    if not arrays or uniform:
        return None
    array = code.draw.one_of(arrays)
    return code.keep(code.load(type_, _element(code, array.id, type_, array.count, depth)))


def _element(code: Code, base: str, type_: str, count: int, depth: int) -> str:
    place = index(code, count, min(depth, 1), False)
    if place.guard is not None:
        most = code.const(place.value.type, count - 1)
        place = Index(code.op("BitwiseAnd", place.value.type, place.value, most))
    return code.pointer("Function", type_, base, place.value.id, inside=code.draw.one_of(("InBounds", "")))


@makes(1, "int", "float")
def through_chosen_pointer(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    """One of two addresses, which may lie in different memory."""
    if uniform:
        return None
    buffers = [each for each in code.inputs if each.type == type_ and each.storage == "CrossWorkgroup"]
    places = [each for each in code.places if each.type == type_]
    arrays = [each for each in code.arrays if each.element == type_]
    pointers = []
    for _ in range(2):
        options = [*places[:2], *buffers[:2], *arrays[:1]]
        if not options:
            return None
        chosen = code.draw.one_of(options)
        if isinstance(chosen, Buffer):
            place = masked(code, chosen.count, min(depth, 1))
            pointer = code.pointer("CrossWorkgroup", type_, chosen.id, place.value.id, inside="InBoundsPtr")
            pointers.append((pointer, "CrossWorkgroup"))
        elif isinstance(chosen, Array):
            pointers.append((_element(code, chosen.id, type_, chosen.count, depth), "Function"))
        else:
            pointers.append((chosen.id, "Function"))
    spaces = {space for _, space in pointers}
    storage = spaces.pop() if len(spaces) == 1 and code.draw.chance(60) else "Generic"
    ids = [_generic(code, type_, id_) if storage == "Generic" else id_ for id_, _ in pointers]
    chooser = value(code, "bool", depth)
    id_ = code.writer.name("p")
    code.line(f"{id_} = OpSelect {code.writer.pointer(storage, type_)} {chooser.id} {ids[0]} {ids[1]}")
    return code.keep(code.load(type_, id_, size(type_)))


def _generic(code: Code, type_: str, pointer: str) -> str:
    id_ = code.writer.name("p")
    code.line(f"{id_} = OpPtrCastToGeneric {code.writer.pointer('Generic', type_)} {pointer}")
    return id_


@states(6)
def to_place(code: Code) -> None:
    places = [each for each in code.places if code.uniform or not each.uniform]
    if places:
        place = code.draw.one_of(places)
        code.store(place.id, value(code, place.type, 2, place.uniform))


def fold(code: Code) -> None:
    """What was computed last stays in a variable."""
    places = [each for each in code.places if not each.uniform]
    found = [each for each in code.values[-3:] if scalar(each.type) != "bool"]
    if places and found:
        place = code.draw.one_of(places)
        new = converted(code, code.draw.one_of(found[::-1]), place.type)
        opcode = "FAdd" if scalar(place.type) in FLOATS else "BitwiseXor"
        code.store(place.id, code.op(opcode, place.type, code.load(place.type, place.id), new))


LAST.append(fold)


@states(4)
def to_array(code: Code) -> None:
    if code.arrays:
        array = code.draw.one_of(code.arrays)
        pointer = _element(code, array.id, array.element, array.count, 1)
        code.store(pointer, value(code, array.element, 2))


@states(1)
def copied(code: Code) -> None:
    """Memory to memory, without a value in between."""
    pairs = [
        (array, buffer)
        for array in code.arrays
        for buffer in code.inputs
        if buffer.type == array.element and buffer.storage == "CrossWorkgroup"
    ]
    if not pairs:
        return
    array, buffer = code.draw.one_of(pairs)
    to = _element(code, array.id, array.element, array.count, 1)
    place = index(code, buffer.count, 1, False)
    if place.guard is not None:
        place = Index(code.op("BitwiseAnd", place.value.type, place.value, code.const(place.value.type, 63)))
    from_ = code.pointer("CrossWorkgroup", buffer.type, buffer.id, place.value.id, inside="InBoundsPtr")
    if code.draw.chance(50):
        code.line(f"OpCopyMemory {to} {from_} Aligned {size(buffer.type)}")
    else:
        amount = code.const("i64", WIDTH[scalar(buffer.type)] // 8 * length(buffer.type))
        code.line(f"OpCopyMemorySized {to} {from_} {amount.id} Aligned {size(buffer.type)}")


# Results


def first_slots(code: Code) -> None:
    """Where each work-item's part of the outputs begins; before anything else, so that everything can write."""
    for output in code.outputs:
        output.first = _first(code, output).id


def _first(code: Code, output: Output) -> Value:
    shape, linear = code.shape, code.ids["linear"]
    layout, type_ = output.layout, "i64"
    if layout.endswith("32"):
        layout, type_ = layout[:-2], "i32"
        linear = code.op("UConvert", "i32", linear)
    slots = code.const(type_, output.slots)
    match layout:
        case "rows":
            return code.op("IMul", type_, linear, slots)
        case "columns":
            return linear
        case "reversed":
            last = code.const(type_, shape.items - 1)
            return code.op("IMul", type_, code.op("ISub", type_, last, linear), slots)
        case "scattered":
            return code.op("IMul", type_, code.op("BitwiseXor", type_, linear, code.const(type_, 5)), slots)
        case "grid":
            return code.op("IMul", type_, _from_grid(code, type_), slots)
    raise AssertionError(layout)


def _from_grid(code: Code, type_: str) -> Value:
    """The linear id, computed by the kernel itself."""
    shape, found = code.shape, None
    for axis in (2, 1, 0):
        id_ = code.ids["global_" + "xyz"[axis]]
        id_ = id_ if type_ == "i64" else code.op("UConvert", type_, id_)
        id_ = code.op("ISub", type_, id_, code.const(type_, shape.offset[axis]))
        if found is not None:
            width = code.const(type_, shape.global_size[axis])
            id_ = code.op("IAdd", type_, code.op("IMul", type_, found, width), id_)
        found = id_
    assert found is not None
    return found


def slot(code: Code, output: Output, which: int, *members: str) -> str:
    """The address of one of the work-item's elements."""
    type_ = "i32" if output.layout.endswith("32") else "i64"
    step = code.shape.items if output.layout.startswith("columns") else 1
    found = Value(output.first, type_)
    if which:
        found = code.op("IAdd", type_, found, code.const(type_, which * step))
    pointee = output.members[int(members[0])] if members else output.type
    indices = [found.id, *(code.const("i32", int(each)).id for each in members)]
    return code.pointer("CrossWorkgroup", pointee, output.id, *indices, inside=code.draw.one_of(("InBoundsPtr", "Ptr")))


@states(10)
def to_output(code: Code) -> None:
    if not code.outputs:
        return
    output = code.draw.one_of(code.outputs)
    which = code.draw.number(0, output.slots - 1)
    if output.members:
        at = code.draw.number(0, len(output.members) - 1)
        member = output.members[at]
        found = value(code, member, 3)
        code.store(slot(code, output, which, str(at)), found, 1 if output.packed else _alignment(code, size(member)))
        return
    found = value(code, output.type, 3)
    code.store(slot(code, output, which), found, _alignment(code, size(output.type)))


@makes(2, "int", "float", "vector")
def from_output(code: Code, type_: str, depth: int, uniform: bool) -> Value | None:
    """What the work-item itself has written."""
    outputs = [each for each in code.outputs if each.type == type_]
    if not outputs or uniform:
        return None
    output = code.draw.one_of(outputs)
    return code.keep(code.load(type_, slot(code, output, code.draw.number(0, output.slots - 1)), size(type_)))
