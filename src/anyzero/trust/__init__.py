"""Which inputs this process may trust: the environment it was started with, and files that it will execute."""
