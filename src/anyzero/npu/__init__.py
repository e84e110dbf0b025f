"""Inference on an NPU, with OpenVINO's names, on this package's public API alone.

    from anyzero.npu import Core

    model = Core().compile_model("model.xml", {"PERFORMANCE_HINT": "LATENCY"})
    request = model.create_infer_request()
    request.get_input_tensor().data[...] = image          # memory that the device reads
    request.infer()
    print(request.get_output_tensor().data)

See docs/npu.md.
"""

from __future__ import annotations

from anyzero.npu.compiled_model import CompiledModel
from anyzero.npu.core import Core
from anyzero.npu.element_type import ElementType
from anyzero.npu.infer_queue import AsyncInferQueue
from anyzero.npu.infer_request import Cancelled, InferRequest, RequestBusy
from anyzero.npu.network_description import NetworkDescription, Port
from anyzero.npu.profiling import ProfilingInfo
from anyzero.npu.results import InferResults
from anyzero.npu.tensor import Tensor
from anyzero.npu.variable_state import VariableState

__all__ = [
    "AsyncInferQueue",
    "Cancelled",
    "CompiledModel",
    "Core",
    "ElementType",
    "InferRequest",
    "InferResults",
    "NetworkDescription",
    "Port",
    "ProfilingInfo",
    "RequestBusy",
    "Tensor",
    "VariableState",
]
