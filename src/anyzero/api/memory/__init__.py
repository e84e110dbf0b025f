"""Memory of buffers and images: allocations, arrays of the program, sizes."""
