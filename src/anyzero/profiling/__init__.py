"""Profiles of kernels: where they spend their time, by source line, and what limits them.

`anyzero profile -- PROGRAM` and `with anyzero.profile() as profile:` are the ways in.
"""
