"""A shared library that exports the API: the driver of this package, or a system's loader."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from anyzero.ze import source_lines
from anyzero.ze.functions import FUNCTIONS

# Typed by each function itself: a type for each signature takes longer to make than all the rest of a lookup.
_Function: Any = ctypes.CFUNCTYPE(None)


class Library:
    """Functions of the API as attributes, looked up and typed on first use.

    Pointers take `byref(...)`, an array, an address or None. Every call releases the GIL.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._cdll = ctypes.CDLL(self.path)
        # Our own driver asks a Python for machine code. This one has what that takes.
        run_planner = getattr(self._cdll, "zexRunPlannerInThisProcess", None)
        if run_planner is not None:
            run_planner(os.fsencode(sys.executable or ""))
        self._traced = getattr(self._cdll, "zexTracedFunction", None)
        if self._traced is not None:
            self._traced.restype = ctypes.c_void_p
        if os.environ.get("ANYZERO_CHECK"):
            source_lines.tell(self._cdll)
        if self._traced is not None and os.environ.get("ANYZERO_TRACE"):
            source_lines.record(self._cdll, self.path)

    def __getattr__(self, name: str) -> Any:
        if name not in FUNCTIONS:
            raise AttributeError(f"{name} is not a function of the core API")
        result, parameters, _ = FUNCTIONS[name]
        function: Any
        # Our own driver has every function twice; the second one can record its calls (`anyzero.trace`).
        if self._traced is not None and (address := self._traced(name.encode())):
            function = _Function(address)
            function.__name__ = name
        else:
            try:
                function = self._cdll[name]
            except AttributeError:
                raise AttributeError(f"{self.path} does not export {name}") from None
        function.restype, function.argtypes = result, parameters
        setattr(self, name, function)
        return function

    def __repr__(self) -> str:
        return f"Library({self.path!r})"
