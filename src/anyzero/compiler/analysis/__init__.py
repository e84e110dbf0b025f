"""What is true of a kernel. Analyses look and change nothing."""
