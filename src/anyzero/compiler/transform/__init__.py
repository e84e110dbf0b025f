"""Changes to a kernel that keep what it computes; each has a name, and runs alone."""
