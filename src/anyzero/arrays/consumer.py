"""Whether the result of the running operator is an operand of another one in the same expression.

`x * 2 + y` is one kernel, so `x * 2` must wait for `+ y`. A value that is bound to a name, returned or passed on must
not wait: its operands may change. The bytecode after the running instruction says which of both it is. Where it says
neither for certain, the value is computed at once, which costs a kernel more and is always right.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

import numpy as np

__all__ = ["METHODS", "goes_on"]

METHODS: Final = frozenset({"sum", "min", "max", "mean", "any", "all", "dot", "astype", "clip"})
"""Methods that take an unfinished expression as it is."""

_PUSH: Final = {
    **dict.fromkeys(("LOAD_FAST", "LOAD_CONST", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "PUSH_NULL"), 1),
    **dict.fromkeys(("LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"), 1),
    **dict.fromkeys(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"), 2),
    **dict.fromkeys(("PRECALL", "KW_NAMES", "RESUME", "NOP", "EXTENDED_ARG", "CACHE"), 0),
}
"""Instructions that only push."""
_PAIRS: Final = ("BINARY_OP", "COMPARE_OP")
_ONE: Final = ("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
_CALLS: Final = ("CALL",)

_plans: Final[dict[int, tuple[CodeType, list[dis.Instruction], dict[int, int], dict[int, bool]]]] = {}


def goes_on(frame: FrameType | None) -> bool:
    """Whether the result of a frame's running instruction is consumed by an operator of ours."""
    if frame is None or sys.implementation.name != "cpython":
        return False
    code = frame.f_code
    found = _plans.get(id(code))
    if found is None or found[0] is not code:
        if len(_plans) >= 256:
            _plans.clear()
        instructions = list(dis.get_instructions(code))
        places = {each.offset: index for index, each in enumerate(instructions)}
        found = _plans[id(code)] = (code, instructions, places, {})
    answer = found[3].get(frame.f_lasti)
    if answer is None:
        at = found[2].get(frame.f_lasti)
        answer = at is not None and _consumed(frame, found[1], at)
        found[3][frame.f_lasti] = answer
    return answer


def _consumed(frame: FrameType, code: list[dis.Instruction], at: int) -> bool:
    running = code[at]
    if running.opname in _CALLS:
        if not _known(frame, code, at):
            return False
    elif running.opname not in (*_PAIRS, *_ONE):
        return False
    above, before = 0, ""
    for index in range(at + 1, len(code)):
        each = code[index]
        name = each.opname
        if each.is_jump_target:
            return False
        if name == "LOAD_GLOBAL":
            above += 2 if _bit(each) else 1
        elif name in _PUSH:
            above += _PUSH[name]
        elif name in ("LOAD_METHOD", "LOAD_ATTR"):
            method = name == "LOAD_METHOD" or (sys.version_info >= (3, 12) and _bit(each))
            if not above:
                return bool(method and each.argval in METHODS)
            above += method
        elif name in _PAIRS:
            if above <= 1:
                return True
            above -= 1
        elif name in _ONE:
            if not above:
                return True
        elif name in ("BINARY_SUBSCR", "BINARY_SLICE", "BUILD_SLICE", "BUILD_TUPLE"):
            taken = {"BINARY_SUBSCR": 2, "BINARY_SLICE": 3}.get(name, each.arg or 0)
            if above < taken:
                return False
            above -= taken - 1
        elif name in _CALLS:
            taken = (each.arg or 0) + 1
            if not _known(frame, code, index):
                return False
            if above < taken:
                return above < (each.arg or 0)
            above -= taken
        elif name == "STORE_SUBSCR":
            return above == 2 and before == "BUILD_SLICE"
        elif name == "STORE_SLICE":
            return above == 3
        else:
            return False
        if name not in ("CACHE", "EXTENDED_ARG", "NOP"):
            before = name
    return False


def _bit(each: dis.Instruction) -> bool:
    """Whether an instruction pushes a second value for a call."""
    return bool((each.arg or 0) & 1)


def _known(frame: FrameType, code: list[dis.Instruction], at: int) -> bool:
    """Whether the function of a call is `abs` or one of numpy's, named as a global or in a module."""
    missing = code[at].arg or 0
    index = at
    while missing > 0 and index > 0:
        index -= 1
        each = code[index]
        effect = _effect(each)
        if effect is None or each.is_jump_target:
            return False
        pops, pushes = effect
        missing += pops - pushes
    if missing or not index:
        return False
    index -= 1
    if code[index].opname == "PUSH_NULL" and index:  # behind the function, from 3.13 on
        index -= 1
    function: Any = None
    each = code[index]
    if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        function = _global(frame, each.argval)
    elif each.opname in ("LOAD_METHOD", "LOAD_ATTR") and index:
        owner = (
            _global(frame, code[index - 1].argval) if code[index - 1].opname in ("LOAD_GLOBAL", "LOAD_NAME") else None
        )
        function = getattr(owner, each.argval, None) if isinstance(owner, ModuleType) else None
    return function is abs or isinstance(function, np.ufunc)


def _effect(each: dis.Instruction) -> tuple[int, int] | None:
    """Numbers of values that an instruction pops and pushes; None for instructions that compute no call arguments."""
    name = each.opname
    if name == "LOAD_GLOBAL":
        return 0, 2 if _bit(each) else 1
    if name in _PUSH:
        return 0, _PUSH[name]
    if name in _PAIRS:
        return 2, 1
    if name in _ONE:
        return 1, 1
    if name == "LOAD_METHOD" or (name == "LOAD_ATTR" and sys.version_info >= (3, 12) and _bit(each)):
        return 1, 2
    if name == "LOAD_ATTR":
        return 1, 1
    if name in _CALLS:
        return (each.arg or 0) + 2, 1
    if name in ("BINARY_SUBSCR", "BINARY_SLICE"):
        return (2, 1) if name == "BINARY_SUBSCR" else (3, 1)
    if name == "BUILD_SLICE":
        return each.arg or 0, 1
    return None


def _global(frame: FrameType, name: str) -> Any:
    space = frame.f_globals
    if name in space:
        return space[name]
    builtins = space.get("__builtins__")
    return builtins.get(name) if isinstance(builtins, dict) else getattr(builtins, name, None)
