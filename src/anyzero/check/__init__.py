"""Check mode: mistakes of programs and kernels, found while they run."""
