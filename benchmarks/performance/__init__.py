"""docs/performance.md from what was measured: `python -m benchmarks --figures`."""
