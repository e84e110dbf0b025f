"""The result of `library.routine`: a function as LLVM text, and the definitions that it needs in the module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Type, Value
from anyzero.lazy_dataclass import dataclass

# Below this many instructions a call costs more than the code it saves: vector registers do not survive calls.
INLINED = 90


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A pure function; equal parameters give the same object. Several results are a struct: first the return value,
    then the value that OpenCL stores through its pointer argument.
    """

    symbol: str
    parameters: tuple[Type, ...]
    results: tuple[Type, ...]
    text: str
    needs: tuple[Routine, ...]
    intrinsics: dict[str, str]


def finish(writer: Writer, symbol: str, parameters: tuple[Type, ...], results: tuple[Value, ...]) -> Routine:
    """The routine with the instructions of `writer`; its parameters are `%a0`, `%a1` …"""
    types = tuple(value.type for value in results)
    if len(results) == 1:
        shape = str(types[0])
        writer.line(f"ret {results[0].typed}")
    else:
        shape = f"{{ {', '.join(map(str, types))} }}"
        whole = "poison"
        for place, value in enumerate(results):
            name = writer.name()
            writer.line(f"{name} = insertvalue {shape} {whole}, {value.typed}, {place}")
            whole = name
        writer.line(f"ret {shape} {whole}")
    kind = "noinline cold" if writer.rare else "alwaysinline" if len(writer.lines) <= INLINED else "inlinehint"
    arguments = ", ".join(f"{type_} %a{place}" for place, type_ in enumerate(parameters))
    head = f"define internal {shape} @{symbol}({arguments}) {kind} willreturn nosync nofree memory(none) #0 {{"
    text = "\n".join([head, "entry:", *writer.lines, "}"]) + "\n"
    return Routine(symbol, parameters, types, text, tuple(writer.needs), dict(writer.intrinsics))


@cache
def apart(symbol: str, emit: Callable[..., Value | tuple[Value, ...]], *parameters: Type) -> Routine:
    """A cold routine, not inlined."""
    writer = Writer()
    writer.rare = True
    operands = [Value(writer, f"%a{place}", type_) for place, type_ in enumerate(parameters)]
    found = emit(writer, *operands)
    results = found if isinstance(found, tuple) else (found,)
    return finish(writer, f"az.{symbol}.{parameters[0].mangled}", parameters, results)


def unless(writer: Writer, rare: Value, quick: Value, symbol: str, emit: Callable[..., Value], *given: Value) -> Value:
    """`quick`, valid outside of the mask `rare`; if any lane is in the mask, the result of `emit`, for all lanes. Both
    must agree bit for bit outside of the mask.
    """
    cold = apart(symbol, emit, *(value.type for value in given))
    return writer.unlikely(rare, [quick], lambda: writer.use(cold, *given))[0]
