"""OpenCL.std for vectors of any length: each instruction is a pure LLVM function without external calls."""
