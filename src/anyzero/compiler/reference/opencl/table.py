"""The table of OpenCL.std's functions, and the common forms of entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference import layout, memory
from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step
from anyzero.compiler.reference.instructions.access import target
from anyzero.compiler.reference.instructions.lanewise import apply, width_of
from anyzero.compiler.reference.numbers import ROUND
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.types import Int, Vector

Builder = Callable[[Decoder, Instruction, tuple[int, ...]], Step]
"""Maps an instruction and the function's operands to a step."""

FUNCTIONS: dict[int, Builder] = {}
"""By number; a test checks that all are here."""

Real = Callable[..., float]
Sized = Callable[[int], Callable[..., Any]]
"""Maps the component width of the first operand to the operation per component."""


def function(*numbers: int) -> Callable[[Builder], Builder]:
    def register(builder: Builder) -> Builder:
        for number in numbers:
            assert number not in FUNCTIONS
            FUNCTIONS[number] = builder
        return builder

    return register


def real(functions: dict[int, Real]) -> None:
    """Functions computed in double precision for every width, and rounded at the end."""
    sized({number: _fitted(each) for number, each in functions.items()})


def _fitted(compute: Real) -> Sized:
    def of(width: int) -> Real:
        if width == 64:
            return compute
        fit = ROUND[width]
        return lambda *operands: fit(compute(*operands))

    return of


def sized(functions: dict[int, Sized]) -> None:
    """Component-wise functions that depend on the width."""
    for number, of in functions.items():
        function(number)(_lanewise(of))


def _lanewise(of: Sized) -> Builder:
    def build(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
        return apply(decoder, instruction, of(width_of(decoder.type_of(ids[0]))), ids)

    return build


def two_results(functions: dict[int, Sized]) -> None:
    """Functions with a second result, which is stored through the last operand."""
    for number, of in functions.items():
        function(number)(_storing(of))


def _storing(of: Sized) -> Builder:
    def build(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
        type_ = decoder.type(instruction)
        compute = of(width_of(type_))
        to, (*from_, pointer) = decoder.result(instruction), decoder.slot_list(ids)
        stored = target(decoder, ids[-1])
        write, size = layout.writer(stored), stored.stored
        cut = (1 << width_of(stored)) - 1 if isinstance(stored.scalar, Int) else None

        def step(r: Registers) -> None:
            operands = [r[slot] for slot in from_]
            if isinstance(type_, Vector):
                first, second = zip(*map(compute, *operands), strict=True)
                second = second if cut is None else tuple(part & cut for part in second)
            else:
                first, second = compute(*operands)
                second = second if cut is None else second & cut
            region, offset = memory.place(r[ITEM].regions, r[pointer], size)
            if not region.writable:
                raise memory.protected(region)
            write(region.view, offset, second)
            r[to] = first

        return step

    return build
