"""Flow graphs of any form as kernels, and a walk through them that is plain to see.

Every node counts a step and adds itself to a trace; some also add to a number in memory, so that it matters who runs
them. Ways back are taken only while there are few steps, so that every walk ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Access, Body, Op
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.targets import cpu
from anyzero.compiler.transform.block_order import number
from anyzero.compiler.transform.dce import dce
from anyzero.compiler.transform.mem2reg import mem2reg
from tests.compiler.loading import load
from tests.compiler.lowering.draft import Draft, text_of_body

Numbers = np.ndarray[Any, Any]

STEPS = 10
ITEMS = 19
_ALL = 0xFFFFFFFF
_PRIVATE = Access(1, 4, space="private")


@dataclass(frozen=True, slots=True)
class Node:
    targets: tuple[int, ...]
    """One or two numbers of nodes; the number behind the last node is the end. Only the first may lead back."""
    condition: str
    """By what the first of two is chosen: `lanes`, each for itself; `all`, by a bit of an argument; `steps`, by how
    many there were.
    """
    counts: bool
    """Does it add to memory?"""


Graph = Sequence[Node]


# The walk


def _mixed(item: int, node: int, steps: int) -> int:
    return (item * (2654435761 + node * 77) + steps * 40503 * (node + 3)) & _ALL


def walk(graph: Graph, item: int, bits: int) -> tuple[int, int]:
    """The trace, and the number in memory."""
    at = steps = trace = counted = 0
    while at < len(graph):
        node = graph[at]
        steps += 1
        trace = (trace * 33 + at + 1) & _ALL
        counted += node.counts << (4 * (at % 8))
        if len(node.targets) == 1:
            at = node.targets[0]
            continue
        taken = {
            "lanes": _mixed(item, at, steps) >> 13 & 1,
            "all": bits >> at & 1,
            "steps": steps < 3 + at,
        }[node.condition]
        if node.targets[0] <= at:
            taken = taken and steps < STEPS
        at = node.targets[0] if taken else node.targets[1]
    return trace, counted & _ALL


# The kernel


def body_of(graph: Graph) -> Body:
    """With arguments: where traces go, where nodes count, and the bits that conditions of `all` ask for."""
    d = Draft()
    out, cells, bits = d.argument("ptr"), d.argument("ptr", 8), d.argument("i32", 16)
    id_, steps, trace = d.id(), d.variable(4), d.variable(4)
    for variable in (steps, trace):
        d.store(variable, [d.const("i32", 0)], _PRIVATE)
    blocks = d.place(len(graph) + 1)
    d.goto(blocks[0])
    for at, node in enumerate(graph):
        d.at(blocks[at])
        step = d.add(d.load(steps, "i32", _PRIVATE)[0], d.const("i32", 1))
        d.store(steps, [step], _PRIVATE)
        longer = d.mul(d.load(trace, "i32", _PRIVATE)[0], d.const("i32", 33))
        d.store(trace, [d.add(longer, d.const("i32", at + 1))], _PRIVATE)
        if node.counts:
            d.count_up(d.element(cells, id_), d.const("i32", 1 << (4 * (at % 8))))
        if len(node.targets) == 1:
            d.goto(blocks[node.targets[0]])
        else:
            d.branch(_condition(d, node, at, step, bits, id_), *(blocks[target] for target in node.targets))
    d.at(blocks[-1])
    d.put(d.element(out, id_), d.load(trace, "i32", _PRIVATE)[0])
    d.body.blocks = d.drafted
    number(d.body)
    return d.body


def _condition(d: Draft, node: Node, at: int, step: Op, bits: Op, id_: Op) -> Op:
    one = d.const("i32", 1)
    if node.condition == "lanes":
        mine = d.mul(d.cast("trunc", id_, "i32"), d.const("i32", 2654435761 + at * 77))
        mixed = d.add(mine, d.mul(step, d.const("i32", 40503 * (at + 3))))
        found = d.icmp("eq", d.and_(d.lshr(mixed, d.const("i32", 13)), one), one)
    elif node.condition == "all":
        found = d.icmp("eq", d.and_(d.lshr(bits, d.const("i32", at)), one), one)
    else:
        found = d.below(step, 3 + at)
    return d.and_(found, d.below(step, STEPS)) if node.targets[0] <= at else found


def run(graph: Graph, lanes: int, bits: int) -> tuple[Numbers, Numbers]:
    """Traces and counts of all work-items, from machine code."""
    body = body_of(graph)
    mem2reg(body)
    dce(body)
    out, cells = np.zeros(ITEMS, np.uint32), np.zeros(ITEMS, np.uint32)
    arguments = np.array([out.ctypes.data, cells.ctypes.data, bits], np.uint64)
    grid = np.array([1, 1, 1, ITEMS, 1, 1, 0, 0, 0, ITEMS, 1, 1, 1], np.uint64)
    scratch = np.zeros(1 << 16, np.uint8)
    worker = np.array([scratch.ctypes.data] * 2 + [scratch.size] * 2 + [0], np.uint64)
    entry = _loaded(body, lanes).entry
    entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
    entry.restype = None
    entry(arguments.ctypes.data, grid.ctypes.data, 0, 1, worker.ctypes.data)
    return out, cells


def _loaded(body: Body, lanes: int) -> ctypes.CDLL:
    choices = Choices(lanes, cpu.target("", ""), Options(gathers=False, cache_bytes=0), flat=True)
    object_ = cpu.compile_text(text_of_body(body, choices), choices.target, 1).object
    return load(object_)


def wrong(graph: Graph, lanes: int, bits: int) -> str | None:
    """Which work-items went another way than they should."""
    traces, counts = run(graph, lanes, bits)
    walked = [walk(graph, item, bits) for item in range(ITEMS)]
    lost = [item for item, found in enumerate(walked) if found != (traces[item], counts[item])]
    return f"work-items {lost}" if lost else None
