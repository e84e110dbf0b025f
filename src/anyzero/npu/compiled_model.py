"""Compiled models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import anyzero as az
from anyzero import errors
from anyzero.npu.executor import Executor
from anyzero.npu.exported_model import parts_of
from anyzero.npu.infer_request import InferRequest
from anyzero.npu.network_description import NetworkDescription, Port
from anyzero.npu.results import InferResults
from anyzero.npu.settings import Settings, key_of

__all__ = ["CompiledModel"]

_THREADS_IN_FLIGHT = 4


class CompiledModel:
    """A model compiled for a device, from `Core.compile_model` or `Core.import_model`. Any thread may use it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        # Requests hold the executor and not this, so there is no reference cycle.
        self._own_request: InferRequest | None = None

    @property
    def description(self) -> NetworkDescription:
        """Its inputs, outputs and states."""
        return self._executor.description

    @property
    def name(self) -> str:
        """The model's name."""
        return self.description.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Its inputs."""
        return self.description.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Its outputs."""
        return self.description.outputs

    def input(self, which: int | str = 0) -> Port:
        """An input by index or one of its names."""
        return _find(self.inputs, which, "input")

    def output(self, which: int | str = 0) -> Port:
        """An output by index or one of its names."""
        return _find(self.outputs, which, "output")

    def create_infer_request(self) -> InferRequest:
        """A new request with its own tensors."""
        return InferRequest(self._executor)

    def infer_new_request(self, inputs: Any = None) -> InferResults:
        """Run one inference on a new request."""
        return self.create_infer_request().infer(inputs)

    def __call__(self, inputs: Any = None, share_inputs: bool = True, share_outputs: bool = False) -> InferResults:
        """Run one inference on a request owned by the model; one thread at a time."""
        if self._own_request is None:
            self._own_request = self.create_infer_request()
        return self._own_request.infer(inputs, share_inputs=share_inputs, share_outputs=share_outputs)

    def export_model(self, stream: IO[bytes] | None = None) -> bytes | None:
        """The compiled model as bytes, or written to a stream; `Core.import_model` loads it without compiling."""
        parts = parts_of(self._executor.graph.native, self.name, self.description.batch)
        if stream is None:
            return b"".join(parts)
        for part in parts:
            stream.write(part)
        return None

    def get_property(self, key: Any) -> Any:
        """The value of a property; ``SUPPORTED_PROPERTIES`` lists them."""
        name = key_of(key)
        known: dict[str, Any] = {
            "NETWORK_NAME": self.name,
            "EXECUTION_DEVICES": ["NPU"],
            "LOADED_FROM_CACHE": self._executor.from_cache or self._executor.graph.properties.cached,
            "OPTIMAL_NUMBER_OF_INFER_REQUESTS": self._optimal_requests(),
            "NPU_PIPELINE": "DISCRETE" if self._executor.discrete else "INTEGRATED",
            "NPU_BATCH": self.description.batch,
        }
        if name in known:
            return known[name]
        if name == "SUPPORTED_PROPERTIES":
            return sorted({*known, *Settings.keys(), *dict(self._executor.settings.compiler)})
        try:
            return self._executor.settings.value(name)
        except KeyError:
            raise errors.InvalidArgument(
                f"{name} is not a property of a compiled model",
                remedy='get_property("SUPPORTED_PROPERTIES") lists them.',
            ) from None

    def set_property(self, properties: Mapping[Any, Any]) -> None:
        """Change MODEL_PRIORITY or WORKLOAD_TYPE after compilation, for requests created later."""
        others = {key_of(key) for key in properties} - {"MODEL_PRIORITY", "WORKLOAD_TYPE"}
        if others:
            raise errors.InvalidArgument(f"{', '.join(sorted(others))} cannot be changed once a model is compiled")
        old = self._executor
        settings = old.settings.updated(properties, ())
        self._executor = Executor(old.context, old.graph, old.description, settings, from_cache=old.from_cache)
        self._own_request = None

    def _optimal_requests(self) -> int:
        wanted = self._executor.settings.performance_hint_num_requests
        most = 1 if self._executor.settings.performance_hint == "LATENCY" else _THREADS_IN_FLIGHT
        return min(wanted, most) if wanted else most

    @property
    def graph(self) -> az.Graph:
        """The underlying graph, for use in other command lists."""
        return self._executor.graph

    def release_memory(self) -> None:
        """Release memory that the next inference can recreate."""
        self._own_request = None
        self._executor.graph.evict()

    def __repr__(self) -> str:
        given, made = (", ".join(map(repr, side)) for side in (self.inputs, self.outputs))
        return f"<CompiledModel {self.name}:\ninputs[{given}]\noutputs[{made}]>"


def _find(ports: tuple[Port, ...], which: int | str, noun: str) -> Port:
    if isinstance(which, int):
        if not 0 <= which < len(ports):
            raise errors.InvalidArgument(f"the model has {len(ports)} {noun}s, so none is number {which}")
        return ports[which]
    for port in ports:
        if which in port.names or which in (port.argument.name, port.friendly_name):
            return port
    names = ", ".join(sorted(name for port in ports for name in port.names))
    raise errors.InvalidArgument(f"the model has no {noun} called {which!r}; it has {names}")
