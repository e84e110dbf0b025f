"""Code generation: from the typed tree to SPIR-V."""
