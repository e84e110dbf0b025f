"""Sums, products and quotients with directed rounding.

The processor's rounding mode is changed for a single operation, because all other code, above all OpenCL's library,
relies on the default.
"""

from __future__ import annotations

from functools import cache

from anyzero.compiler.builtins.routine import Routine
from anyzero.compiler.llvm import Type

_NAMES = {"rtz": "towardzero", "rtp": "upward", "rtn": "downward"}
_CONTROL = {"rtn": 0x2000, "rtp": 0x4000, "rtz": 0x6000}
"""The rounding bits of MXCSR."""
_EVERY_ROUNDING = 0x6000

_LOAD, _STORE = "llvm.x86.sse.ldmxcsr", "llvm.x86.sse.stmxcsr"


@cache
def routine(name: str, type_: Type, mode: str) -> Routine:
    """`name` is fadd, fsub, fmul or fdiv."""
    symbol = f"az.{name}.{mode}.{type_.mangled}"
    operation = f"llvm.experimental.constrained.{name}.{type_.mangled}"
    text = f"""define internal {type_} @{symbol}({type_} %a0, {type_} %a1) noinline strictfp #0 {{
entry:
  %usual = alloca i32
  %other = alloca i32
  call void @{_STORE}(ptr %usual) strictfp
  %bits = load i32, ptr %usual
  %cleared = and i32 %bits, {~_EVERY_ROUNDING}
  %directed = or i32 %cleared, {_CONTROL[mode]}
  store i32 %directed, ptr %other
  call void @{_LOAD}(ptr %other) strictfp
  %found = call {type_} @{operation}({type_} %a0, {type_} %a1, metadata !"round.{_NAMES[mode]}",
                                     metadata !"fpexcept.strict") strictfp
  call void @{_LOAD}(ptr %usual) strictfp
  ret {type_} %found
}}
"""
    intrinsics = {
        _LOAD: f"declare void @{_LOAD}(ptr)",
        _STORE: f"declare void @{_STORE}(ptr)",
        operation: f"declare {type_} @{operation}({type_}, {type_}, metadata, metadata)",
    }
    return Routine(symbol, (type_, type_), (type_,), text, (), intrinsics)
