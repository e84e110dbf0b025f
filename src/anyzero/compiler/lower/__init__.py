"""Writes LLVM IR."""
