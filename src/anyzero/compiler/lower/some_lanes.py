"""Functions that load or store some lanes of a vector of bytes or shorts, where the processor has no masks for them.

LLVM writes a branch for each lane of each such access. Active lanes are neighbours at the edges of a row: they are
copied from a vector in memory by a few moves, which may overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.llvm import Type

__all__ = ["MOST", "load_some", "store_some"]

MOST = 128
"""Lanes of a mask whose bits are one number."""
_PIECE = 32
"""Lanes whose bits LLVM takes from a register at once."""
_MOVES = (16, 8, 4, 2, 1)
"""Bytes of a move."""


@cache
def store_some(type_: Type) -> Routine:
    """Parameters: the address, the value, and a vector of bytes whose signs are the mask."""
    size, mask, bits = type_.bits // 8, Type("i8", type_.lanes), _bits(type_.lanes)
    symbol = f"az.store.some.{type_.mangled}"
    text = f"""define internal void @{symbol}(ptr %to, {type_} %value, {mask} %mask) noinline #0 {{
entry:
  %room = alloca {type_}
  store {type_} %value, ptr %room
{_taken(type_.lanes)}
  %none = icmp eq {bits} %bits, 0
  br i1 %none, label %done, label %some
some:
  %first = call {bits} @llvm.cttz.{bits}({bits} %bits, i1 true)
  %run = lshr {bits} %bits, %first
  %behind = add {bits} %run, 1
  %others = and {bits} %run, %behind
  %one.run = icmp eq {bits} %others, 0
  br i1 %one.run, label %copy, label %each
each:
  %left = phi {bits} [ %bits, %some ], [ %fewer, %each ]
{_element(type_, "%room", "%to")}
  br i1 %more, label %each, label %done
copy:
  %count = call {bits} @llvm.ctpop.{bits}({bits} %run)
  %count.64 = {_to_64(bits, "%count")}
  %first.64 = {_to_64(bits, "%first")}
  %length = mul i64 %count.64, {size}
  %begin = mul i64 %first.64, {size}
  %source = getelementptr i8, ptr %room, i64 %begin
  %target = getelementptr i8, ptr %to, i64 %begin
  br label %from16
{chr(10).join(_copies())}
done:
  ret void
}}
"""
    return Routine(symbol, (Type("ptr"), type_, mask), (), text, (), _declared(bits))


@cache
def load_some(type_: Type) -> Routine:
    """Parameters: the address, and a vector of bytes whose signs are the mask. Other lanes are zero."""
    mask, bits = Type("i8", type_.lanes), _bits(type_.lanes)
    symbol = f"az.load.some.{type_.mangled}"
    text = f"""define internal {type_} @{symbol}(ptr %from, {mask} %mask) noinline cold #0 {{
entry:
  %room = alloca {type_}
  store {type_} zeroinitializer, ptr %room
{_taken(type_.lanes)}
  %none = icmp eq {bits} %bits, 0
  br i1 %none, label %done, label %each
each:
  %left = phi {bits} [ %bits, %entry ], [ %fewer, %each ]
{_element(type_, "%from", "%room")}
  br i1 %more, label %each, label %done
done:
  %value = load {type_}, ptr %room
  ret {type_} %value
}}
"""
    return Routine(symbol, (Type("ptr"), mask), (type_,), text, (), _declared(bits))


def _bits(lanes: int) -> str:
    return f"i{next(width for width in (32, 64, MOST) if lanes <= width)}"


def _declared(bits: str) -> dict[str, str]:
    cttz, ctpop = f"llvm.cttz.{bits}", f"llvm.ctpop.{bits}"
    return {
        cttz: f"declare {bits} @{cttz}({bits}, i1)",
        ctpop: f"declare {bits} @{ctpop}({bits})",
        "llvm.umin.i64": "declare i64 @llvm.umin.i64(i64, i64)",
    }


def _to_64(bits: str, value: str) -> str:
    cast = {"i32": "zext", "i64": "bitcast"}.get(bits, "trunc")
    return f"{cast} {bits} {value} to i64"


def _taken(lanes: int) -> str:
    """The mask's bits, register by register."""
    bits = _bits(lanes)
    lines = [f"  %here = icmp slt <{lanes} x i8> %mask, zeroinitializer"]
    known = "0"
    for start in range(0, lanes, _PIECE):
        many = min(_PIECE, lanes - start)
        places = ", ".join(f"i32 {start + lane}" for lane in range(many))
        last = start + _PIECE >= lanes
        lines += [
            f"  %piece.{start} = shufflevector <{lanes} x i1> %here, <{lanes} x i1> poison, <{many} x i32> <{places}>",
            f"  %few.{start} = bitcast <{many} x i1> %piece.{start} to i{many}",
            f"  %wide.{start} = {'bitcast' if bits == f'i{many}' else 'zext'} i{many} %few.{start} to {bits}",
            f"  %moved.{start} = shl {bits} %wide.{start}, {start}",
            f"  %{'bits' if last else f'bits.{start}'} = or {bits} {known}, %moved.{start}",
        ]
        known = f"%bits.{start}"
    return "\n".join(lines)


def _element(type_: Type, source: str, target: str) -> str:
    """Copies the lowest lane of `%left`."""
    bits, element = _bits(type_.lanes), type_.element
    return f"""  %lane = call {bits} @llvm.cttz.{bits}({bits} %left, i1 true)
  %lane.64 = {_to_64(bits, "%lane")}
  %lane.source = getelementptr {element}, ptr {source}, i64 %lane.64
  %lane.target = getelementptr {element}, ptr {target}, i64 %lane.64
  %lane.value = load {element}, ptr %lane.source, align 1
  store {element} %lane.value, ptr %lane.target, align 1
  %without = sub {bits} %left, 1
  %fewer = and {bits} %left, %without
  %more = icmp ne {bits} %fewer, 0"""


def _copies() -> Iterator[str]:
    """Copies `%length` bytes: by moves of sixteen bytes, or by two smaller ones, of which the last may overlap."""
    for step, below in zip(_MOVES, (*_MOVES[1:], None), strict=True):
        type_ = "<16 x i8>" if step == _MOVES[0] else f"i{8 * step}"
        yield f"from{step}:"
        if below is not None:
            yield f"  %enough.{step} = icmp uge i64 %length, {step}"
            yield f"  br i1 %enough.{step}, label %by{step}, label %from{below}"
            yield f"by{step}:"
        yield f"  %last.{step} = sub i64 %length, {step}"
        if step == _MOVES[0]:
            yield "  br label %long"
            yield "long:"
            yield f"  %at = phi i64 [ 0, %by{step} ], [ %next, %long ]"
            yield "  %place = call i64 @llvm.umin.i64(i64 %at, i64 %last.16)"
            yield from _move(type_, "long", "%place")
            yield f"  %next = add i64 %at, {step}"
            yield "  %further = icmp ult i64 %next, %length"
            yield "  br i1 %further, label %long, label %done"
        else:
            yield from _move(type_, f"low.{step}", "0")
            if below is not None:
                yield from _move(type_, f"high.{step}", f"%last.{step}")
            yield "  br label %done"


def _move(type_: str, name: str, place: str) -> Iterator[str]:
    yield f"  %{name}.source = getelementptr i8, ptr %source, i64 {place}"
    yield f"  %{name}.target = getelementptr i8, ptr %target, i64 {place}"
    yield f"  %{name}.value = load {type_}, ptr %{name}.source, align 1"
    yield f"  store {type_} %{name}.value, ptr %{name}.target, align 1"
