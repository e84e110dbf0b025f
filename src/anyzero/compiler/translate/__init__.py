"""Translates SPIR-V to the compiler's IR: calls inlined, composites split into scalars, byte addresses."""

from anyzero.compiler.translate.kernel import Translation, function, kernel

__all__ = ["Translation", "function", "kernel"]
