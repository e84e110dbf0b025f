"""What all objects with a handle share: they are closed once, by hand, by `with`, or when nobody holds them."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from anyzero import errors

__all__ = ["Resource"]


class Resource:
    """An object of the driver. `handle` is its address there, for calls that this package does not make.

    Closing an object twice is fine; using it afterwards raises ClosedError. What the device still does with it goes
    on to its end, and what was made from it keeps it alive in the driver.

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

    if not TYPE_CHECKING:
        # A closed object has no handle. So an open one costs no test where it is used, which is on the hottest paths.
        def __getattr__(self, name: str) -> Any:
            if name in type(self)._gone_when_closed:  # noqa: SLF001 (its own class's)
                raise errors.ClosedError(f"this {type(self).__name__} is closed")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def closed(self) -> bool:
        """Whether the object was closed."""
        try:
            return not self.handle
        except errors.ClosedError:
            return True

    def close(self) -> None:
        """Give the object back to the driver. Closing a closed object does nothing."""
        try:
            handle = self.handle
            del self.handle
        except (errors.ClosedError, AttributeError):
            return
        self._release(handle)

    def _release(self, handle: int) -> None:
        # Nothing to do about a failure here: the object is gone either way.
        type(self)._destroy(handle)  # noqa: SLF001 (its own class's)

    def __del__(self) -> None:
        try:  # noqa: SIM105 (suppress() costs more than all the rest here)
            self.close()
        except Exception:
            # At interpreter exit anything may be gone already, and the process is about to be.
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, closed>" if self.closed else f"<{type(self).__name__} {self.handle:#x}>"
