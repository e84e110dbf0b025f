"""The states of a request, preserved between inferences."""

from __future__ import annotations

from typing import Any

from anyzero.npu.tensor import Tensor, as_array, put

__all__ = ["VariableState"]


class VariableState:
    """A state. It belongs to its request, and is initially zero."""

    __slots__ = ("_tensor", "name")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name = name
        self._tensor = tensor

    @property
    def state(self) -> Tensor:
        """Its value: a view of the device's memory."""
        return self._tensor

    @state.setter
    def state(self, value: Any) -> None:
        put(self._tensor.data, as_array(value), f"the state {self.name}")

    def reset(self) -> None:
        """Reset to zero."""
        self._tensor.data.fill(0)

    def __repr__(self) -> str:
        return f"<VariableState {self.name}: {self._tensor!r}>"
