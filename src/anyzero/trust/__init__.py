"""What this process may believe: the environment it was started with, and files that it will run."""
