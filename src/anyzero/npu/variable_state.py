"""The states of a request: what its model remembers from one inference to the next."""

from __future__ import annotations

from typing import Any

from anyzero.npu.tensor import Tensor, as_array, put

__all__ = ["VariableState"]


class VariableState:
    """One of them. It belongs to its request, and is zero in the beginning."""

    __slots__ = ("_tensor", "name")

    def __init__(self, name: str, tensor: Tensor) -> None:
        self.name = name
        self._tensor = tensor

    @property
    def state(self) -> Tensor:
        """Its value: a view of the memory that the device works on."""
        return self._tensor

    @state.setter
    def state(self, value: Any) -> None:
        put(self._tensor.data, as_array(value), f"the state {self.name}")

    def reset(self) -> None:
        """Forget everything."""
        self._tensor.data.fill(0)

    def __repr__(self) -> str:
        return f"<VariableState {self.name}: {self._tensor!r}>"
