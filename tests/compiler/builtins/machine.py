"""Routines as machine code on this machine: called on whole arrays, and looked at as object files."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np

from anyzero.compiler.builtins.instructions import TABLE
from anyzero.compiler.builtins.library import names, routine
from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.llvm import Type
from tests.compiler.loading import load

Array = np.ndarray
DTYPES = {
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


def closure(first: Routine) -> list[Routine]:
    """The routine and all that it calls."""
    found: dict[str, Routine] = {}
    waiting = [first]
    while waiting:
        each = waiting.pop()
        if each.symbol not in found:
            found[each.symbol] = each
            waiting += each.needs
    return list(found.values())


def loop(called: Routine, name: str) -> str:
    """A function that runs the routine over arrays: pointers to the operands, pointers to the results, a count."""
    pointers = [*(f"ptr noalias %p{at}" for at in range(len(called.parameters)))]
    pointers += [*(f"ptr noalias %q{at}" for at in range(len(called.results)))]
    # Without the attribute, a loop that stores zeros becomes a call of memset.
    head = f'define void @{name}({", ".join(pointers)}, i64 %count) "no-builtins" {{'
    lines = [head, "entry:", "  br label %loop", "loop:"]
    lines.append("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")

    def place(name: str, type_: Type) -> None:
        lines.append(f"  %{name}.at = getelementptr {type_.element}, ptr %{name}, i64 %i")

    arguments = []
    for at, type_ in enumerate(called.parameters):
        place(f"p{at}", type_)
        lines.append(f"  %x{at} = load {type_}, ptr %p{at}.at, align {type_.bits // 8}")
        arguments.append(f"{type_} %x{at}")
    several = len(called.results) > 1
    shape = f"{{ {', '.join(map(str, called.results))} }}" if several else str(called.results[0])
    lines.append(f"  %r = call {shape} @{called.symbol}({', '.join(arguments)})")
    for at, type_ in enumerate(called.results):
        place(f"q{at}", type_)
        if several:
            lines.append(f"  %r{at} = extractvalue {shape} %r, {at}")
        lines.append(f"  store {type_} %r{f'{at}' if several else ''}, ptr %q{at}.at, align {type_.bits // 8}")
    lanes = max(called.parameters[0].lanes, 1)
    lines += [f"  %next = add i64 %i, {lanes}", "  %more = icmp ult i64 %next, %count"]
    lines += ["  br i1 %more, label %loop, label %done", "done:", "  ret void", "}"]
    return "\n".join(lines)


def source(called: Sequence[Routine]) -> str:
    """A module with a loop for each; `run.0`, `run.1` …"""
    every = {each.symbol: each for first in called for each in closure(first)}
    intrinsics = {name: text for each in every.values() for name, text in each.intrinsics.items()}
    loops = [loop(each, f"run.{at}") for at, each in enumerate(called)]
    attributes = "attributes #0 = { nounwind }"
    return "\n".join([*intrinsics.values(), *(each.text for each in every.values()), *loops, attributes])


@cache
def target(cpu: str = "") -> llvm.TargetMachine:
    """The machine that the tests run on, or a lesser one."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = "" if cpu else llvm.get_host_cpu_features().flatten()
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    return triple.create_target_machine(
        cpu=cpu or llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small"
    )


def optimised(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


FMA = ctypes.CDLL(ctypes.util.find_library("m")).fma


class Compiled(NamedTuple):
    """A routine to be called on numpy arrays of one length."""

    routine: Routine
    run: Callable[..., None]

    def __call__(self, *operands: Array) -> tuple[Array, ...]:
        lanes = max(self.routine.parameters[0].lanes, 1)
        count = len(operands[0])
        padded = -(-count // lanes) * lanes
        given = []
        for operand, type_ in zip(operands, self.routine.parameters, strict=True):
            assert operand.dtype.itemsize == np.dtype(DTYPES[type_.element]).itemsize
            given.append(np.ascontiguousarray(np.resize(operand, padded)))
        results = [np.zeros(padded, DTYPES[type_.element]) for type_ in self.routine.results]
        self.run(*(array.ctypes.data for array in [*given, *results]), padded)
        return tuple(array[:count] for array in results)


class Library:
    """Every routine for an element and a number of lanes, as one object file."""

    def __init__(self, element: str, lanes: int, cpu: str = "", fused: bool = True) -> None:
        known = [
            (name, count) for name in sorted(names()) if element in TABLE[name].elements for count in counts_of(name)
        ]
        routines = [routine(name, element, lanes, count, fused=fused) for name, count in known]
        machine = target(cpu)
        self.object = machine.emit_object(optimised(source(routines), machine))
        # As the engine offers it to processors that have no instruction for it.
        loaded = load(self.object, {} if fused else {"fma": ctypes.cast(FMA, ctypes.c_void_p).value or 0})
        self.routines = {}
        for at, (key, called) in enumerate(zip(known, routines, strict=True)):
            count = len(called.parameters) + len(called.results)
            run = loaded[f"run.{at}"]
            run.argtypes, run.restype = [*[ctypes.c_void_p] * count, ctypes.c_int64], None
            self.routines[key] = Compiled(called, run)


def counts_of(name: str) -> tuple[int, ...]:
    """The numbers of components that make a difference."""
    if name == "cross":
        return 3, 4
    if name == "select":
        return 1, 2
    return (2, 3, 4) if TABLE[name].counted else (1,)


_libraries = cache(Library)


def library(element: str, lanes: int | None = None, cpu: str = "") -> Library:
    """As many lanes as fill a register of 512 bits unless told otherwise. One library, however it is asked for."""
    return _libraries(element, 512 // Type(element).bits if lanes is None else lanes, cpu)


def compiled(name: str, element: str, lanes: int | None = None, count: int = 1) -> Compiled:
    return library(element, lanes).routines[name, count]


@cache
def _unfused(element: str) -> Library:
    return Library(element, 128 // Type(element).bits, "x86-64-v2", fused=False)


def unfused(name: str, element: str) -> Compiled:
    """For processors without fused multiply-adds."""
    return _unfused(element).routines[name, 1]


@cache
def with_estimates(name: str, element: str, lanes: int) -> Compiled:
    """One routine that begins with a guess of AVX-512."""
    called = routine(name, element, lanes, estimates=True)
    machine = target()
    run = load(machine.emit_object(optimised(source([called]), machine)))["run.0"]
    run.argtypes = [*[ctypes.c_void_p] * (len(called.parameters) + len(called.results)), ctypes.c_int64]
    run.restype = None
    return Compiled(called, run)


def undefined(object_: bytes) -> list[str]:
    """The symbols that an ELF file takes from elsewhere."""
    (headers,) = struct.unpack_from("<Q", object_, 0x28)
    size, count = struct.unpack_from("<HH", object_, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", object_, headers + at * size) for at in range(count)]
    found = []
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != 2:
            continue
        names = sections[link][4]
        for at in range(offset + entry, offset + length, entry):
            name, _, _, section = struct.unpack_from("<IBBH", object_, at)
            if section == 0:
                end = object_.index(b"\0", names + name)
                found.append(object_[names + name : end].decode())
    return found
