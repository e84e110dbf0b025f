"""Check mode: mistakes of programs and kernels, found while they run.

`anyzero check -- PROGRAM` and `with anyzero.check():` are the ways in.
"""
