"""Compiler messages: warnings in `Module.log`, and errors with their log."""

from pathlib import Path

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx:
    source = (KERNELS / "module_variables.spv").read_bytes()
    module = ctx.module(source, options="-ze-opt-level=1 -ze-sing")
    assert "-ze-sing" in module.log
    print("ok: an unknown option is reported:", module.log)

    try:
        ctx.module(source[:400])
    except az.BuildError as error:
        print("ok: a truncated module is refused:", error.log.splitlines()[0])
    else:
        raise AssertionError("a part of a module was accepted")

    # Give one instruction of the kernel operands of the wrong type.
    words = bytearray(source)
    at = source.index((5 << 16 | 133).to_bytes(4, "little"))  # OpFMul, five words
    words[at : at + 4] = (5 << 16 | 132).to_bytes(4, "little")  # OpIMul
    try:
        ctx.module(bytes(words))["look_up"]
    except az.BuildError as error:
        print("ok: the log names the instruction:", error.log.splitlines()[-1])
    else:
        raise AssertionError("floats were multiplied as integers")

    try:
        ctx.module("kernel void fill(global float *y) { y[get_global_id(0)] = 1; }")
    except az.InvalidArgument as error:
        print("ok: source code is refused.", error.remedy)
    else:
        raise AssertionError("source code was accepted")
