"""The compiler: SPIR-V in, machine code out. It knows nothing of Level Zero."""
