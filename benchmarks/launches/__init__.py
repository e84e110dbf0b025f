"""The same launches of an empty kernel from C: on anyzero, and through OpenCL on others."""
