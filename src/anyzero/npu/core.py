"""The entry point of the plugin: compile a model, or import a compiled one."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import anyzero as az
from anyzero import errors, installed
from anyzero.npu import exported_model
from anyzero.npu.blob_cache import BlobCache
from anyzero.npu.compiled_model import CompiledModel
from anyzero.npu.element_type import ElementType
from anyzero.npu.executor import Executor
from anyzero.npu.model_source import ModelSource, load
from anyzero.npu.network_description import NetworkDescription
from anyzero.npu.settings import Settings, key_of
from anyzero.npu.tensor import Tensor, allocate

__all__ = ["Core"]


class Core:
    """Models on an NPU, with OpenVINO's names.

    `device` is an argument for `anyzero.device`, by default the first NPU. Models of one core share a context, so the
    output tensor of one can be the input tensor of another. Any thread may use a core.
    """

    def __init__(self, device: Any = "npu") -> None:
        try:
            self.device = az.device(device)
        except errors.DeviceNotFound as error:
            if device == "npu":
                error.remedy = f"The NPU device needs OpenVINO: {installed.install('npu')}. {error.remedy}"
            raise
        self._options = self.device.graph_compiler.options
        self.context = self.device.context()
        self._settings = Settings()

    @property
    def available_devices(self) -> list[str]:
        """The devices that models can be compiled for."""
        return ["NPU"]

    def compile_model(
        self, model: Any, device_name: Any = None, config: Mapping[Any, Any] | None = None, *, weights: Any = None
    ) -> CompiledModel:
        """Compile a model: a file name (IR, ONNX, …), an openvino.Model, or IR as bytes with `weights`.

        `config` may be the second argument, as there is only one device; `Settings` lists its keys. A failed
        compilation raises BuildError, whose `log` names the layer.
        """
        settings = self._settings.updated(_config(device_name, config), self._options)
        source = load(model, weights, apart=settings.npu_batch_mode == "PLUGIN")
        batch = source.batch if source.batch > 1 else max(settings.npu_batch, 1)
        folder = settings.cache_path
        if folder is None:
            return self._compiled(source, batch, settings)
        cache = BlobCache(folder)
        besides = self._besides(source, settings)
        identity = source.identity(*besides)
        # Reading all weights takes as long as loading the model, so unchanged files are not read.
        digest = cache.recall(identity)
        if digest is None:
            digest = source.digest(*besides)
            cache.note(identity, digest)
        kept = cache.find(digest)
        if kept is not None:
            try:
                return self._imported(exported_model.read(kept), settings, source.weights, from_cache=True)
            except (errors.BuildError, errors.InvalidArgument, OSError):
                # Damaged, or from another driver with the same version.
                cache.forget(digest)
        made = self._compiled(source, batch, settings)
        cache.keep(digest, list(exported_model.parts_of(made.graph.native, source.name, batch)))
        return made

    def import_model(
        self, source: Any, device_name: Any = None, config: Mapping[Any, Any] | None = None
    ) -> CompiledModel:
        """Load a model that `CompiledModel.export_model` wrote: a file name, bytes or a stream.

        A file is mapped and used in place, so its weights are read on demand and not copied. A model compiled with
        ENABLE_WEIGHTLESS has none, and takes them from the file in WEIGHTS_PATH.
        """
        settings = self._settings.updated(_config(device_name, config), self._options)
        weights = Path(settings.weights_path).expanduser() if settings.weights_path else None
        return self._imported(exported_model.read(source), settings, weights, from_cache=False)

    def query_model(
        self, model: Any, device_name: Any = None, config: Mapping[Any, Any] | None = None
    ) -> dict[str, str]:
        """The supported layers of a model, each with the device."""
        settings = self._settings.updated(_config(device_name, config), self._options)
        source = load(model, None, apart=False)
        options = settings.for_compiler(self._options)
        layers = self.context.supported_layers(source.xml, weights=source.weights, options=options)
        return dict.fromkeys(layers, "NPU")

    def create_host_tensor(self, element_type: Any, shape: tuple[int, ...]) -> Tensor:
        """A tensor of zeros in host memory, for requests of all models of this core."""
        kind = ElementType.of(element_type)
        return allocate(self.context, tuple(shape), kind, (prod(shape) * kind.bits + 7) // 8)

    def set_property(self, *arguments: Any) -> None:
        """``set_property(properties)``: defaults for models compiled later."""
        self._settings = self._settings.updated(arguments[-1], self._options)

    def get_property(self, *arguments: Any) -> Any:
        """``get_property(name)``: a property of the device, or a default for models."""
        name = key_of(arguments[-1])
        known: dict[str, Any] = {
            "FULL_DEVICE_NAME": self.device.name,
            "AVAILABLE_DEVICES": ["0"],
            "NPU_DRIVER_VERSION": self.device.driver.version,
            "NPU_COMPILER_VERSION": self.device.graph_compiler.version,
            "DEVICE_UUID": self.device.uuid,
        }
        if name in known:
            return known[name]
        if name == "SUPPORTED_PROPERTIES":
            return sorted({*known, *Settings.keys(), *self._options})
        try:
            return self._settings.value(name)
        except KeyError:
            raise errors.InvalidArgument(
                f"{name} is not a property, or has no value", remedy='get_property("SUPPORTED_PROPERTIES") lists them.'
            ) from None

    # Creating models

    def _compiled(self, source: ModelSource, batch: int, settings: Settings) -> CompiledModel:
        # With its own cache, the plugin bypasses the driver's: one copy of each model is enough.
        graph = self.context.graph(
            source.xml,
            weights=source.weights,
            options=settings.for_compiler(self._options),
            cache=not (settings.cache_dir or settings.npu_bypass_umd_caching),
            profiling=settings.perf_count,
        )
        return self._finished(graph, source.name, batch, settings, source.weights, from_cache=False)

    def _imported(
        self, exported: exported_model.ExportedModel, settings: Settings, weights: Any, *, from_cache: bool
    ) -> CompiledModel:
        graph = self.context.graph(exported.blob, format="native", profiling=settings.perf_count)
        exported.check(graph.native)
        return self._finished(graph, exported.name, exported.batch, settings, weights, from_cache=from_cache)

    def _finished(
        self, graph: az.Graph, name: str, batch: int, settings: Settings, weights: Any, *, from_cache: bool
    ) -> CompiledModel:
        if any(each.role == "weights" for each in graph.arguments):
            if weights is None:
                raise errors.InvalidArgument(
                    "this compiled model has no weights",
                    remedy='Name their file: import_model(blob, {"WEIGHTS_PATH": "model.bin"}).',
                )
            graph.set_weights(weights)
        if settings.perf_count and not graph.properties.profiling:
            raise errors.InvalidArgument(
                "this compiled model has no profiling", remedy="Compile it with PERF_COUNT, then export it again."
            )
        description = NetworkDescription.of(graph, name, batch)
        return CompiledModel(Executor(self.context, graph, description, settings, from_cache=from_cache))

    def _besides(self, source: ModelSource, settings: Settings) -> tuple[str, ...]:
        """Further inputs of the cache key."""
        compiler = self.device.graph_compiler
        return (
            f"driver {self.device.driver.version}",
            f"compiler {compiler.version}",
            f"device {self.device.name}",
            f"batch {source.batch} {settings.npu_batch}",
            f"profiling {settings.perf_count}",
            *(f"{key}={value}" for key, value in sorted(settings.for_compiler(self._options).items())),
        )

    def __repr__(self) -> str:
        return f"<Core of {self.device.name}>"


def _config(device_name: Any, config: Mapping[Any, Any] | None) -> Mapping[Any, Any] | None:
    if isinstance(device_name, Mapping):
        return device_name
    if device_name is not None and not str(device_name).upper().startswith("NPU"):
        raise errors.InvalidArgument(f"this plugin is for the device NPU, not for {device_name}")
    return config
