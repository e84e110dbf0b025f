"""The base of all objects with a handle: closed once, by `close()`, by `with`, or with the last reference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, ClassVar, Self

from anyzero import errors

__all__ = ["Resource", "mark_closed"]


@cache
def _closed(cls: type[Any]) -> type[Any]:
    """The class of closed objects of a class: the same, but access to released attributes raises a ClosedError."""

    def missing(self: object, name: str) -> Any:
        if name in cls._gone_when_closed:
            raise errors.ClosedError(f"this {cls.__name__} is closed")
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")

    contents = {"__slots__": (), "__getattr__": missing, "__module__": cls.__module__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls,), contents)


def mark_closed(thing: object) -> None:
    """Turn an object into a closed one.

    A closed object has no handle, so an open one costs no test where it is used, which is on the hottest paths. And it
    is of another class: in a class with `__getattr__`, access to all other attributes would take longer.
    """
    kind: Any = type(thing)
    if "__getattr__" not in vars(kind):
        thing.__class__ = _closed(kind)


class Resource:
    """An object of the driver. `handle` is its handle in the C API, for functions that this API lacks.

    Closing an object twice is fine; using it afterwards raises ClosedError. Running commands finish first, and objects
    made from it keep it alive in the driver.

    >>> event = az.device().context().event()
    >>> event.close(); event.close()
    >>> event.signal()
    Traceback (most recent call last):
    anyzero.errors.ClosedError: this Event is closed
    Create a new one; close an object only after its last use.
    """

    __slots__ = ("__weakref__", "handle")

    handle: int
    _destroy: ClassVar[Callable[..., int]]
    _gone_when_closed: ClassVar[tuple[str, ...]] = ("handle",)

    @property
    def closed(self) -> bool:
        """Whether the object was closed."""
        try:
            return not self.handle
        except (errors.ClosedError, AttributeError):
            return True

    def close(self) -> None:
        """Release the object. Closing a closed object does nothing."""
        try:
            handle = self.handle
            mark_closed(self)
            del self.handle
        except (errors.ClosedError, AttributeError):
            return
        self._release(handle)

    def _release(self, handle: int) -> None:
        # A failure here has no remedy: the object is gone either way.
        cls = type(self)
        cls._destroy(handle)

    def __del__(self) -> None:
        try:  # noqa: SIM105 (suppress() costs more than all the rest here)
            self.close()
        except Exception:
            # At interpreter exit, globals may already be gone, and the process is about to end.
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, closed>" if self.closed else f"<{type(self).__name__} {self.handle:#x}>"
