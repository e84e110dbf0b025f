"""OpenCL C into SPIR-V, by a clang that the machine has. Modules from SPIR-V need nothing of it."""

from anyzero.opencl_c.compilation import Compiled, compile_file, compile_text

__all__ = ["Compiled", "compile_file", "compile_text"]
