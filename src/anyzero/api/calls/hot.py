"""The functions of the driver that programs call most, without the cost of ctypes.

Where ctypes converts every argument by its declared type, these take whole numbers and None alone, in a fifth of the
time. A structure that C passes by value is as many numbers as it has eight bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from anyzero.api.library import LIBRARY_PATH, function
from anyzero.ze.functions import FUNCTIONS

__all__ = ["Address", "hot"]

_Pointer: Final[type] = ctypes.CFUNCTYPE(None).__mro__[1]
_names: Final[list[bytes]] = []


class Address(int):
    """The address of a ctypes object, which it keeps alive."""

    _memory: Any

    def __new__(cls, memory: Any) -> Address:
        """The address of an array or a structure."""
        made = super().__new__(cls, ctypes.addressof(memory))
        made._memory = memory
        return made


def _binder() -> Any:
    bind = ctypes.PyDLL(str(LIBRARY_PATH.with_name("libanyzero_calls.so"))).anyzero_bind
    bind.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_ssize_t
    bind.restype = ctypes.py_object
    return bind


_bind: Final = _binder()


def hot(name: str, words: int | None = None) -> Callable[..., int]:
    """A function with that many integer parameters, by default as many as it has; it releases the GIL.

    >>> from anyzero.api.calls.hot import hot
    >>> hot("zeEventQueryStatus")(None) > 0
    True
    """
    found = function(name)
    if not isinstance(found, _Pointer):
        return found  # the library has no such function, and this says so when it is called
    encoded = name.encode()
    # The function keeps a pointer to its name.
    _names.append(encoded)
    address = ctypes.cast(found, ctypes.c_void_p)  # type: ignore[arg-type]
    made: Callable[..., int] = _bind(address, encoded, len(FUNCTIONS[name][1]) if words is None else words)
    return made
