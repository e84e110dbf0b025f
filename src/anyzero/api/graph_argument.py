"""Arguments of graphs: inputs, outputs, states, and the shapes of dynamic arguments."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from anyzero.api.library import check
from anyzero.ze import npu

if TYPE_CHECKING:
    from anyzero.api.calls.graph_extension import Extension

__all__ = ["GraphArgument", "arguments_of"]

Direction = Literal["input", "output"]
Role = Literal["data", "state", "shape", "weights"]

# OpenVINO's name of each type, bits of an element, and the numpy dtype of the memory. Where numpy lacks the type, it
# sees whole bytes or words.
_PRECISIONS: Final[dict[int, tuple[str, int, Any]]] = {
    npu.ZE_GRAPH_ARGUMENT_PRECISION_FP64: ("f64", 64, np.float64),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_FP32: ("f32", 32, np.float32),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_FP16: ("f16", 16, np.float16),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_BF16: ("bf16", 16, np.uint16),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_FP8_E4M3: ("f8e4m3", 8, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_FP8_E5M2: ("f8e5m2", 8, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_FP8_E8M0: ("f8e8m0", 8, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT64: ("u64", 64, np.uint64),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT32: ("u32", 32, np.uint32),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT16: ("u16", 16, np.uint16),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT8: ("u8", 8, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT4: ("u4", 4, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT2: ("u2", 2, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_INT64: ("i64", 64, np.int64),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_INT32: ("i32", 32, np.int32),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_INT16: ("i16", 16, np.int16),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_INT8: ("i8", 8, np.int8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_INT4: ("i4", 4, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_INT2: ("i2", 2, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_BIN: ("u1", 1, np.uint8),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_BOOLEAN: ("boolean", 8, np.bool_),
    npu.ZE_GRAPH_ARGUMENT_PRECISION_NF4: ("nf4", 4, np.uint8),
}
_LAYOUTS: Final = {
    value: name.removeprefix("ZE_GRAPH_ARGUMENT_LAYOUT_")
    for name, value in vars(npu).items()
    if name.startswith("ZE_GRAPH_ARGUMENT_LAYOUT_")
}
_DYNAMIC: Final = (1 << 64) - 1

# Prefixes by which the compiler names arguments of the inference that are not arguments of the model.
_STATE_IN: Final = "vpux_ie_read_value_"
_STATE_OUT: Final = "vpux_ie_assign_"
_SHAPE: Final = "vpux_ie_shape_"
_WEIGHTS: Final = "vpux_tw_"


@dataclass(frozen=True, slots=True)
class GraphArgument:
    """One argument of a graph.

    `direction` is ``"input"`` or ``"output"``. `role` is ``"data"`` for inputs and outputs of the model,
    ``"state"`` for values kept between inferences (an input and an output on the same memory), and ``"shape"`` for
    the actual shape of a dynamic argument; `of` names the state, or that argument. ``"weights"`` is a
    constant of a weightless model, and `of` its offset in the weights file. `shape` has None
    for dynamic dimensions, and `bounds` their upper bounds; the memory always has the size of `bounds`, `nbytes`.
    `precision` is OpenVINO's name of the element type, `dtype` the numpy type of the memory.
    """

    index: int
    name: str
    direction: Direction
    role: Role
    of: str
    precision: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    bounds: tuple[int, ...]
    layout: str
    friendly_name: str
    tensor_names: tuple[str, ...]
    bits: int

    @property
    def nbytes(self) -> int:
        """Maximum size of its memory, in bytes."""
        return (prod(self.bounds) * self.bits + 7) // 8

    @property
    def dynamic(self) -> bool:
        """Whether its shape is dynamic."""
        return None in self.shape

    @property
    def packed(self) -> bool:
        """Whether several elements share a byte; the numpy array is then one of bytes, without a shape."""
        return self.bits < 8


def arguments_of(called: Extension, graph: int, count: int) -> tuple[GraphArgument, ...]:
    """All arguments of a graph, in order."""
    return tuple(_argument(called, graph, index) for index in range(count))


def _argument(called: Extension, graph: int, index: int) -> GraphArgument:
    found = npu.ze_graph_argument_properties_3_t()
    check(called.GetArgumentProperties3(graph, index, ctypes.byref(found)), called.GetArgumentProperties3)
    name = _text(found.name)
    role, of = _role_of(name)
    bounds = tuple(found.dims[: min(found.dims_count, len(found.dims))])
    shape: tuple[int | None, ...] = bounds
    if role == "data":
        # Arguments of other roles are not of the model, and have no metadata.
        told = npu.ze_graph_argument_metadata_t()
        check(called.GraphGetArgumentMetadata(graph, index, ctypes.byref(told)), called.GraphGetArgumentMetadata)
        sides = told.shape[: min(told.shape_size, len(told.shape))]
        if len(sides) == len(bounds):
            shape = tuple(None if side == _DYNAMIC else side for side in sides)
    precision, bits, dtype = _PRECISIONS.get(found.devicePrecision, ("undefined", 8, np.uint8))
    associated = found.associated_tensor_names[: found.associated_tensor_names_count]
    return GraphArgument(
        index=index,
        name=name,
        direction="input" if found.type == npu.ZE_GRAPH_ARGUMENT_TYPE_INPUT else "output",
        role=role,
        of=of,
        precision=precision,
        dtype=np.dtype(dtype),
        shape=shape,
        bounds=bounds,
        layout=_LAYOUTS.get(found.deviceLayout, "ANY"),
        friendly_name=_text(found.debug_friendly_name),
        tensor_names=tuple(_text(each.value) for each in associated),
        bits=bits,
    )


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _role_of(name: str) -> tuple[Role, str]:
    for prefix in (_STATE_IN, _STATE_OUT):
        if name.startswith(prefix):
            return "state", name.removeprefix(prefix)
    if name.startswith(_SHAPE):
        return "shape", name.removeprefix(_SHAPE)
    if name.startswith(_WEIGHTS):
        return "weights", name.removeprefix(_WEIGHTS)
    return "data", ""
