"""Hints for refused code: names of other languages, and constructs of Python, with their equivalents here."""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

from anyzero.language.builtins.mathematics import MATH
from anyzero.language.types import Refusal, of_dtype

__all__ = ["for_call", "for_construct", "for_name"]

_CONSTRUCTS: Final[dict[type[ast.AST], str]] = {
    ast.List: "a tuple holds several values, and az.private[az.f32, 4] is an array of the work-item",
    ast.Dict: "a tuple holds several values, and az.private[az.f32, 4] is an array of the work-item",
    ast.Set: "a tuple holds several values, and az.private[az.f32, 4] is an array of the work-item",
    ast.ListComp: "write a loop",
    ast.SetComp: "write a loop",
    ast.DictComp: "write a loop",
    ast.GeneratorExp: "write a loop",
    ast.Lambda: "define a function with @az.function outside of the kernel",
    ast.FunctionDef: "define it with @az.function outside of the kernel",
    ast.Try: "there are no exceptions; `assert` ends a launch",
    ast.Raise: "there are no exceptions; `assert` ends a launch",
    ast.Import: "import outside of the kernel",
    ast.ImportFrom: "import outside of the kernel",
    ast.Match: "write if and elif",
    ast.Global: "pass memory as an argument, and store to it",
    ast.Nonlocal: "pass memory as an argument, and store to it",
}

_NAMES: Final = {
    **dict.fromkeys(("threadIdx", "get_local_id", "thread_idx"), "az.local_id(axis)"),
    **dict.fromkeys(("blockIdx", "get_group_id", "program_id"), "az.group_id(axis)"),
    **dict.fromkeys(("blockDim", "get_local_size"), "az.local_size(axis)"),
    **dict.fromkeys(("gridDim", "get_num_groups", "num_programs"), "az.num_groups(axis)"),
    **dict.fromkeys(("grid", "get_global_id", "global_thread_idx"), "az.global_id(axis)"),
    **dict.fromkeys(("gridsize", "get_global_size"), "az.global_size(axis)"),
    **dict.fromkeys(("syncthreads", "work_group_barrier"), "az.barrier()"),
    **dict.fromkeys(("shared", "SharedArray"), "az.local[az.f32, 256]"),
    **dict.fromkeys(("empty", "ones", "zeros", "full", "array"), "az.private[az.f32, 4] for an array of the work-item"),
}
"""Names in CUDA C, numba, OpenCL C, Taichi, Triton and numpy, with ours."""


def for_construct(node: ast.AST) -> str:
    """The equivalent of a construct of Python; empty where there is none."""
    return _CONSTRUCTS.get(type(node), "")


def for_name(text: str) -> str:
    """A clause with our word for a name, dotted or not; empty where there is none."""
    found = next((_NAMES[part] for part in reversed(text.split(".")) if part in _NAMES), "")
    return f"; write {found}" if found else ""


def for_call(text: str, called: Any) -> str:
    """A clause with the equivalent of a function that kernels cannot call."""
    name = getattr(called, "__name__", "")
    if isinstance(called, type) and issubclass(called, np.generic):
        try:
            return f"; {of_dtype(np.dtype(called))!r}(…) converts"
        except Refusal:
            return ""
    if name in MATH and type(called).__module__.startswith("numpy"):
        return f"; az.math.{name} can"
    return for_name(text)
