"""Element types, with their names in the IR, OpenVINO's C library, the graph extension and build flags."""

from __future__ import annotations

from typing import Final

from anyzero.lazy_dataclass import dataclass
from anyzero.ze import npu_constants as npu

__all__ = ["BY_NAME", "BY_PRECISION", "NUMBERS", "ElementType"]


@dataclass(frozen=True, slots=True)
class ElementType:
    name: str
    """The name in `element_type="f32"`."""
    port: str
    """The name in `precision="FP32"`, which is also how build flags spell it."""
    bits: int
    """0 where elements are not all of one size, or the type is not known yet."""
    precision: int = npu.ZE_GRAPH_ARGUMENT_PRECISION_UNKNOWN
    """The number in the graph extension; the one for unknown types where it has none."""
    metadata: int = npu.ZE_GRAPH_METADATA_TYPE_UNDEFINED

    @property
    def number(self) -> int:
        """The number in the enum of OpenVINO's C library."""
        return NUMBERS[self.name]

    def bytes(self, elements: int) -> int:
        """Small elements share bytes."""
        return (elements * self.bits + 7) // 8


# In the order of the C library's enum, which starts at 0.
_TYPES: Final = (
    ElementType("dynamic", "UNSPECIFIED", 0),
    ElementType("boolean", "BOOL", 8, npu.ZE_GRAPH_ARGUMENT_PRECISION_BOOLEAN, npu.ZE_GRAPH_METADATA_TYPE_BOOLEAN),
    ElementType("bf16", "BF16", 16, npu.ZE_GRAPH_ARGUMENT_PRECISION_BF16, npu.ZE_GRAPH_METADATA_TYPE_BF16),
    ElementType("f16", "FP16", 16, npu.ZE_GRAPH_ARGUMENT_PRECISION_FP16, npu.ZE_GRAPH_METADATA_TYPE_F16),
    ElementType("f32", "FP32", 32, npu.ZE_GRAPH_ARGUMENT_PRECISION_FP32, npu.ZE_GRAPH_METADATA_TYPE_F32),
    ElementType("f64", "FP64", 64, npu.ZE_GRAPH_ARGUMENT_PRECISION_FP64, npu.ZE_GRAPH_METADATA_TYPE_F64),
    ElementType("i4", "I4", 4, npu.ZE_GRAPH_ARGUMENT_PRECISION_INT4, npu.ZE_GRAPH_METADATA_TYPE_I4),
    ElementType("i8", "I8", 8, npu.ZE_GRAPH_ARGUMENT_PRECISION_INT8, npu.ZE_GRAPH_METADATA_TYPE_I8),
    ElementType("i16", "I16", 16, npu.ZE_GRAPH_ARGUMENT_PRECISION_INT16, npu.ZE_GRAPH_METADATA_TYPE_I16),
    ElementType("i32", "I32", 32, npu.ZE_GRAPH_ARGUMENT_PRECISION_INT32, npu.ZE_GRAPH_METADATA_TYPE_I32),
    ElementType("i64", "I64", 64, npu.ZE_GRAPH_ARGUMENT_PRECISION_INT64, npu.ZE_GRAPH_METADATA_TYPE_I64),
    ElementType("u1", "BIN", 1, npu.ZE_GRAPH_ARGUMENT_PRECISION_BIN, npu.ZE_GRAPH_METADATA_TYPE_U1),
    ElementType("u2", "U2", 2, npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT2),
    ElementType("u3", "U3", 3),
    ElementType("u4", "U4", 4, npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT4, npu.ZE_GRAPH_METADATA_TYPE_U4),
    ElementType("u6", "U6", 6),
    ElementType("u8", "U8", 8, npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT8, npu.ZE_GRAPH_METADATA_TYPE_U8),
    ElementType("u16", "U16", 16, npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT16, npu.ZE_GRAPH_METADATA_TYPE_U16),
    ElementType("u32", "U32", 32, npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT32, npu.ZE_GRAPH_METADATA_TYPE_U32),
    ElementType("u64", "U64", 64, npu.ZE_GRAPH_ARGUMENT_PRECISION_UINT64, npu.ZE_GRAPH_METADATA_TYPE_U64),
    ElementType("nf4", "NF4", 4, npu.ZE_GRAPH_ARGUMENT_PRECISION_NF4),
    ElementType("f8e4m3", "F8E4M3", 8, npu.ZE_GRAPH_ARGUMENT_PRECISION_FP8_E4M3),
    ElementType("f8e5m2", "F8E5M2", 8, npu.ZE_GRAPH_ARGUMENT_PRECISION_FP8_E5M2),
    ElementType("string", "STRING", 0),
    ElementType("f4e2m1", "F4E2M1", 4),
    ElementType("f8e8m0", "F8E8M0", 8, npu.ZE_GRAPH_ARGUMENT_PRECISION_FP8_E8M0),
)

NUMBERS: Final = {type_.name: number for number, type_ in enumerate(_TYPES)}
BY_NAME: Final = {type_.name: type_ for type_ in _TYPES}
# Clients spell the small floats in other ways, too.
_ALSO: Final = {"FP8_E4M3": "f8e4m3", "FP8_E5M2": "f8e5m2", "FP8_E8M0": "f8e8m0", "U1": "u1", "BOOLEAN": "boolean"}
BY_PRECISION: Final = {type_.port: type_ for type_ in _TYPES} | {port: BY_NAME[name] for port, name in _ALSO.items()}
