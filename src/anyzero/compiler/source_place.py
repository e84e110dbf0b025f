"""The source of an operation: its instruction, the function that contains it, and the call it was inlined from."""

from __future__ import annotations

from anyzero.compiler.spirv.function import Function


class SourcePlace(int):
    """The word of an instruction, as `ir.Op.word` holds it, with its function and its call.

    An int, so that messages and transformations treat it as any other word. Compilations without debug information have
    plain ints there.
    """

    function: Function
    call: SourcePlace | None
    """None in the function that the compilation began with."""

    def __new__(cls, word: int, function: Function, call: SourcePlace | None = None) -> SourcePlace:
        place = super().__new__(cls, word)
        place.function = function
        place.call = call
        return place
