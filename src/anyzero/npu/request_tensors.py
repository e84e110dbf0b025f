"""The tensors of a request: its own, the program's, its states, and dynamic shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import anyzero as az
from anyzero import errors
from anyzero.npu.element_type import ElementType
from anyzero.npu.network_description import Port
from anyzero.npu.tensor import Tensor, allocate, as_array, fills_pages, put, shared
from anyzero.npu.variable_state import VariableState

if TYPE_CHECKING:
    from anyzero.npu.executor import Executor

__all__ = ["RequestTensors"]


class RequestTensors:
    """Memory for every argument of the graph. One thread at a time may use it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._description = executor.description
        self._own: dict[Port, Tensor] = {}
        self._given: dict[Port, Tensor] = {}
        self._extents: dict[Port, npt.NDArray[Any]] = {}
        self._extra: list[tuple[az.GraphArgument, Tensor]] = []
        self._changed: set[int] = set()
        self.states: list[VariableState] = []
        for port in (*self._description.inputs, *self._description.outputs):
            if port.extent is not None:
                tensor = self._allocate(port.extent)
                self._extents[port] = tensor.data
                self._extra.append((port.extent, tensor))
        for state in self._description.states:
            tensor = self._allocate(state.read)
            self._extra += [(state.read, tensor), (state.assign, tensor)]
            self.states.append(VariableState(state.name, tensor))

    def _allocate(self, argument: az.GraphArgument) -> Tensor:
        kind = ElementType(argument.precision, argument.dtype, argument.bits)
        return allocate(self._executor.context, argument.bounds, kind, argument.nbytes)

    # Ports

    def port(self, which: Port | str) -> Port:
        """A port, given as a port or by one of its names."""
        ports = (*self._description.inputs, *self._description.outputs)
        if isinstance(which, Port):
            if which in ports:
                return which
            # A port of another compilation of the model, or from before an import.
            which = which.any_name
        for port in ports:
            if which in port.names:
                return port
        for port in ports:
            if which in (port.argument.name, port.friendly_name):
                return port
        names = ", ".join(sorted(name for port in ports for name in port.names))
        raise errors.InvalidArgument(f"the model has no tensor called {which!r}; it has {names}")

    def input(self, index: int) -> Port:
        """An input by index."""
        return _at(self._description.inputs, index, "input")

    def output(self, index: int) -> Port:
        """An output by index."""
        return _at(self._description.outputs, index, "output")

    # Tensors

    def get(self, port: Port) -> Tensor:
        """The tensor of a port, created on demand."""
        return self._given.get(port) or self._own_of(port)

    def _own_of(self, port: Port) -> Tensor:
        found = self._own.get(port)
        if found is None:
            found = allocate(self._executor.context, port.upper_bounds, port.element_type, port.nbytes)
            self._own[port] = found
        return found

    def replace(self, port: Port, source: Any) -> None:
        """Use the program's tensor or array for a port."""
        tensor = source if isinstance(source, Tensor) else shared(self._executor.context, source)
        self._check(port, tensor.data)
        is_output = port.argument.direction == "output"
        if is_output and not tensor.data.flags.writeable:
            raise errors.InvalidArgument(f"{port.any_name} is an output, and this array cannot be written to")
        if is_output and port.dynamic and tensor.byte_size < port.nbytes:
            raise errors.InvalidArgument(
                f"{port.any_name} may take {port.nbytes} bytes, shape {port.upper_bounds}; this has {tensor.byte_size}"
            )
        if tensor is self._given.get(port) and tensor.buffer is not None:
            return
        self._given[port] = tensor
        self._changed.add(port.argument.index)

    def _check(self, port: Port, array: npt.NDArray[Any]) -> None:
        name = port.any_name
        if array.dtype != port.argument.dtype:
            raise errors.InvalidArgument(
                f"{name} has elements of {port.argument.precision}; this array has {array.dtype}",
                remedy="Convert it with astype(), or pass it to infer(), which does.",
            )
        if not array.flags.c_contiguous:
            raise errors.InvalidArgument(
                f"the array for {name} is not contiguous", remedy="Use np.ascontiguousarray()."
            )
        if port.argument.packed:
            fits = array.nbytes == port.nbytes
        else:
            fits = port.admits(array.shape)
        if not fits:
            raise errors.InvalidArgument(_mismatch(port, array.shape))

    def fill(self, inputs: Any, *, share: bool) -> None:
        """Set the inputs: an array for a single one, a sequence, or a mapping by port, index or name."""
        for port, value in self._pairs(inputs):
            array = as_array(value)
            if not port.dynamic and not port.argument.packed and array.size == prod(port.upper_bounds):
                # Accept values that reshape to the port's shape, as numpy does.
                array = array.reshape(port.upper_bounds)
            if share and self._is_reachable(value, array) and array.dtype == port.argument.dtype:
                self.replace(port, value if isinstance(value, Tensor) else array)
                continue
            tensor = self.get(port)
            if tensor.shape != array.shape:
                if not port.dynamic or not port.admits(array.shape):
                    raise errors.InvalidArgument(_mismatch(port, array.shape))
                if port in self._given:
                    # The program's tensor keeps its shape.
                    del self._given[port]
                    self._changed.add(port.argument.index)
                    tensor = self.get(port)
                tensor.set_shape(array.shape)
            put(tensor.data, array, port.any_name)

    def _is_reachable(self, value: Any, array: npt.NDArray[Any]) -> bool:
        """True if the device can use an array in place; otherwise copying now costs less than recording a copy."""
        if isinstance(value, Tensor):
            return value.buffer is not None and value.buffer.context is self._executor.context
        return fills_pages(array)

    def _pairs(self, inputs: Any) -> Iterator[tuple[Port, Any]]:
        ports = self._description.inputs
        if inputs is None:
            return
        if isinstance(inputs, Mapping):
            for key, value in inputs.items():
                port = self.input(key) if isinstance(key, int) else self.port(key)
                if port not in ports:
                    raise errors.InvalidArgument(f"{key!r} is not an input of the model")
                yield port, value
        elif isinstance(inputs, list | tuple) and not (len(ports) == 1 and _is_values(inputs)):
            if len(inputs) != len(ports):
                raise errors.InvalidArgument(f"{len(inputs)} values for {len(ports)} inputs")
            yield from zip(ports, inputs, strict=True)
        elif len(ports) == 1:
            yield ports[0], inputs
        else:
            names = ", ".join(port.any_name for port in ports)
            raise errors.InvalidArgument(f"one value for {len(ports)} inputs; pass a mapping or a list for {names}")

    # For the pipeline

    def all(self) -> Iterator[tuple[az.GraphArgument, Tensor, Tensor | None]]:
        """Every argument with the request's own tensor and the program's replacement, if any."""
        for port in (*self._description.inputs, *self._description.outputs):
            yield port.argument, self._own_of(port), self._given.get(port)
        for argument, tensor in self._extra:
            yield argument, tensor, None

    def take_changes(self) -> set[int]:
        """The arguments whose memory has changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def write_extents(self) -> None:
        """Write the shapes of dynamic inputs for the graph, in reverse order."""
        for port in self._description.inputs:
            if port.extent is not None:
                self._extents[port][...] = self.get(port).shape[::-1]

    def read_extents(self) -> None:
        """Set the shapes of dynamic output tensors to the results' shapes."""
        for port in self._description.outputs:
            if port.extent is None:
                continue
            shape = tuple(int(side) for side in self._extents[port][::-1])
            tensor = self.get(port)
            if port.admits(shape) and tensor.shape != shape:
                if port in self._given and tensor.buffer is None:
                    tensor = self._given[port] = _with_room(tensor)
                tensor.set_shape(shape)


def _with_room(tensor: Tensor) -> Tensor:
    """A resizable tensor on the same array."""
    return Tensor(tensor.data, element_type=tensor.element_type, capacity=tensor.data.reshape(-1).view(np.uint8))


def _at(ports: Sequence[Port], index: int, noun: str) -> Port:
    if not 0 <= index < len(ports):
        raise errors.InvalidArgument(f"the model has {len(ports)} {noun}s, so none is number {index}")
    return ports[index]


def _mismatch(port: Port, shape: tuple[int, ...]) -> str:
    wanted = f"{port.partial_shape}, at most {port.upper_bounds}" if port.dynamic else f"{port.upper_bounds}"
    return f"{port.any_name} has shape {wanted}; this array has shape {shape}"


def _is_values(inputs: Sequence[Any]) -> bool:
    """True if a list is the values of one input, rather than one value per input."""
    return bool(inputs) and not isinstance(inputs[0], np.ndarray | Tensor | list | tuple) and np.isscalar(inputs[0])
