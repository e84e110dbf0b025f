"""Turns LLVM IR into machine code."""
