"""Infer requests: tensors, and one inference at a time on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import anyzero as az
from anyzero import errors
from anyzero.npu.pipeline import Binding, Pipeline, bind, make_pipeline
from anyzero.npu.profiling import ProfilingInfo, info_of
from anyzero.npu.request_tensors import RequestTensors
from anyzero.npu.results import InferResults
from anyzero.npu.tensor import Tensor
from anyzero.npu.variable_state import VariableState

if TYPE_CHECKING:
    from anyzero.npu.compiled_model import CompiledModel
    from anyzero.npu.executor import Executor
    from anyzero.npu.network_description import Port

__all__ = ["Cancelled", "InferRequest", "RequestBusy"]

Callback = Callable[[Any], object]


class RequestBusy(errors.HandleInUse, RuntimeError):  # noqa: N818 (as the exceptions of this package)
    """The request is already running."""

    remedy = "Wait for it, or use a separate request for each inference in flight (AsyncInferQueue)."


class Cancelled(errors.Error, RuntimeError):  # noqa: N818 (as the exceptions of this package)
    """The inference was cancelled; its outputs are undefined."""

    remedy = "Start another inference on the request."


class InferRequest:
    """One inference at a time, created by `CompiledModel.create_infer_request`.

    ``get_tensor(name).data`` is memory that the device uses directly: writing inputs and reading outputs there avoids
    copies. Starting and waiting are calls into the driver, which runs the inference without Python. One thread at a
    time prepares and starts; any thread may wait.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._tensors = RequestTensors(executor)
        self._pipeline: Pipeline | None = None
        self._guard = Lock()
        self._running = False
        self._concluded: Flag | None = None
        self._failure: BaseException | None = None
        self._cancelled = False
        self._callback: Callback | None = None
        self._started = 0
        self._ended = 0
        self.userdata: Any = None

    # Ports and tensors

    @property
    def model_inputs(self) -> tuple[Port, ...]:
        """The inputs of the model."""
        return self._executor.description.inputs

    @property
    def model_outputs(self) -> tuple[Port, ...]:
        """The outputs of the model."""
        return self._executor.description.outputs

    def get_compiled_model(self) -> CompiledModel:
        """The model."""
        from anyzero.npu.compiled_model import CompiledModel

        return CompiledModel(self._executor)

    def get_tensor(self, port: Port | str) -> Tensor:
        """The tensor of a port, or of one of its names."""
        return self._tensors.get(self._tensors.port(port))

    def get_input_tensor(self, index: int = 0) -> Tensor:
        """The tensor of an input."""
        return self._tensors.get(self._tensors.input(index))

    def get_output_tensor(self, index: int = 0) -> Tensor:
        """The tensor of an output."""
        return self._tensors.get(self._tensors.output(index))

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors of all inputs."""
        return tuple(self._tensors.get(port) for port in self.model_inputs)

    @property
    def output_tensors(self) -> tuple[Tensor, ...]:
        """The tensors of all outputs."""
        return tuple(self._tensors.get(port) for port in self.model_outputs)

    def set_tensor(self, port: Port | str, tensor: Any) -> None:
        """Use another tensor or array for a port, from the next inference on.

        Level Zero memory (another request's tensor, `Core.create_host_tensor`) and arrays that cover whole pages are
        used in place. Other arrays are copied by the device, at the beginning or the end of each inference.
        """
        self._require_idle()
        self._tensors.replace(self._tensors.port(port), tensor)

    def set_input_tensor(self, *arguments: Any) -> None:
        """``set_input_tensor(tensor)`` for a single input, else ``set_input_tensor(index, tensor)``."""
        index, tensor = _index_and_tensor(arguments)
        self._require_idle()
        self._tensors.replace(self._tensors.input(index), tensor)

    def set_output_tensor(self, *arguments: Any) -> None:
        """``set_output_tensor(tensor)`` for a single output, else ``set_output_tensor(index, tensor)``."""
        index, tensor = _index_and_tensor(arguments)
        self._require_idle()
        self._tensors.replace(self._tensors.output(index), tensor)

    def set_tensors(self, tensors: Mapping[Port | str, Any]) -> None:
        """`set_tensor` for several ports."""
        for port, tensor in tensors.items():
            self.set_tensor(port, tensor)

    # States

    def query_state(self) -> list[VariableState]:
        """The model's states."""
        return self._tensors.states

    def reset_state(self) -> None:
        """Reset all states to zero."""
        self._require_idle()
        for state in self._tensors.states:
            state.reset()

    # Inference

    def infer(self, inputs: Any = None, share_inputs: bool = False, share_outputs: bool = False) -> InferResults:
        """Run an inference and return its results; `inputs` are copied to the input tensors first.

        They are an array for a single input, a sequence, or a mapping by port, index or name. With `share_inputs`,
        memory that the device can access is used in place, as in `set_tensor`; with `share_outputs`, the results are
        views of the output tensors, valid until the next inference.
        """
        self._begin(inputs, share_inputs, watched=False)
        self.wait()
        return self._results(share=share_outputs)

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Start an inference and return. Wait for it with `wait`, or use a callback."""
        callback = self._callback
        if userdata is not None:
            self.userdata = userdata
        self._begin(inputs, share_inputs, watched=callback is not None)
        if callback is not None:
            self._executor.watcher.put(lambda: self._watch(callback))

    def wait(self) -> None:
        """Wait for the inference and its callback; raise its error."""
        self._wait(None)

    def wait_for(self, timeout: int) -> bool:
        """Wait for at most `timeout` milliseconds; True if the inference is done."""
        try:
            self._wait(timeout / 1000)
        except az.TimeoutError:
            return False
        return True

    def set_callback(self, callback: Callback | None, userdata: Any = None) -> None:
        """Set ``callback(userdata)``, called at the end of each `start_async`, on a separate thread.

        `wait` raises its exceptions. It may start the next inference.
        """
        self._require_idle()
        self._callback = callback
        if userdata is not None:
            self.userdata = userdata

    def cancel(self) -> None:
        """Abandon the inference in flight: `wait` raises Cancelled, and the callback is still called.

        The device finishes the inference, and only then can the request start another. Without an inference in flight
        this does nothing.
        """
        with self._guard:
            self._cancelled = self._running

    @property
    def ready(self) -> bool:
        """True if another inference can start now."""
        if not self._running:
            return True
        return self._concluded is None and self._pipeline is not None and self._pipeline.done

    @property
    def results(self) -> InferResults:
        """A copy of the last inference's results."""
        self._require_idle()
        return self._results(share=False)

    @property
    def latency(self) -> float:
        """Milliseconds from the start of the last inference to the detection of its end."""
        return (self._ended - self._started) / 1e6

    @property
    def profiling_info(self) -> list[ProfilingInfo]:
        """Layer times of the last inference, for a model compiled with PERF_COUNT."""
        self._require_idle()
        if not self._executor.settings.perf_count:
            raise errors.InvalidArgument(
                "the model was compiled without profiling", remedy='Compile it with {"PERF_COUNT": "YES"}.'
            )
        return [] if self._pipeline is None or not self._pipeline.begun else info_of(self._pipeline.layers())

    def get_profiling_info(self) -> list[ProfilingInfo]:
        """The same as `profiling_info`."""
        return self.profiling_info

    # Execution

    def _begin(self, inputs: Any, share: bool, *, watched: bool) -> None:
        with self._guard:
            if self._running:
                if self._concluded is not None or self._pipeline is None or not self._pipeline.done:
                    raise RequestBusy("the request has not finished its last inference")
                # The inference is done, although no thread has waited for it.
                self._conclude()
            self._running = True
            self._failure = None
            self._cancelled = False
            self._concluded = Flag() if watched else None
        try:
            self._tensors.fill(inputs, share=share)
            pipeline = self._prepared()
            self._started = time.perf_counter_ns()
            pipeline.push()
        except BaseException as error:
            self._give_up(error)
            raise

    def _prepared(self) -> Pipeline:
        """The pipeline, recorded for the current tensors."""
        tensors = self._tensors
        tensors.write_extents()
        changed = tensors.take_changes()
        pipeline = self._pipeline
        if pipeline is None or pipeline.queues is not self._executor.queues:
            # The first inference, or another request's fault has lost the shared queues.
            everything: list[Binding] = [
                bind(argument, own, given, self._executor) for argument, own, given in tensors.all()
            ]
            pipeline = self._pipeline = make_pipeline(self._executor, everything)
        elif changed:
            pipeline.rebind(
                {
                    argument.index: bind(argument, own, given, self._executor)
                    for argument, own, given in tensors.all()
                    if argument.index in changed
                }
            )
        return pipeline

    def _wait(self, timeout: float | None) -> None:
        concluded = self._concluded
        if concluded is not None and not self._executor.watcher.here:
            if not concluded.wait(timeout):
                raise az.TimeoutError(f"the inference was not done after {timeout:g} seconds")
            self._raise_failure()
            return
        pipeline = self._pipeline
        if not self._running or pipeline is None:
            self._raise_failure()
            return
        try:
            pipeline.pull(timeout)
        except az.TimeoutError:
            raise
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                self._give_up(error)
            raise
        with self._guard:
            if self._running and concluded is None:
                self._conclude()
        if concluded is None:
            self._raise_failure()

    def _watch(self, callback: Callback) -> None:
        """Wait for the inference and run the callback, on the watcher's thread."""
        concluded = self._concluded
        assert concluded is not None
        try:
            if self._pipeline is not None:
                self._pipeline.pull()
            with self._guard:
                self._conclude()
        except BaseException as error:
            self._failure = error
            self._give_up(error)
        try:
            callback(self.userdata)
        except BaseException as error:
            # An inference started meanwhile, in the callback or elsewhere, has its own failure.
            if self._concluded is concluded and self._failure is None:
                self._failure = error
        concluded.set()

    def _conclude(self) -> None:
        self._ended = time.perf_counter_ns()
        self._running = False
        if self._cancelled:
            self._failure = Cancelled("the inference was cancelled")
        else:
            self._tensors.read_extents()

    def _give_up(self, error: BaseException) -> None:
        """Reset the request after a failure."""
        pipeline = self._pipeline
        if isinstance(error, errors.DeviceLost) and pipeline is not None:
            self._executor.renew(pipeline.queues)
        # Its lists and fences may belong to lost queues or be in use; the next inference creates new ones.
        self._pipeline = None
        self._running = False

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _require_idle(self) -> None:
        if self._running and not self._executor.watcher.here:
            with suppress(az.TimeoutError, Cancelled):
                self._wait(0)
            if self._running:
                raise RequestBusy("the request is running")

    def _results(self, *, share: bool) -> InferResults:
        arrays: tuple[npt.NDArray[Any], ...] = tuple(each.data for each in self.output_tensors)
        return InferResults(self.model_outputs, arrays if share else tuple(np.array(each) for each in arrays))

    def __repr__(self) -> str:
        return f"<InferRequest of {self._executor.description.name}, {'running' if self._running else 'idle'}>"


def _index_and_tensor(arguments: tuple[Any, ...]) -> tuple[int, Any]:
    if len(arguments) == 1:
        return 0, arguments[0]
    if len(arguments) == 2:
        return arguments
    raise TypeError("this takes a tensor, or an index and a tensor")
