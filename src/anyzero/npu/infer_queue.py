"""Several inferences in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any

from anyzero.npu.compiled_model import CompiledModel
from anyzero.npu.infer_request import InferRequest

__all__ = ["AsyncInferQueue"]


class AsyncInferQueue:
    """A pool of `jobs` requests of one model; `start_async` uses an idle one, and waits if none is.

    Callbacks get the request and the user data: ``callback(request, userdata)``.
    """

    def __init__(self, model: CompiledModel, jobs: int = 0) -> None:
        count = jobs or int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
        self._requests = [model.create_infer_request() for _ in range(count)]
        self._callback: Callable[[InferRequest, Any], object] | None = None
        self._changed = Condition()
        self._idle = deque(range(count))
        # Requests in flight without a callback, in submission order.
        self._begun: deque[int] = deque()
        self._watched = 0
        self._failures: deque[BaseException] = deque()
        self.userdata: list[Any] = [None] * count

    def set_callback(self, callback: Callable[[InferRequest, Any], object] | None) -> None:
        """Set ``callback(request, userdata)``, called at the end of each inference started later."""
        self.wait_all()
        self._callback = callback

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Start an inference on an idle request."""
        place = self._take()
        request = self._requests[place]
        self.userdata[place] = userdata
        callback = self._callback
        try:
            if callback is None:
                request.set_callback(None)
                request.start_async(inputs, share_inputs=share_inputs)
                with self._changed:
                    self._begun.append(place)
                    self._changed.notify()
                return
            with self._changed:
                self._watched += 1
            try:
                request.set_callback(lambda _: self._conclude(callback, place))
                request.start_async(inputs, share_inputs=share_inputs)
            except BaseException:
                with self._changed:
                    self._watched -= 1
                raise
        except BaseException:
            self._give_back(place)
            raise

    def _conclude(self, callback: Callable[[InferRequest, Any], object], place: int) -> None:
        """The end of an inference with a callback, on the watcher's thread."""
        request = self._requests[place]
        try:
            if request._failure is not None:  # noqa: SLF001 (a queue and its requests are friends)
                raise request._failure  # noqa: SLF001
            callback(request, self.userdata[place])
        except BaseException as error:
            self._failures.append(error)
        with self._changed:
            self._watched -= 1
            self._idle.append(place)
            self._changed.notify_all()

    def _take(self) -> int:
        with self._changed:
            while not self._idle and not self._begun:
                self._changed.wait()
            if self._idle:
                return self._idle.popleft()
            # Without callbacks completion is not reported, so wait for the oldest request.
            place = self._begun.popleft()
        self._end(place)
        return place

    def _end(self, place: int) -> None:
        try:
            self._requests[place].wait()
        except Exception as error:
            self._failures.append(error)
        except BaseException:
            # Ctrl-C interrupts the wait, not the inference.
            self._begun.appendleft(place)
            raise

    def _give_back(self, place: int) -> None:
        with self._changed:
            self._idle.append(place)
            self._changed.notify_all()

    def wait_all(self) -> None:
        """Wait for all inferences and their callbacks; raise the first error."""
        while self._begun:
            place = self._begun.popleft()
            self._end(place)
            self._give_back(place)
        with self._changed:
            while self._watched:
                self._changed.wait()
        if self._failures:
            failure = self._failures[0]
            self._failures.clear()
            raise failure

    def is_ready(self) -> bool:
        """True if a request is idle."""
        return bool(self._idle) or any(self._requests[place].ready for place in list(self._begun))

    def get_idle_request_id(self) -> int:
        """The index of an idle request; waits for one."""
        place = self._take()
        with self._changed:
            self._idle.appendleft(place)
        return place

    def __len__(self) -> int:
        return len(self._requests)

    def __getitem__(self, place: int) -> InferRequest:
        return self._requests[place]

    def __iter__(self) -> Iterator[InferRequest]:
        return iter(self._requests)
