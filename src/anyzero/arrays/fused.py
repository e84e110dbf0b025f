"""One kernel for a whole expression. Kernels are kept by the structure of the expression, not by its arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from anyzero import errors
from anyzero.arrays.arguments import one_context
from anyzero.arrays.expression import Array, Number, Operation
from anyzero.arrays.layout import Layout, Strides, dense, extent, spread
from anyzero.arrays.operations import DEFINITIONS, written
from anyzero.arrays.text import kernel_of, type_name

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer
    from anyzero.language.kernel import Kernel

__all__ = ["Flat", "body", "clash", "evaluated", "layout_of", "made", "require_elements", "store"]

_LEAVES: Final = 32
"""An expression with more arrays and numbers is computed in parts."""

_kernels: Final[dict[Any, Kernel]] = {}


@lru_cache(1024)
def layout_of(shape: tuple[int, ...], strides: tuple[Strides, ...]) -> Layout:
    """The layout of arrays, which programs use again and again."""
    return Layout(shape, strides)


class Flat:
    """An expression in postfix form: the same for all expressions of one structure, with its arrays and numbers apart.

    Codes are ``("array", index)``, ``("number", index, type)`` and ``(operation, type, operands)``.
    """

    __slots__ = ("arrays", "code", "dtype", "numbers", "shape")

    def __init__(self, node: Any) -> None:
        self.arrays: list[Array] = []
        self.numbers: list[Any] = []
        self.code: list[Any] = []
        self.dtype: np.dtype[Any] = node.dtype
        self.shape: tuple[int, ...] = node.shape
        self._walk(node)
        if len(self.arrays) + len(self.numbers) > _LEAVES:
            raise _TooLong

    def _walk(self, node: Any) -> None:
        if isinstance(node, Array):
            self.code.append(("array", self._index(node)))
        elif isinstance(node, Number):
            self.code.append(("number", len(self.numbers), node.dtype.char))
            self.numbers.append(node.value)
        else:
            for each in node.operands:
                self._walk(each)
            self.code.append((node.name, node.dtype.char, len(node.operands)))

    def _index(self, node: Array) -> int:
        """The index among the arrays; an array that is there already is passed once."""
        for index, each in enumerate(self.arrays):
            if each.buffer is node.buffer and each.strides == node.strides and each.shape == node.shape:
                return index
        self.arrays.append(node)
        return len(self.arrays) - 1

    def key(self) -> Any:
        """The cache key of a kernel, without the layout."""
        return tuple(self.code), tuple(each.dtype.char for each in self.arrays)

    def strides(self, shape: tuple[int, ...]) -> tuple[Strides, ...]:
        """The strides of all arrays, broadcast to a shape."""
        return tuple(spread(each.shape, each.strides, shape) for each in self.arrays)


class _TooLong(Exception):  # noqa: N818 (an answer, not an error)
    """The expression takes more arguments than a kernel should have."""


def body(flat: Flat, places: list[str], indent: str = "    ") -> tuple[list[str], list[str], str]:
    """Parameters, definitions and statements that compute an expression at `i`; the last line assigns `value`."""
    lines: list[str] = []
    needed: dict[str, None] = {}
    stack: list[tuple[str, np.dtype[Any]]] = []
    for index in range(len(flat.arrays)):
        lines.append(f"{indent}x{index} = p{index}[{places[index]}]")
    for number, code in enumerate(flat.code):
        if code[0] == "array":
            stack.append((f"x{code[1]}", flat.arrays[code[1]].dtype))
            continue
        if code[0] == "number":
            stack.append((f"c{code[1]}", np.dtype(code[2])))
            continue
        name, char, count = code
        dtype = np.dtype(char)
        operands = stack[-count:]
        del stack[-count:]
        if name == "cast":
            text = f"{type_name(dtype)}({operands[0][0]})"
        else:
            text, definition = written(name, tuple(each for _, each in operands), [each for each, _ in operands])
            if definition:
                needed[definition] = None
            if dtype.kind in "iu" and (dtype.itemsize < 4 or name not in ("add", "subtract", "multiply")):
                text = f"{type_name(dtype)}({text})"
        lines.append(f"{indent}v{number} = {text}")
        stack.append((f"v{number}", dtype))
    lines.append(f"{indent}value = {stack[0][0]}")
    parameters = [f"p{index}: az.ptr[{type_name(each.dtype)}]" for index, each in enumerate(flat.arrays)]
    numbers = [code for code in flat.code if code[0] == "number"]
    parameters += [f"c{code[1]}: {type_name(np.dtype(code[2]))}" for code in numbers]
    return parameters, lines, "".join(DEFINITIONS[each] for each in needed)


def evaluated(node: Any) -> Buffer:
    """The values of an expression in a new buffer."""
    out = made(node, node.dtype, node.shape)
    store(node, Array(out, node.shape, dense(node.shape)))
    return out


def made(node: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Buffer:
    """A new buffer beside the arrays of an expression."""
    arrays = _arrays(node)
    context = one_context((each.buffer for each in arrays), "an expression")
    kinds = {each.buffer.kind for each in arrays}
    kind: Any = "device" if "device" in kinds else "shared" if "shared" in kinds else "host"
    return context.buffer(shape, dtype, kind=kind, device=arrays[0].buffer.device)


def _arrays(node: Any) -> list[Array]:
    if isinstance(node, Array):
        return [node]
    if isinstance(node, Number):
        return []
    return [each for operand in node.operands for each in _arrays(operand)]


def store(node: Any, out: Array) -> None:
    """Compute an expression into memory of its shape; conversions are those of `astype`."""
    try:
        flat = Flat(node)
    except _TooLong:
        parts = tuple(_shortened(each) for each in node.operands)
        store(Operation(node.name, parts, node.dtype), out)
        return
    one_context((out.buffer, *(each.buffer for each in flat.arrays)), "an expression")
    if any(clash(each, out) for each in flat.arrays):
        # The kernel would read elements that it has written.
        between = _beside(out)
        target = Array(between, out.shape, dense(out.shape))
        store(node, target)
        store(target, out)
        return
    shape = out.shape
    layout = layout_of(shape, (out.strides, *flat.strides(shape)))
    if not layout.size:
        return
    key = (flat.key(), layout.code, out.dtype.char)
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _kernels[key] = _compiled(flat, layout, out.dtype)
    kernel[layout.grid](out.buffer, *(each.buffer for each in flat.arrays), *flat.numbers, *layout.arguments)


def _beside(like: Array) -> Buffer:
    """A new buffer for the elements of an array."""
    origin = like.buffer
    return origin.context.buffer(like.shape, like.dtype, device=origin.device)


def _shortened(node: Any) -> Any:
    if not isinstance(node, Operation):
        return node
    found = evaluated(node) if _arrays(node) else None
    return node if found is None else Array(found, found.shape, dense(found.shape))


def clash(source: Array, out: Array) -> bool:
    """Whether both share memory other than element by element."""
    if source.buffer.allocation is not out.buffer.allocation:
        return False
    same = source.buffer.pointer == out.buffer.pointer and source.dtype == out.dtype
    if same and spread(source.shape, source.strides, out.shape) == out.strides:
        return False
    spans = []
    for each in (source, out):
        low, high = extent(each.shape, each.strides)
        size = each.dtype.itemsize
        spans.append((each.buffer.pointer + low * size, each.buffer.pointer + (high + 1) * size))
    (a, b), (c, d) = spans
    return a < d and c < b


def _compiled(flat: Flat, layout: Layout, dtype: np.dtype[Any]) -> Kernel:
    places = layout.places()
    parameters, lines, definitions = body(flat, places[1:])
    target = type_name(dtype)
    value = f"{target}(value)" if dtype != flat.dtype else "value"
    head = ", ".join([f"out: az.ptr[{target}]", *parameters, *layout.parameters])
    text = "\n".join([f"{definitions}", f"def expression({head}):", *layout.lines(), *lines])
    return kernel_of("expression", f"{text}\n    out[{places[0]}] = {value}\n")


def require_elements(dtype: np.dtype[Any]) -> None:
    """Refuse elements that kernels have no type for, before anything is built of them."""
    if dtype.kind not in "biuf" or not dtype.isnative:
        raise errors.InvalidArgument(f"there is no arithmetic with elements of {dtype}")
