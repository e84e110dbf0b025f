"""Results of an inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt

from anyzero.npu.network_description import Port

__all__ = ["InferResults"]


class InferResults(Mapping[Any, "npt.NDArray[Any]"]):
    """The outputs of an inference: a mapping by port, by index and by name."""

    __slots__ = ("_arrays", "_ports")

    def __init__(self, ports: tuple[Port, ...], arrays: tuple[npt.NDArray[Any], ...]) -> None:
        self._ports = ports
        self._arrays = arrays

    def __getitem__(self, key: Port | int | str) -> npt.NDArray[Any]:
        if isinstance(key, Port):
            return self._arrays[self._ports.index(key)]
        if isinstance(key, int):
            if not 0 <= key < len(self._arrays):
                raise KeyError(key)
            return self._arrays[key]
        for port, array in zip(self._ports, self._arrays, strict=True):
            if key in port.names or key in (port.argument.name, port.friendly_name):
                return array
        raise KeyError(key)

    def __iter__(self) -> Iterator[Port]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def names(self) -> tuple[set[str], ...]:
        """The names of each output."""
        return tuple(port.names for port in self._ports)

    def to_tuple(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays, in order."""
        return self._arrays

    def to_dict(self) -> dict[Port, npt.NDArray[Any]]:
        """The arrays by their ports."""
        return dict(zip(self._ports, self._arrays, strict=True))

    def __repr__(self) -> str:
        return repr({port.any_name: array for port, array in zip(self._ports, self._arrays, strict=True)})
