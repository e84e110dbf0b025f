"""ONNX's backend tests: `onnx_backend.py RUNTIME DEVICE [--models]`, through openvino or onnxruntime.

Single operators with the outputs that ONNX's reference has for them, and small models that come with their data. With
`--models` only those.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cases
import numpy as np
import onnx
from onnx import numpy_helper

ROUGHLY = 0.02
"""The expected results are in single precision; by default an NPU computes in half precision, and a processor with
bfloat16 in that."""
NEWEST_IR = 13
"""The version that onnxruntime reads; these models need no newer one."""
KINDS = ("simple", "pytorch-operator", "pytorch-converted")
Data = Sequence[tuple[Sequence[Any], Sequence[Any]]]
Infer = Callable[[onnx.ModelProto, Sequence[Any]], Sequence[Any]]


def by_openvino(device: str) -> Infer:
    import openvino

    core = openvino.Core()
    if device not in core.available_devices:
        raise SystemExit(f"OpenVINO has no device {device}: {core.available_devices}")

    def infer(model: onnx.ModelProto, inputs: Sequence[Any]) -> Sequence[Any]:
        compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), device)
        found = compiled([openvino.Tensor(np.array(each, order="C")) for each in inputs])
        return [found[number] for number in range(len(compiled.outputs))]

    return infer


def by_onnxruntime(device: str) -> Infer:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    provider = "OpenVINOExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise SystemExit(f"onnxruntime has no {provider}: {onnxruntime.get_available_providers()}")

    def infer(model: onnx.ModelProto, inputs: Sequence[Any]) -> Sequence[Any]:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # It falls back to another device silently, and crashes while doing so.
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        model.ir_version = min(model.ir_version, NEWEST_IR)
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=[(provider, {"device_type": device})]
        )
        # The same where the provider's library cannot be loaded.
        if provider not in session.get_providers():
            raise AssertionError(f"{provider} is not in use: {session.get_providers()}")
        names = [each.name for each in session.get_inputs()]
        return session.run(None, dict(zip(names, inputs, strict=False)))

    return infer


def check(infer: Infer, load: Callable[[], tuple[onnx.ModelProto, Data]], rtol: float, atol: float) -> None:
    model, sets = load()
    for given, wanted in sets:
        inputs, outputs = [_array(each) for each in given], [_array(each) for each in wanted]
        if not all(isinstance(each, np.ndarray | np.generic) for each in (*inputs, *outputs)):
            raise cases.SkipError("sequences, maps and optional values are no tensors")
        if any(np.asarray(each).dtype.kind in "OUS" for each in (*inputs, *outputs)):
            raise cases.SkipError("strings")
        found = infer(model, [np.asarray(each) for each in inputs])
        assert len(found) == len(outputs), f"{len(found)} outputs, {len(outputs)} wanted"
        for one, other in zip(found, outputs, strict=True):
            assert np.shape(one) == np.shape(other), f"shape {np.shape(one)}, {np.shape(other)} wanted"
            np.testing.assert_allclose(_numbers(one), _numbers(other), max(rtol, ROUGHLY), max(atol, ROUGHLY))


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _numbers(value: Any) -> Any:
    """Comparable ones, where numpy does not know the type: bfloat16 and smaller."""
    array = np.asarray(value)
    return array if array.dtype.kind in "biufc" else array.astype(np.float32)


def loaded(folder: Path) -> tuple[onnx.ModelProto, Data]:
    model = onnx.load(folder / "model.onnx")
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        values = [[_tensor(data / f"{kind}_{i}.pb") for i in range(len(list(data.glob(f"{kind}_*.pb"))))]
                  for kind in ("input", "output")]  # fmt: skip
        sets.append((values[0], values[1]))
    return model, sets


def _tensor(path: Path) -> Any:
    return numpy_helper.to_array(onnx.load_tensor(path))


def operators(infer: Infer) -> dict[str, Callable[[], None]]:
    from onnx.backend.test.case.node import collect_testcases

    found: dict[str, Callable[[], None]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in collect_testcases(None):
            kept = partial(lambda case: (case.model, case.data_sets), case)
            found[f"node/{case.name}"] = partial(check, infer, kept, case.rtol, case.atol)
    return found


def models(infer: Infer) -> dict[str, Callable[[], None]]:
    found: dict[str, Callable[[], None]] = {}
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    for kind in KINDS:
        for path in sorted(folder.joinpath(kind).glob("*/model.onnx")):
            found[f"{kind}/{path.parent.name}"] = partial(check, infer, partial(loaded, path.parent), 1e-3, 1e-6)
    return found


if __name__ == "__main__":
    runtime, device, *options = sys.argv[1:]
    infer = {"openvino": by_openvino, "onnxruntime": by_onnxruntime}[runtime](device)
    cases.run(models(infer) if "--models" in options else operators(infer) | models(infer))
