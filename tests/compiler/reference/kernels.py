"""Small kernels from text, and what the interpreter makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyzero.compiler.reference import run
from anyzero.compiler.spirv import Module, read, verify
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

Array = np.ndarray[Any, Any]

SCALARS = {
    "bool": "bool",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}
KNOWN = {"v2i32", "v3i64", "v4i32", "v3f32", "v4f32", "v4bool"}
"""The vectors that the shared declarations have already."""


def module(text: str) -> Module:
    found = read(assemble(text))
    verify(found)
    return found


def kernel(body: str, parameters: str = "", declarations: str = "", prologue: str = "", functions: str = "") -> Module:
    """A module with the kernel "main". Parameters are types, and become %p0, %p1 …; %i is the global id in x."""
    lines = "\n".join(f"%p{index} = OpFunctionParameter {type_}" for index, type_ in enumerate(parameters.split()))
    return module(
        f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %gid
        OpDecorate %gid BuiltIn GlobalInvocationId
        {prologue}
        {TYPES}
        {declarations}
        %gid = OpVariable %input_v3i64 Input
        {functions}
        %main_type = OpTypeFunction %void {parameters}
        %main = OpFunction %void None %main_type
        {lines}
        %entry = OpLabel
        {_variables_first(body)}
        OpReturn
        OpFunctionEnd
        """
    )


def _variables_first(body: str) -> str:
    """The ids are read behind the function's variables, which must stand first."""
    lines = body.strip().splitlines()
    count = next((index for index, line in enumerate(lines) if "OpVariable" not in line), len(lines))
    ids = ["%ids = OpLoad %v3i64 %gid", "%i = OpCompositeExtract %i64 %ids 0"]
    return "\n".join([*lines[:count], *ids, *lines[count:]])


def type_name(dtype: Any, count: int = 1) -> str:
    scalar = SCALARS[np.dtype(dtype).name]
    return scalar if count == 1 else f"v{count}{scalar}"


def declared(names: set[str]) -> str:
    """Vector types that are missing, and a global pointer to each type."""
    lines = []
    for name in sorted(names):
        if name[0] == "v" and name not in KNOWN:
            count, scalar = next(
                (name[1 : -len(each)], each) for each in sorted(set(SCALARS.values())) if name.endswith(each)
            )
            lines.append(f"%{name} = OpTypeVector %{scalar} {count}")
        lines.append(f"%to_{name} = OpTypePointer CrossWorkgroup %{name}")
    return "\n".join(lines)


def compute(
    lines: str,
    result: Any,
    *operands: Array,
    count: int | None = None,
    declarations: str = "",
    prologue: str = "",
    group: int | None = None,
    sub_group: int = 16,
) -> Array:
    """Runs `lines` for every row of the operands, which are %a, %b …; %r is the result, of the dtype `result`.

    A second dimension makes vectors. `count` is how many components the result has, if not as the first operand has.
    """
    counts = [each.shape[1] if each.ndim > 1 else 1 for each in operands]
    width = counts[0] if count is None else count
    rows = len(operands[0])
    room = 4 if width == 3 else width
    out = np.zeros((rows, room) if width > 1 else rows, result)
    types = [type_name(out.dtype, width), *(type_name(each.dtype, n) for each, n in zip(operands, counts, strict=True))]
    loads = []
    for index, (name, type_) in enumerate(zip("abcdef", types[1:], strict=False), start=1):
        loads.append(f"%p_{name} = OpInBoundsPtrAccessChain %to_{type_} %p{index} %i")
        loads.append(f"%{name} = OpLoad %{type_} %p_{name}")
    made = kernel(
        "\n".join(
            [
                *loads,
                lines,
                f"%p_r = OpInBoundsPtrAccessChain %to_{types[0]} %p0 %i",
                "OpStore %p_r %r",
            ]
        ),
        " ".join(f"%to_{type_}" for type_ in types),
        f"{declared(set(types))}\n{declarations}",
        prologue,
    )
    padded = [_padded(each) for each in operands]
    run(made, "main", [out, *padded], rows, group, sub_group_size=sub_group)
    return out[:, :width] if width == 3 else out


def _padded(array: Array) -> Array:
    if array.ndim == 1 or array.shape[1] != 3:
        return np.ascontiguousarray(array)
    return np.ascontiguousarray(np.concatenate([array, array[:, :1]], axis=1))


def same_bits(found: Array, expected: Array) -> bool:
    return found.shape == expected.shape and found.tobytes() == np.ascontiguousarray(expected).tobytes()
