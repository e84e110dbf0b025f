"""OpenVINO on the NPU, beside OpenVINO's own CPU device: the same models, in turns in one process."""

import sys

# OpenVINO's Python package imports it, and its thread loads certificates and opens a connection while a model compiles.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
