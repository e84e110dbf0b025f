"""Arithmetic on buffers: operators, reductions, scans, sorts and random numbers, as kernels made when they are needed.

`expression` is what operators build, `fused` makes one kernel of it, `operators` is what a Buffer's operators call.
"""
