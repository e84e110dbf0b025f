"""The execution of a graph in a recorded list, with arguments that can be changed after the recording."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors, ze
from anyzero.api.library import check, function

if TYPE_CHECKING:
    from anyzero.api.command_list import CommandList
    from anyzero.api.graph import Graph
    from anyzero.api.graph_argument import GraphArgument

__all__ = ["GraphCommand"]

_next_id: Final = function("zeCommandListGetNextCommandIdExp")
_update: Final = function("zeCommandListUpdateMutableCommandsExp")
_end: Final = function("zeCommandListClose")


def identify(lst: int) -> int:
    """The identifier of the next appended command, by which its arguments can be changed."""
    desc = ze.ze_mutable_command_id_exp_desc_t(flags=ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS)
    number = ctypes.c_uint64()
    check(_next_id(lst, ctypes.byref(desc), ctypes.byref(number)), _next_id)
    return number.value


class GraphCommand:
    """An execution in a list made with ``mutable=True``; `CommandList.execute_mutable` returns one.

    One thread at a time may change it, and not while a queue runs the list.
    """

    __slots__ = ("_kept", "_list", "_number", "graph")

    def __init__(self, lst: CommandList, graph: Graph, number: int, kept: list[Any]) -> None:
        self._list = lst
        self._number = number
        self._kept = kept
        self.graph = graph

    def set(self, argument: int | str | GraphArgument, value: Any) -> None:
        """Set other memory for an argument, from the next submission on."""
        if self._list.recording:
            raise errors.InvalidArgument(
                "the command list is still being recorded", remedy="Leave its `with` block, or call its end()."
            )
        place, memory = self.graph.bound.memory(argument, value)
        change = ze.ze_mutable_graph_argument_exp_desc_t(
            commandId=self._number, argIndex=place, pArgValue=memory.pointer
        )
        changes = ze.ze_mutable_commands_exp_desc_t(pNext=ctypes.addressof(change))
        check(_update(self._list.handle, ctypes.byref(changes)), _update)
        check(_end(self._list.handle), _end)
        # In a new list: queues hold the old one for the commands submitted before.
        kept = list(self._kept)
        kept[1 + place] = memory.allocation
        lst = self._list
        # In a new list as well: queues that run the commands as they were hold the other.
        old = self._kept
        lst.kept = [(kept, *each[1:]) if isinstance(each, tuple) and each[0] is old else each for each in lst.kept]
        self._kept = kept
