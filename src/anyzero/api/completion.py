"""Completions: the common interface of everything that can be waited for."""

from __future__ import annotations

from typing import ClassVar

from anyzero import errors

__all__ = ["Completion"]


class Completion:
    """Something to wait for: an event, a fence, or a command of an immediate list.

    >>> with az.device().context().immediate() as lst:
    ...     done = lst.barrier()
    ...     done.wait(timeout=5)
    ...     done.done
    True
    """

    __slots__ = ()

    is_event: ClassVar[bool] = False
    """Whether commands can wait for it too: its `handle` is an event's then."""

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done; raise TimeoutError after `timeout` seconds, None waits forever.

        Ctrl-C interrupts a wait of the main thread. No wait holds the GIL.
        """
        raise NotImplementedError

    @property
    def done(self) -> bool:
        """Whether it is done, without waiting."""
        raise NotImplementedError

    @property
    def kernel_ns(self) -> int:
        """The duration of the command on the device in nanoseconds, if it is measured; raises NotReady before its end.

        >>> with az.device().context().immediate(timing=True) as lst:
        ...     done = lst.barrier()
        ...     done.wait(timeout=5)
        ...     done.kernel_ns >= 0
        True
        """
        raise errors.UnsupportedFeature(
            "the duration was not measured",
            remedy="Request it first: ctx.immediate(timing=True), or signal=ctx.event(timing=True) for one command.",
        )
