"""Description of a compiled model: inputs, outputs and states."""

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

    `partial_shape` has None for dynamic dimensions, and `upper_bounds` their limits; `batch` runs of the graph make up
    the first dimension of both.
    """

    index: int
    argument: az.GraphArgument
    extent: az.GraphArgument | None
    """The argument with the actual shape, if dynamic."""
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
        """The name of its layer."""
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
        """True if its shape is dynamic."""
        return self.argument.dynamic

    @property
    def partial_shape(self) -> tuple[int | None, ...]:
        """Its shape, with None for dynamic dimensions."""
        return self._batched(self.argument.shape)

    @property
    def upper_bounds(self) -> tuple[int, ...]:
        """Its maximum shape."""
        return self._batched(self.argument.bounds)

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; raises InvalidArgument if it is dynamic."""
        if self.dynamic:
            raise errors.InvalidArgument(
                f"the shape of {self.any_name} is dynamic: {self.partial_shape}, at most {self.upper_bounds}",
                remedy="Read partial_shape, or the shape of a request's tensor.",
            )
        return self.upper_bounds

    def get_shape(self) -> tuple[int, ...]:
        """Its shape; raises InvalidArgument if it is dynamic."""
        return self.shape

    @property
    def nbytes(self) -> int:
        """Maximum size of its tensor in bytes."""
        return self.argument.nbytes * self.batch

    def admits(self, shape: tuple[int, ...]) -> bool:
        """True if a tensor may have that shape."""
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
    """A state of a model: two arguments on the same memory."""

    name: str
    read: az.GraphArgument
    assign: az.GraphArgument


@dataclass(frozen=True, slots=True)
class NetworkDescription:
    """The ports and states of a compiled model, for requests and pipelines."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[State, ...]
    batch: int

    @classmethod
    def of(cls, graph: az.Graph, name: str, batch: int) -> NetworkDescription:
        """The description of a graph that runs `batch` times per inference."""
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
        """Raise InvalidArgument if several runs of the graph cannot form one inference."""
        if self.batch == 1:
            return
        if self.states:
            raise errors.InvalidArgument(
                "a stateful model cannot run a batch of several items", remedy="Run the items one after the other."
            )
        for port in (*self.inputs, *self.outputs):
            if port.dynamic or not port.argument.bounds or port.argument.bounds[0] != 1 or port.argument.packed:
                raise errors.InvalidArgument(
                    f"{port.any_name} has shape {port.argument.bounds}: a batch of {self.batch} items is made of "
                    "runs whose first dimension is 1",
                    remedy="Do not set NPU_BATCH and compile the model with its own batch, or set "
                    "NPU_BATCH_MODE=PLUGIN, which splits it.",
                )


def _states_of(graph: az.Graph) -> tuple[State, ...]:
    states = [each for each in graph.arguments if each.role == "state"]
    assigned = {each.of: each for each in states if each.direction == "output"}
    return tuple(
        State(each.of, each, assigned[each.of]) for each in states if each.direction == "input" and each.of in assigned
    )
