"""A model on a worker: made once in its process, run for whole batches."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import cloudpickle
import numpy as np
import numpy.typing as npt

import anyzero as az
from anyzero.cluster import metrics

__all__ = ["ServedModel", "infer", "served"]

_lock: Final = threading.Lock()
_made: dict[str, Callable[..., Any]] = {}

Inputs = dict[Any, npt.NDArray[Any]]


class ServedModel:
    """The model of a replica: OpenVINO's IR with its weights, or a function."""

    def __init__(self, name: str, parts: tuple[bytes, ...], config: dict[str, Any]) -> None:
        self.name = name
        self.parts = parts
        self.config = config
        self.digest = hashlib.sha256(b"\0".join(parts) + repr(sorted(config.items())).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    @property
    def is_function(self) -> bool:
        """Whether it is a function rather than a model of OpenVINO's."""
        return len(self.parts) == 1


def served(model: Any, *, batch: int, config: dict[str, Any]) -> tuple[ServedModel, int]:
    """A model that can be sent, and the number of samples that one run takes."""
    if callable(model) and not hasattr(model, "get_ops"):
        name = getattr(model, "__name__", type(model).__name__)
        return ServedModel(name, (cloudpickle.dumps(model),), config), batch
    try:
        import openvino as ov
    except ModuleNotFoundError as error:
        raise az.Unavailable(
            "models are read by OpenVINO, which is not installed", remedy="pip install 'anyzero[npu]'"
        ) from error
    read = ov.Core().read_model(model) if isinstance(model, str | Path) else model
    if batch > 1:
        # The NPU's shapes are fixed, so the model is compiled for whole batches; shorter ones are filled up.
        read = read.clone()
        shapes = {port: port.get_partial_shape() for port in read.inputs}
        if any(not shape.rank.is_static or shape.rank.get_length() == 0 for shape in shapes.values()):
            raise az.InvalidArgument("an input of the model has no axis for a batch", remedy="Pass batch=1.")
        read.reshape({port: ov.PartialShape([batch, *list(shape)[1:]]) for port, shape in shapes.items()})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        ov.serialize(read, str(path))
        parts = (path.read_bytes(), path.with_suffix(".bin").read_bytes())
    return ServedModel(read.get_friendly_name(), parts, config), batch


def _replica(model: ServedModel) -> Callable[..., Any]:
    with _lock:
        if model.digest not in _made:
            _made[model.digest] = _function(model) if model.is_function else _compiled(model)
        return _made[model.digest]


def _function(model: ServedModel) -> Callable[..., Any]:
    function = cloudpickle.loads(model.parts[0])

    def run(inputs: Inputs) -> Sequence[Any]:
        found = function(inputs[0] if set(inputs) == {0} else inputs)
        return found if isinstance(found, tuple) else (found,)

    return run


def _compiled(model: ServedModel) -> Callable[..., Any]:
    from anyzero.npu import Core

    compiled = Core().compile_model(model.parts[0], config=model.config, weights=model.parts[1])
    turn = threading.Lock()

    def run(inputs: Inputs) -> Sequence[Any]:
        given = {name: _filled(each, int(compiled.input(name).shape[0])) for name, each in inputs.items()}
        with turn:
            return tuple(np.array(each) for each in compiled(given).to_tuple())

    return run


def _filled(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The array with rows of zeros behind it."""
    if len(array) == rows:
        return array
    whole = np.zeros((rows, *array.shape[1:]), array.dtype)
    whole[: len(array)] = array
    return whole


def infer(model: ServedModel, inputs: Inputs, lengths: Sequence[int], waited: Sequence[float]) -> list[Any]:
    """Run one batch: the results of each request; `lengths` are the rows of each along the first axis.

    `waited` is how long each request has waited before it was sent, for the latencies that the worker reports.
    """
    window = metrics.of_model(model.name)
    began = time.perf_counter()
    try:
        outputs = _replica(model)(inputs)
        ends = np.cumsum(lengths)
        for each in outputs:
            if len(each) < ends[-1]:
                raise az.InvalidArgument(
                    f"{model.name} returned {len(each)} rows for {ends[-1]} samples",
                    remedy="The first axis of every output has a row for each sample; batch=1 runs them one by one.",
                )
    except BaseException:
        window.errors += 1
        raise
    found = [tuple(each[end - n : end] for each in outputs) for end, n in zip(ends, lengths, strict=True)]
    took = time.perf_counter() - began
    window.add([each + took for each in waited])
    return [each[0] if len(each) == 1 else each for each in found]
