"""Lowering: operations to LLVM IR, as text."""
