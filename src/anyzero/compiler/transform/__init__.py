"""Transformations: each rewrites a kernel without a change of its results, and runs alone."""
