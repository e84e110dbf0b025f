"""Arithmetic on buffers: operators, reductions, scans, sorts and random numbers, as kernels made when they are needed.

`expression` is the tree that operators build, `fused` makes one kernel of it, `operators` has Buffer's operators.
"""
