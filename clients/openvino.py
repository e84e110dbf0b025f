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
    "The shape of an output depends on values and has no upper bound (in one test that of an input has none). An NPU's "
    "arguments are allocated before an inference; the error names the one without a bound.",
    detail=r"upper bound",
)

MORE_DIMENSIONS = Known(
    r".",
    "An input has six or seven dimensions. The graph extension describes arguments of up to five "
    "(`ZE_MAX_GRAPH_ARGUMENT_DIMENSIONS_SIZE`).",
    detail=r"dimensions, and inputs and outputs of a graph have 5 at most",
)


def _on(device: str, name: str, quick: int, script: str, *arguments: str) -> Side:
    def command(python: Path, count: int) -> Command:
        started = [str(python), str(ROOT / "clients" / "inside" / script), *arguments, device]
        if arguments and count == quick:
            started.append("--models")  # collecting all operators' tests takes longer than a slice may
        return [*through_anyzero(), *started] if device == "NPU" else started, {"SAMPLE": str(count)}

    return Side(name, command)


def _client(
    name: str,
    title: str,
    modules: tuple[str, ...],
    versions: tuple[str, ...],
    known: tuple[Known, ...],
    quick: int,
    *how: str,
) -> Client:
    return Client(
        name=name,
        title=title,
        environment=ENVIRONMENT,
        packages=PACKAGES,
        modules=modules,
        version_of=versions,
        ours=_on("NPU", "anyzero", quick, *how),
        peer=_on("CPU", "OpenVINO's CPU device", quick, *how),
        sample=0,
        slice=quick,
        known=known,
    )


ONNX = _client(
    "onnx",
    "ONNX's backend tests (operators and small models) through OpenVINO on the NPU",
    ("onnx", "openvino"),
    ("onnx", "openvino"),
    (UNBOUNDED, MORE_DIMENSIONS),
    24,
    "onnx_backend.py",
    "openvino",
)

ONNXRUNTIME = _client(
    "onnxruntime",
    "the same through onnxruntime's provider for OpenVINO on the NPU",
    ("onnx", "onnxruntime", "openvino"),
    ("onnxruntime-openvino",),
    (UNBOUNDED, MORE_DIMENSIONS),
    20,
    "onnx_backend.py",
    "onnxruntime",
)

LLM = _client(
    "llm",
    "a language model of six layers, made on the spot: greedy decoding by openvino-genai on the NPU, beside numpy",
    ("openvino", "openvino_genai", "openvino_tokenizers"),
    ("openvino-genai",),
    (),
    6,
    "small_llm.py",
)
