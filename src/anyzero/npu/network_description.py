"""A model as the plugin sees it once it is compiled: what it takes, what it gives, and what it keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyzero as az
from anyzero import errors
from anyzero.npu.element_type import ElementType

__all__ = ["NetworkDescription", "Port", "State"]


@dataclass(frozen=True, slots=True, eq=False)
class Port:
    """An input or an output of a model.

    `partial_shape` has None where the shape varies, and `upper_bounds` how far; `batch` runs of the graph make up the
    first side of both.
    """

    index: int
    argument: az.GraphArgument
    extent: az.GraphArgument | None
    """The argument that holds the actual shape, where it varies."""
    batch: int

    @property
    def names(self) -> set[str]:
        """The names of its tensor."""
        return set(self.argument.tensor_names) or {self.argument.name}

    def get_names(self) -> set[str]:
        """The names of its tensor."""
        return self.names

    @property
    def any_name(self) -> str:
        """One of its names."""
        return self.argument.tensor_names[0] if self.argument.tensor_names else self.argument.name

    def get_any_name(self) -> str:
        """One of its names."""
        return self.any_name

    @property
    def friendly_name(self) -> str:
        """The name of the layer behind it."""
        return self.argument.friendly_name or self.argument.name

    @property
    def element_type(self) -> ElementType:
        """The type of its elements."""
        return ElementType(self.argument.precision, self.argument.dtype, self.argument.bits)

    def get_element_type(self) -> ElementType:
        """The type of its elements."""
        return self.element_type

    @property
    def dynamic(self) -> bool:
        """Whether its shape varies."""
        return self.argument.dynamic

    @property
    def partial_shape(self) -> tuple[int | None, ...]:
        """Its shape, with None where that varies."""
        return self._batched(self.argument.shape)

    @property
    def upper_bounds(self) -> tuple[int, ...]:
        """The largest shape that it takes."""
        return self._batched(self.argument.bounds)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; raises InvalidArgument where that varies."""
        if self.dynamic:
            raise errors.InvalidArgument(
                f"the shape of {self.any_name} varies: {self.partial_shape}, at most {self.upper_bounds}",
                remedy="Read partial_shape, or the shape of a request's tensor.",
            )
        return self.upper_bounds

    def get_shape(self) -> tuple[int, ...]:
        """Its shape; raises InvalidArgument where that varies."""
        return self.shape

    @property
    def nbytes(self) -> int:
        """The memory that its tensor takes, at most."""
        return self.argument.nbytes * self.batch

    def admits(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor may have that shape."""
        wanted, bounds = self.partial_shape, self.upper_bounds
        return len(shape) == len(wanted) and all(
            side == exact if exact is not None else 0 <= side <= most
            for side, exact, most in zip(shape, wanted, bounds, strict=True)
        )

    def _batched(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return shape if self.batch == 1 else (self.batch, *shape[1:])

    def __repr__(self) -> str:
        sides = ",".join(
            f"..{most}" if side is None else str(side)
            for side, most in zip(self.partial_shape, self.upper_bounds, strict=True)
        )
        names = ", ".join(self.argument.tensor_names or [self.argument.name])
        return f"<Port: names[{names}] shape[{sides}] type: {self.argument.precision}>"


@dataclass(frozen=True, slots=True)
class State:
    """What a model keeps between two inferences: two arguments on the same memory."""

    name: str
    read: az.GraphArgument
    assign: az.GraphArgument


@dataclass(frozen=True, slots=True)
class NetworkDescription:
    """The result of compiling a model; requests and pipelines are made by it."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[State, ...]
    batch: int

    @classmethod
    def of(cls, graph: az.Graph, name: str, batch: int) -> NetworkDescription:
        """The description of a graph that is run `batch` times for one inference."""
        extents = {(each.direction, each.of): each for each in graph.arguments if each.role == "shape"}

        def ports(arguments: Sequence[az.GraphArgument]) -> tuple[Port, ...]:
            return tuple(
                Port(place, each, extents.get((each.direction, each.name)), batch)
                for place, each in enumerate(arguments)
            )

        made = cls(name, ports(graph.inputs), ports(graph.outputs), _states_of(graph), batch)
        made.check()
        return made

    def check(self) -> None:
        """Raise InvalidArgument where several runs of the graph do not make up one inference."""
        if self.batch == 1:
            return
        if self.states:
            raise errors.InvalidArgument(
                "a model that keeps states takes no batch of several items", remedy="Run the items one after the other."
            )
        for port in (*self.inputs, *self.outputs):
            if port.dynamic or not port.argument.bounds or port.argument.bounds[0] != 1 or port.argument.packed:
                raise errors.InvalidArgument(
                    f"{port.any_name} has shape {port.argument.bounds}: a batch of {self.batch} items is made of "
                    "runs whose first side is 1",
                    remedy="Leave NPU_BATCH alone and let the model itself have the batch, or set "
                    "NPU_BATCH_MODE=PLUGIN, which takes it apart.",
                )


def _states_of(graph: az.Graph) -> tuple[State, ...]:
    states = [each for each in graph.arguments if each.role == "state"]
    assigned = {each.of: each for each in states if each.direction == "output"}
    return tuple(
        State(each.of, each, assigned[each.of]) for each in states if each.direction == "input" and each.of in assigned
    )
