"""Kernels that count their lanes count as many work-items at each line as the interpreter runs there."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import read
from anyzero.layouts.container import CounterKind
from anyzero.layouts.kernel import WORKER_OFFSETS
from tests.compiler.native import Loaded
from tests.thorough import examples

ITEMS = 37
"""No multiple of a vector."""
FILE = "<counted>"
HEAD = """\
import anyzero as az

@az.kernel
def counted(hits: az.ptr[az.i32], a: az.ptr[az.i32]):
    i = az.global_id(0)
"""

Lanes = dict[tuple[CounterKind, int], int]


class Writer:
    """Random control flow. Each statement adds one to a number of its own line and work-item."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.lines = HEAD.splitlines()
        self.names = 0
        self.statements: list[int] = []
        """Numbers of their lines."""
        self.unrolled: set[int] = set()
        """Lines in loops that the compiler may unroll: iterations that follow each other are one block then."""

    def one(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def block(self, depth: int, indent: str, loops: int) -> None:
        self.statement(indent)
        for _ in range(self.one(0, 1, 2) if depth else 0):
            kind = self.one("if", "if", "else", "for", "while", "leave")
            if kind == "leave":
                if loops:
                    self.lines += [f"{indent}if {self.test()}:", f"{indent}    {self.one('break', 'continue')}"]
                continue
            self.names += 1
            name = f"n{self.names}"
            if kind == "while":
                self.lines += [f"{indent}{name} = 0", f"{indent}while {name} < 4 and {self.test()}:"]
                self.lines += [f"{indent}    {name} += 1"]
            elif kind == "for":
                self.lines += [f"{indent}for {name} in range({self.one('3', '(a[i] & 7)', 'a[0] & 15')}):"]
            else:
                self.lines += [f"{indent}if {self.test()}:"]
            start = len(self.lines)
            self.block(depth - 1, f"{indent}    ", loops + (kind in ("for", "while")))
            if "range(3)" in self.lines[start - 1]:
                self.unrolled |= set(range(start, len(self.lines) + 1))
            if kind == "else":
                self.lines += [f"{indent}else:"]
                self.block(depth - 1, f"{indent}    ", loops)
        self.statement(indent)

    def test(self) -> str:
        return self.one("(a[i] & 1 == 0)", "(a[i] % 3 == 0)", "(i < 30)", "(a[i] > 100)", "(a[0] > 3)", "(i == 5)")

    def statement(self, indent: str) -> None:
        self.lines.append(f"{indent}hits[{len(self.statements) * ITEMS} + i] += 1")
        self.statements.append(len(self.lines))


@st.composite
def kernels(draw: Callable[[Any], Any]) -> Writer:
    made = Writer(draw)
    made.block(3, "    ", 0)
    return made


def built(text: str, name: str = "counted") -> Any:
    linecache.cache[FILE] = len(text), None, text.splitlines(keepends=True), FILE
    scope: dict[str, Any] = {}
    exec(compile(text, FILE, "exec"), scope)
    return scope[name]


def counts(kernel: CompiledKernel, run: Loaded) -> tuple[Lanes, Lanes]:
    """Executions and active lanes, by kind and line."""
    executions: Counter[tuple[CounterKind, int]] = Counter()
    lanes: Counter[tuple[CounterKind, int]] = Counter()
    for kind, line, number in {
        (CounterKind(each.kind), kernel.lines.places[each.place - 1].line if each.place else 0, each.counter)
        for each in kernel.counters
    }:
        executions[kind, line] += int(run.counters[number][0])
        lanes[kind, line] += int(run.counters[number][1])
    return executions, lanes


@pytest.mark.timeout(600)
@settings(deadline=None, derandomize=True, max_examples=examples(12, 150), suppress_health_check=list(HealthCheck))
@given(kernels(), st.sampled_from([1, 8, 16, None]), st.sampled_from([1, 2]), st.booleans())
def test_given_any_branches_then_lanes_are_those_of_the_interpreter(
    written: Writer, lanes: int | None, level: int, quick: bool
) -> None:
    made = built("\n".join(written.lines) + "\n")
    module = read(made.spirv)
    options = Options(lanes=lanes, level=level, quick=quick, count_lanes=True)
    kernel = compile_kernel(module, "counted", options)
    run = Loaded(kernel)
    a = np.random.default_rng(3).integers(0, 200, ITEMS).astype(np.int32)
    rows = len(written.statements)
    compiled, expected = (np.zeros((rows, ITEMS), np.int32) for _ in range(2))
    run([compiled, a], (ITEMS,), (ITEMS,))
    reference.run(module, "counted", [expected, a], (ITEMS,), (ITEMS,))
    assert (compiled == expected).all()
    executions, found = counts(kernel, run)
    for line, items in zip(written.statements, expected.sum(axis=1).tolist(), strict=True):
        if line not in written.unrolled:
            assert found[CounterKind.BLOCK, line] == items, written.lines[line - 1]
        # A load and a store by each work-item.
        accesses = [kind for kind in CounterKind if kind is not CounterKind.BLOCK]
        assert sum(found.get((kind, line), 0) for kind in accesses) == 2 * items
        assert executions[CounterKind.BLOCK, line] * kernel.lanes >= found[CounterKind.BLOCK, line]


@az.kernel
def mixed(out: az.ptr[az.i32], a: az.ptr[az.i32], at: az.ptr[az.i32]) -> None:
    i = az.global_id(0)
    plain = a[i]  # contiguous
    same = a[3]  # uniform
    far = a[at[i]]  # gather
    out[at[i]] = plain + same + far  # scatter


@pytest.mark.parametrize("gathers", [None, False])
def test_accesses_are_counted_by_kind(gathers: bool | None) -> None:
    """Whether the processor has an instruction for it or not."""
    kernel = compile_kernel(read(mixed.spirv), "mixed", Options(lanes=8, gathers=gathers, count_lanes=True))
    run = Loaded(kernel)
    a, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    run([out, a, a[::-1].copy()], (16,), (16,))
    executions, _ = counts(kernel, run)
    kinds: Counter[CounterKind] = Counter()
    for (kind, _line), number in executions.items():
        kinds[kind] += number
    assert (kinds[CounterKind.GATHER], kinds[CounterKind.SCATTER], kinds[CounterKind.UNIFORM]) == (2, 2, 2)
    assert kinds[CounterKind.CONTIGUOUS] >= 4


def test_nothing_is_counted_unless_asked_for() -> None:
    module, places = read(mixed.spirv), f"ptr %worker, i64 {WORKER_OFFSETS['counters']}"
    assert compile_kernel(module, "mixed", Options(lanes=8)).counters == ()
    assert places not in form(module, "mixed", Options(lanes=8), "ir")
    assert places in form(module, "mixed", Options(lanes=8, count_lanes=True), "ir")
