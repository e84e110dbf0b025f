"""SPIR-V into the compiler's own form: calls resolved, vectors and structures taken apart, addresses in bytes."""

from anyzero.compiler.translate.kernel import Translation, function, kernel

__all__ = ["Translation", "function", "kernel"]
