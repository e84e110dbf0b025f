"""OpenCL C into SPIR-V, by a clang that the machine has. Modules from SPIR-V need nothing of it."""

from anyzero.opencl_c.clang import Clang, choose, named
from anyzero.opencl_c.compilation import Compiled, compile_file, compile_text

__all__ = ["Clang", "Compiled", "choose", "compile_file", "compile_text", "named"]
