"""Functions that a loader or a driver may lack."""

from __future__ import annotations

import ctypes
from threading import Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anyzero import ze
from anyzero.api.calls.adapted import Adapted, Adapter
from anyzero.api.calls.substitutes import Loader, Substitutes

REFUSED = ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE


class Function:
    """A function that returns what it is told, and remembers what it was called with."""

    def __init__(self, result: int = 0) -> None:
        self.result = result
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> int:
        self.calls.append(arguments)
        return self.result


def test_a_function_that_is_there_is_called() -> None:
    there, other = Function(5), Function()
    adapted = Adapted("zeThing", there, [lambda: other], "it is not there")
    assert (adapted.__name__, adapted(1, 2), adapted.lacking) == ("zeThing", 5, "")
    assert (there.calls, other.calls) == ([(1, 2)], [])


def test_the_first_that_does_not_refuse_stays() -> None:
    old, gone, new = Function(REFUSED), Function(REFUSED), Function(3)
    adapted = Adapted("zeThing", old, [lambda: None, lambda: gone, lambda: new], "")
    assert [adapted(1), adapted(2), adapted(3)] == [3, 3, 3]
    assert (old.calls, gone.calls, new.calls) == ([(1,)], [(1,)], [(1,), (2,), (3,)])


def test_without_any_it_refuses_and_says_why() -> None:
    adapted = Adapted("zeThing", None, [lambda: None], "nobody has it")
    assert [adapted(), adapted(1)] == [REFUSED, REFUSED]
    assert adapted.lacking == "nobody has it"


def test_what_is_found_later_is_not_lacking() -> None:
    adapted = Adapted("zeThing", None, [lambda: Function(1)], "nobody has it")
    assert (adapted(), adapted.lacking) == (1, "")


def test_threads_that_are_refused_at_the_same_time_all_get_the_next() -> None:
    old, new = Function(REFUSED), Function(7)
    adapted = Adapted("zeThing", old, [lambda: new], "")
    results: list[int] = []
    threads = [Thread(target=lambda: results.append(adapted(0))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [7] * 16


def substitutes(**functions: Function) -> Substitutes:
    return Substitutes(
        cast(
            Loader,
            SimpleNamespace(
                exported=functions.get,
                driver_function=lambda name: None,
                own_driver=lambda handle: handle,
                has_extension=lambda name: False,
            ),
        )
    )


def call(made: Substitutes, name: str, *arguments: Any) -> int:
    found = made.find(name)
    assert found is not None
    return found(*arguments)


def test_a_cooperative_launch_stays_one() -> None:
    plain, cooperative = Function(), Function()
    made = substitutes(zeCommandListAppendLaunchKernel=plain, zeCommandListAppendLaunchCooperativeKernel=cooperative)
    name = "zeCommandListAppendLaunchKernelWithParameters"
    together = ze.ze_command_list_append_launch_kernel_param_cooperative_desc_t(isCooperative=1)
    assert call(made, name, 1, 2, 3, None, 4, 0, None) == 0
    assert call(made, name, 1, 2, 3, ctypes.addressof(together), 4, 0, None) == 0
    assert plain.calls == cooperative.calls == [(1, 2, 3, 4, 0, None)]


def test_parameters_that_nobody_knew_then_are_refused() -> None:
    made = substitutes(zeCommandListAppendLaunchKernel=Function())
    other = ze.ze_event_desc_t()
    name = "zeCommandListAppendLaunchKernelWithParameters"
    assert call(made, name, 1, 2, 3, ctypes.addressof(other), None, 0, None) == REFUSED


def test_what_the_substitute_needs_may_be_missing_too() -> None:
    assert call(substitutes(), "zeImageViewCreateExt", 1, 2, 3, 4, 5) == REFUSED


def test_lists_of_unknown_origin_cannot_be_waited_for() -> None:
    assert call(substitutes(), "zeCommandListHostSynchronize", 1, 0) == REFUSED


@pytest.mark.parametrize("refused", [REFUSED, ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION])
def test_freeing_needs_no_policy(refused: int) -> None:
    with_policy, free = Function(refused), Function()
    released = substitutes(zeMemFreeExt=with_policy, zeMemFree=free).watched("zeMemFreeExt")
    assert released is not None
    assert released(1, "policy", 3) == 0
    assert (with_policy.calls, free.calls) == ([(1, "policy", 3)], [(1, 3)])
    with_policy.result = 0
    assert released(1, "policy", 4) == 0
    assert free.calls == [(1, 3)]


@pytest.mark.parametrize(
    ("exports", "version", "offered"), [(True, 0x1000E, True), (True, 0x1000D, False), (False, 0x10011, False)]
)
def test_a_function_is_offered_where_loader_and_driver_have_it(exports: bool, version: int, offered: bool) -> None:
    name = "zeCommandListAppendLaunchKernelWithArguments"

    def tell(_driver: int, into: Any) -> int:
        into._obj.value = version
        return 0

    library = SimpleNamespace(path=None, zeDriverGetApiVersion=tell, **({name: Function()} if exports else {}))
    adapter = Adapter(cast(Any, library), "the loader", lambda: [1])
    assert adapter.offers(name, 1) is offered
