"""Transfer of kernels and modules: SPIR-V, with the source of kernels in Python. A worker makes each of them once."""

from __future__ import annotations

import hashlib
import inspect
import linecache
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import cloudpickle

import anyzero as az
from anyzero.cluster.process_context import context
from anyzero.language.function import Function
from anyzero.language.kernel import Kernel

__all__ = ["digest_of", "reduced_function", "reduced_kernel", "reduced_module", "reduced_module_kernel"]

_MOST: Final = 256
"""Number of received kernels and modules that a process caches."""
_lock: Final = threading.RLock()  # a kernel that is restored restores the functions that it calls
_sent: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()
_received: OrderedDict[bytes, Any] = OrderedDict()


def _kept(key: bytes, make: Callable[[], Any]) -> Any:
    """The cached object for a key, or a new one."""
    with _lock:
        found = _received.get(key)
        if found is None:
            found = make()
            _received[key] = found
            if len(_received) > _MOST:
                _received.popitem(last=False)
        else:
            _received.move_to_end(key)
    return found


def digest_of(value: Any) -> bytes:
    """The identity of a kernel, the same in every process."""
    return hashlib.sha256(pickle.dumps(value)).digest()


# Kernels and functions written in Python


def _definition(function: Kernel | Function) -> bytes:
    """A function with the lines of its source, as bytes."""
    source = function.source
    lines = inspect.getblock(source.lines[source.first - 1 :])
    return bytes(cloudpickle.dumps((source.function, source.file, source.first, lines)))


def _function(definition: bytes) -> Any:
    """The plain function, whose source is registered where the front end looks for that of any function."""
    function, file, first, lines = cloudpickle.loads(definition)
    if linecache.getlines(file)[first - 1 : first - 1 + len(lines)] != lines:
        file = f"{file} of the sender, {hashlib.sha256(definition).hexdigest()[:12]}"
        whole = ["\n"] * (first - 1) + lines
        linecache.cache[file] = (sum(map(len, whole)), None, whole, file)
        function.__code__ = function.__code__.replace(co_filename=file)
    return function


def reduced_kernel(kernel: Kernel) -> tuple[Any, ...]:
    """A kernel in Python for pickle: its source, and its SPIR-V where annotations say all types.

    >>> import pickle
    >>> @az.kernel
    ... def double(x: az.ptr[az.f32]):
    ...     x[az.global_id(0)] *= 2
    >>> az.cluster.register()
    >>> other = pickle.loads(pickle.dumps(double))
    >>> other, other is pickle.loads(pickle.dumps(double))
    (<kernel double(x: ptr[f32])>, True)
    """
    with _lock:
        found = _sent.get(kernel)
        if found is None:
            spirv = None if kernel.plain is None else kernel.spirv
            found = _sent[kernel] = (_kernel, (_definition(kernel), kernel.group, kernel.contract, spirv))
    return found


def _kernel(definition: bytes, group: Any, contract: bool, spirv: bytes | None) -> Kernel:
    def make() -> Kernel:
        made = Kernel(_function(definition), group=group, contract=contract)
        if spirv is not None and made.plain is not None:
            made.plain.spirv = spirv
        return made

    made: Kernel = _kept(hashlib.sha256(definition + repr((group, contract)).encode()).digest(), make)
    return made


def reduced_function(function: Function) -> tuple[Any, ...]:
    """The same for a function that kernels call."""
    return _restored_function, (_definition(function),)


def _restored_function(definition: bytes) -> Function:
    made: Function = _kept(hashlib.sha256(b"function" + definition).digest(), lambda: Function(_function(definition)))
    return made


# Modules and their kernels


def reduced_module(module: az.Module) -> tuple[Any, ...]:
    """A module for pickle: its inputs."""
    return _module, (tuple(module.inputs),)


def reduced_module_kernel(kernel: az.Kernel) -> tuple[Any, ...]:
    """A kernel of a module: the module, and its name."""
    return _module_kernel, (tuple(kernel.inputs), kernel.name)


def _module(inputs: tuple[Any, ...]) -> az.Module:
    files, options, constants = inputs
    here = context()

    def make() -> az.Module:
        # One input is a module, several are a program of modules.
        alone = len(files) == 1
        return here.module(
            files[0] if alone else list(files),
            options=options[0] if alone else list(options),
            constants=constants[0] if alone else list(constants),
        )

    made: az.Module = _kept(hashlib.sha256(pickle.dumps((id(here), inputs))).digest(), make)
    return made


def _module_kernel(inputs: tuple[Any, ...], name: str) -> az.Kernel:
    return _module(inputs)[name]
