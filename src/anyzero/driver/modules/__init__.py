"""Modules and kernels: from SPIR-V and build flags to the code that the engine loads."""
