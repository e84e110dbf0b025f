"""What buffers and images share: allocations, arrays of the program, sizes."""
