"""Kernels written in Python: `@anyzero.kernel` makes SPIR-V of a typed function.

`source` finds a function's text, `check` gives every expression a type (`tree`), `write` makes SPIR-V of that tree,
`kernel` launches it through the API, and `simulate` runs the same function as plain Python.
"""
