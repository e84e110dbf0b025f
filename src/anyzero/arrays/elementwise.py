"""`az.elementwise`: a kernel from statements about single elements."""

from __future__ import annotations

import ast
import builtins
import textwrap
from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays.arguments import number_type, one_context
from anyzero.arrays.fused import clash, evaluated, layout_of
from anyzero.arrays.layout import Layout, broadcast
from anyzero.arrays.text import kernel_of, parsed, place, type_name
from anyzero.arrays.view import array_of, contiguous, strided
from anyzero.language.errors import KernelError
from anyzero.language.kernel import Kernel

__all__ = ["Elementwise", "argument_names", "elementwise"]

_OWN: Final = {"i", "n", "az", "math"}
"""Names with a meaning in every text."""


class Elementwise:
    """A kernel that runs statements for every element of arrays; `az.elementwise` makes it.

    Names in the text are arguments, in the order in which they appear; those that are assigned are outputs. A name that
    begins with an underscore is a variable of the text. `i` is the index of the element and `n` their number; a name
    with an explicit index, as in ``x[i + 1]``, is a whole array.

    >>> saxpy = az.elementwise("y = a * x + y")
    >>> saxpy
    <elementwise y = a * x + y (y, a, x)>
    """

    def __init__(self, text: str) -> None:
        self.text = textwrap.dedent(text).strip("\n")
        names = _Names(self.text)
        names.visit(parsed(self.text, "az.elementwise", "exec"))
        self.parameters: tuple[str, ...] = tuple(names.found)
        """The names of its arguments, in order."""
        self.outputs: tuple[str, ...] = tuple(names.assigned)
        """The names of the arguments that it writes."""
        self._names = names
        self._kernels: dict[Any, Kernel] = {}
        if not self.outputs:
            raise KernelError(f"az.elementwise({text!r}) assigns nothing; write an output, as in 'y = a * x + y'")

    def __call__(self, *args: Any, **given: Any) -> Any:
        """Run the statements for all elements. Outputs that are not passed are created and returned."""
        values = self._bound(args, given)
        arrays = {name: value for name, value in values.items() if isinstance(value, Buffer)}
        if not arrays:
            raise errors.InvalidArgument(
                f"no argument of {self!r} is a Buffer", remedy="Context.to_device() copies an array to the device."
            )
        context = one_context(arrays.values(), "az.elementwise")
        whole = self._names.indexed
        shapes = {name: value.shape for name, value in arrays.items() if name not in whole}
        given_outputs = [name for name in self.outputs if name in arrays and name not in whole]
        shape = broadcast((shapes or {name: value.shape for name, value in arrays.items()}).items())
        for name in given_outputs:
            if arrays[name].shape != shape:
                raise errors.InvalidArgument(
                    f"{name} has shape {arrays[name].shape} and the elements have shape {shape}",
                    remedy="An output has the shape to which its inputs are broadcast.",
                )
        made = []
        for name in self.outputs:
            if name not in values:
                if name in self._names.read or name in whole:
                    raise errors.InvalidArgument(f"{name} is read by {self.text!r} and was not given")
                dtype = np.result_type(*(each.dtype for each in arrays.values()))
                values[name] = context.buffer(shape, dtype, device=next(iter(arrays.values())).device)
                made.append(values[name])
        self._launch(values, shape)
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def _bound(self, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
        names = ", ".join(self.parameters)
        if len(args) > len(self.parameters):
            raise errors.InvalidArgument(f"{self.text!r} has the arguments ({names}); {len(args)} were given")
        values = dict(zip(self.parameters, args))  # noqa: B905 (the others have names, or are made)
        for name, value in given.items():
            if name not in self.parameters:
                raise errors.InvalidArgument(f"{self.text!r} has no {name}; its arguments are ({names})")
            if name in values:
                raise errors.InvalidArgument(f"{name} was given twice")
            values[name] = value
        missing = [name for name in self.parameters if name not in values and name not in self.outputs]
        if missing:
            raise errors.InvalidArgument(f"{', '.join(missing)} of {self.text!r} was not given")
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.shape:
                raise errors.InvalidArgument(
                    f"{name} is an array of numpy", remedy="Context.to_device() copies it to the device."
                )
            if not isinstance(value, Buffer) and name in (*self.outputs, *self._names.indexed):
                raise errors.InvalidArgument(f"{name} is an array in {self.text!r} and cannot be {value!r}")
        return values

    def _launch(self, values: dict[str, Any], shape: tuple[int, ...]) -> None:
        dtypes = [value.dtype for value in values.values() if isinstance(value, Buffer)]
        ordered = [(name, values[name]) for name in self.parameters]
        whole = self._names.indexed
        elements, types, args = [], [], []
        for name, value in ordered:
            if not isinstance(value, Buffer):
                dtype, number = number_type(name, value, dtypes)
                types.append((name, "number", dtype))
                args.append(number)
            elif name in whole:
                types.append((name, "whole", value.dtype))
                args.append(contiguous(value, name))
            else:
                types.append((name, "element", value.dtype))
                base, strides = strided(self._apart(name, value, values), shape)
                elements.append((name, base, strides))
                args.append(base)
        layout = layout_of(shape, tuple(strides for _, _, strides in elements))
        key = (tuple(types), layout.code)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._compiled(types, layout, [name for name, _, _ in elements])
        if layout.size:
            try:
                kernel[layout.grid](*args, layout.size, *layout.arguments)
            except KernelError as error:
                raise place(error, self.text, "az.elementwise", *self._at) from None

    def _apart(self, name: str, value: Buffer, values: dict[str, Any]) -> Buffer:
        """An input, copied where an output is in its memory but not element by element."""
        if name in self.outputs:
            return value
        own = array_of(value)
        outputs = (values[each] for each in self.outputs if each not in self._names.indexed)
        return evaluated(own) if any(clash(own, array_of(each)) for each in outputs) else value

    _at = (0, 4)

    def _compiled(self, types: list[Any], layout: Layout, elements: list[str]) -> Kernel:
        names = self._names
        heads = []
        for name, kind, dtype in types:
            written_type = type_name(dtype)
            suffix = "_" if kind == "element" else ""
            heads.append(f"{name}{suffix}: {written_type if kind == 'number' else f'az.ptr[{written_type}]'}")
        lines = [f"def elementwise({', '.join([*heads, 'n: az.i64', *layout.parameters])}):", *layout.lines()]
        places = dict(zip(elements, layout.places(), strict=True))
        lines += [f"    {name} = {name}_[{at}]" for name, at in places.items() if name in names.loaded]
        body = self.text.splitlines()
        self._at = (len(lines) + 1, 4)
        lines += [f"    {line}" for line in body]
        lines += [f"    {name}_[{places[name]}] = {name}" for name in self.outputs if name in places]
        return kernel_of("elementwise", "\n".join(lines) + "\n")

    def __repr__(self) -> str:
        shown = " ".join(self.text.split())
        return f"<elementwise {shown} ({', '.join(self.parameters)})>"


class _Names(ast.NodeVisitor):
    """The names in a text: its arguments in order, outputs, and names that are indexed by the text itself."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.found: dict[str, None] = {}
        self.assigned: dict[str, None] = {}
        self.indexed: set[str] = set()
        self.read: set[str] = set()
        """Names whose value before the text is used."""
        self.loaded: set[str] = set()
        """Names that have a value before the first statement of the text."""
        self._certain: set[str] = set()
        self._depth = 0

    def visit_Assign(self, node: ast.Assign) -> None:
        # Names in the order of the text, the value's as read before the targets are written.
        for target in node.targets:
            for each in ast.walk(target):
                if isinstance(each, ast.Name):
                    self._argument(each)
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._argument(node.target)
            self._read(node.target)
        self.visit(node.value)
        self.visit(node.target)

    def visit_Return(self, node: ast.Return) -> None:
        line = self._text.splitlines()[node.lineno - 1]
        raise KernelError(
            "a text has no return: outputs are stored at its end",
            file="az.elementwise", line=node.lineno, column=node.col_offset, function="text", text=line, length=6,
        )  # fmt: skip

    def visit_If(self, node: ast.If) -> None:
        self._nested(node)

    def visit_For(self, node: ast.For) -> None:
        self._nested(node)

    def visit_While(self, node: ast.While) -> None:
        self._nested(node)

    def _nested(self, node: ast.AST) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def visit_Call(self, node: ast.Call) -> None:
        # A function is no argument.
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(each)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not (isinstance(node.value, ast.Name) and node.value.id in _OWN):
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name):
            self._argument(node.value)
            self.indexed.add(node.value.id)
            if isinstance(node.ctx, ast.Store):
                self.assigned.setdefault(node.value.id)
            else:
                self.read.add(node.value.id)
        else:
            self.visit(node.value)
        self.visit(node.slice)

    def visit_Name(self, node: ast.Name) -> None:
        self._argument(node)
        if isinstance(node.ctx, ast.Load):
            self._read(node)
        elif not node.id.startswith("_"):
            self.assigned.setdefault(node.id)
            if self._depth:
                self._read(node)
            else:
                self._certain.add(node.id)

    def _argument(self, node: ast.Name) -> None:
        name = node.id
        if name not in _OWN and not name.startswith("_") and not hasattr(builtins, name):
            self.found.setdefault(name)

    def _read(self, node: ast.Name) -> None:
        if node.id not in self._certain:
            self.loaded.add(node.id)
            self.read.add(node.id)


def elementwise(text: str) -> Elementwise:
    """A kernel from statements of the language about single elements, compiled for the types it is called with.

    Arguments are the names of the text in the order in which they appear, or given by name: arrays, which are broadcast
    to one shape, and numbers. Outputs that are not given are made, with the type that numpy finds for the arrays
    together, and returned. Statements are separated by lines or ``;``.

    >>> ctx = az.device().context()
    >>> x, y = ctx.to_device(np.arange(4, dtype=np.float32)), ctx.full(4, 1, np.float32)
    >>> saxpy = az.elementwise("y = a * x + y")
    >>> saxpy(y, 2.0, x)
    >>> y.copy_to()
    array([1., 3., 5., 7.], dtype=float32)
    >>> az.elementwise("d = x[min(i + 1, n - 1)] - x[i]")(x=y, d=ctx.zeros(4, np.float32))
    >>> az.elementwise("_r = x * x + y * y; z = math.sqrt(_r)")(x=x, y=y).dtype
    dtype('float32')
    """
    return Elementwise(text)


def argument_names(text: str, maker: str) -> tuple[str, ...]:
    """The names of an expression that are arguments, in order."""
    names = _Names(text)
    names.visit(parsed(text, maker, "eval"))
    return tuple(names.found)
