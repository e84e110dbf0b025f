"""ONNX's backend tests and a language model on the NPU device, through OpenVINO, onnxruntime and openvino-genai.

The peer is OpenVINO's own CPU device.
"""

from __future__ import annotations

from pathlib import Path

from clients.client import Client, Command, Known, Side
from clients.place import ROOT, through_anyzero

__all__ = ["LLM", "ONNX", "ONNXRUNTIME"]

ENVIRONMENT = "openvino"
PACKAGES = ("openvino==2026.4.1", "onnx==1.23.2", "onnxruntime-openvino==1.24.1", "openvino-genai==2026.4.1.0")

UNBOUNDED = Known(
    r".",
    "A shape of an output depends on values and has no bounds. Outputs of an NPU are allocated before an inference, so "
    "it needs bounds; the error says which output has none.",
    detail=r"bounds|unbounded",
)

OTHER_PROVIDER = Known(
    r".",
    "onnxruntime's provider has a list of its own of operators for NPUs. It leaves the others to onnxruntime's CPU "
    "provider, which the test excludes, without asking a driver.",
    detail=r"assigned to the default CPU EP",
)


def _on(device: str, name: str, script: str, *arguments: str) -> Side:
    def command(python: Path, count: int) -> Command:
        started = [str(python), str(ROOT / "clients" / "inside" / script), *arguments, device]
        return [*through_anyzero(), *started] if device == "NPU" else started, {"SAMPLE": str(count)}

    return Side(name, command)


def _client(
    name: str, title: str, versions: tuple[str, ...], known: tuple[Known, ...], quick: int, *how: str
) -> Client:
    return Client(
        name=name,
        title=title,
        environment=ENVIRONMENT,
        packages=PACKAGES,
        version_of=versions,
        ours=_on("NPU", "anyzero", *how),
        peer=_on("CPU", "OpenVINO's CPU device", *how),
        sample=0,
        slice=quick,
        known=known,
    )


ONNX = _client(
    "onnx",
    "ONNX's backend tests (operators and small models) through OpenVINO on the NPU",
    ("onnx", "openvino"),
    (UNBOUNDED,),
    60,
    "onnx_backend.py",
    "openvino",
)

ONNXRUNTIME = _client(
    "onnxruntime",
    "the same through onnxruntime's provider for OpenVINO on the NPU",
    ("onnxruntime-openvino",),
    (UNBOUNDED, OTHER_PROVIDER),
    20,
    "onnx_backend.py",
    "onnxruntime",
)

LLM = _client(
    "llm",
    "a language model of two layers, made on the spot: greedy decoding by openvino-genai on the NPU, beside numpy",
    ("openvino-genai",),
    (),
    6,
    "small_llm.py",
)
