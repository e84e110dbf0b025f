"""Launches of kernels and graphs: arguments, sizes, and the way into a list."""
