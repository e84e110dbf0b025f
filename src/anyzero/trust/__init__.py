"""Trusted inputs of this process: the environment it was started with, and files that it will execute."""
