"""What queues and immediate lists have in common: commands run one after the other, and can be waited for."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

from anyzero.api import _keep
from anyzero.api._keep import Call, Held
from anyzero.api._waiting import wait as _wait
from anyzero.api.resource import Resource
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api.context import Context


class Timeline(Resource):
    """Runs commands in order, and holds what they use until they are done."""

    # Its users are Recorders too, and only one base may bring attributes of its own.
    __slots__ = ()

    _synchronize: ClassVar[Call]
    _query_mark: ClassVar[Call]
    _destroy_mark: ClassVar[Call]
    _noun: ClassVar[str]

    context: Context
    synchronous: bool
    held: Held
    spare: list[int]
    """Handles of completions that nobody holds any more, to be used again."""

    def synchronize(self, timeout: float | None = None) -> None:
        """Return when everything given so far is done; raise TimeoutError after `timeout` seconds.

        >>> az.device().context().queue().synchronize(timeout=5)
        """
        cls = type(self)
        _wait(cls._synchronize, self.handle, timeout, self._noun)
        if self.held:
            self.release_finished()
        if self.context.failures:
            raise self.context.failures.pop(0)

    def release_finished(self) -> None:
        """Let go of what finished commands used."""
        if self.closed:
            return
        cls = type(self)
        self.held.look(self.handle, cls._synchronize, cls._query_mark, self._place_mark)

    def _place_mark(self, mark: int | None) -> int:
        """Put a mark behind everything so far, the old one if there is one, and return it."""
        raise NotImplementedError

    def is_idle(self) -> bool:
        """Whether everything given so far is done, or the object is closed."""
        cls = type(self)
        return self.closed or cls._synchronize(self.handle, 0) != ZE_RESULT_NOT_READY

    def _release(self, handle: int) -> None:
        cls = type(self)
        _keep.destroy_when_idle(handle, cls._synchronize, cls._destroy, self.held)
        spare = self.spare
        if self.held.mark is not None:
            spare.append(self.held.mark)
        # From now on a completion that goes away finds no place to give its handle to.
        del self.spare
        while spare:
            cls._destroy_mark(spare.pop())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # After an exception nobody may be left to signal what the commands wait for.
            if kind is None and not self.closed:
                self.synchronize()
        finally:
            self.close()
