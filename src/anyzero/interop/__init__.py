"""Interoperability with other APIs; each has its own module and needs its own package."""
