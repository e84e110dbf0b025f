"""The builtins, each once: name, types, SPIR-V, meaning in plain Python and line of the reference."""
