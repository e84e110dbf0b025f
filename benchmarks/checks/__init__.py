"""The cost of check mode: the seventh table of `python -m benchmarks`."""
