"""A cluster on this machine: what a task costs, and what survives."""
