"""Calls of the driver: bound functions, other loaders, flags, waits."""
