"""What compiled kernels reach, beside other implementations on the same machine: `python -m benchmarks --kernels`."""
