"""What compiling costs: in a warm process, from the disk cache, and for the first kernel of a fresh process."""
