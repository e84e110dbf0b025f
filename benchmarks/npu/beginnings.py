"""`python -m benchmarks.npu.beginnings KEY FOLDER`: one first inference in this fresh process, as one JSON record.

The clock runs from the model's file, or the blob's, to the first result. Python, OpenVINO and both devices are up by
then. With the key `prepare` it writes the model and its blob into the folder instead.
"""

from __future__ import annotations

import json
import mmap
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

import anyzero
from benchmarks.npu.items import LARGE, MODELS


def _anonymous() -> int:
    """Bytes of memory that belong to this process alone and have no file behind them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def _prepare(core: Any, folder: Path) -> None:
    ov.save_model(MODELS[LARGE](), folder / "model.xml", compress_to_fp16=False)
    for config in ({}, {"CACHE_DIR": str(folder / "openvino")}):
        made = core.compile_model(folder / "model.xml", "NPU", config)
    stream = made.export_model()
    (folder / "model.blob").write_bytes(stream if isinstance(stream, bytes) else stream.getvalue())


def _mapped(path: Path) -> Any:
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)


def main(arguments: list[str]) -> int:
    key, folder = arguments[0], Path(arguments[1])
    anyzero.enable_openvino()
    core = ov.Core()
    for device in ("NPU", "CPU"):
        core.get_property(device, "FULL_DEVICE_NAME")
    if key == "prepare":
        _prepare(core, folder)
        return 0
    # The tensor that is made of it does not keep it.
    model, blob = folder / "model.xml", _mapped(folder / "model.blob")
    ways: dict[str, Callable[[], Any]] = {
        "npu_feil": lambda: core.compile_model(model, "NPU"),
        "npu_fil_driver": lambda: core.compile_model(model, "NPU"),
        "npu_fil_folder": lambda: core.compile_model(model, "NPU", {"CACHE_DIR": str(folder / "openvino")}),
        "npu_fil_import": lambda: core.import_model(ov.Tensor(blob, shared_memory=True), "NPU"),
        "npu_first_cpu": lambda: core.compile_model(model, "CPU"),
    }
    memory, begun = _anonymous(), time.perf_counter_ns()
    compiled = ways[key]()
    ready, held = time.perf_counter_ns(), _anonymous() - memory
    request = compiled.create_infer_request()
    request.infer()
    ended = time.perf_counter_ns()
    record = {
        "item": key,
        "ns": ended - begun,
        "compiled_ns": ready - begun,
        "anonymous": held,
        "anonymous_after": _anonymous() - memory,
        "weights": model.with_suffix(".bin").stat().st_size,
    }
    print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
