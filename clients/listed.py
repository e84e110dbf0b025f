"""All clients, in the order of the table."""

from __future__ import annotations

from typing import Final

from clients.adaptivecpp import ADAPTIVECPP
from clients.client import Client
from clients.openvino import LLM, ONNX, ONNXRUNTIME
from clients.sycl import DPCTL, DPNP

__all__ = ["CLIENTS"]

CLIENTS: Final[tuple[Client, ...]] = (DPCTL, DPNP, ADAPTIVECPP, ONNX, ONNXRUNTIME, LLM)
