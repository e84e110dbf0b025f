"""What anyzero costs and what it reaches, measured: `python -m benchmarks --help`."""
