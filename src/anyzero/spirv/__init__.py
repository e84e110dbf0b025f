"""SPIR-V as the specification numbers it; `anyzero.compiler.spirv` reads whole modules."""
